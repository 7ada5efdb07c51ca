"""What a game costs the closeness system as its history grows: `python bench/closeness_cost.py [GAMES]`.

200 players play games of two; one loser in eight is beyond the reach of the average, so that the sums have to
stop short of some results. The time at each of the game numbers is that of the thousand games up to it: the
lower quartile of slices of ten, since a shared machine adds to some.
"""

import gc
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from statistics import quantiles
from time import perf_counter
from zoneinfo import ZoneInfo

from streams.core.events import Game
from streams.core.ratings.closeness import Closeness, Parameters
from streams.core.ratings.system import LadderContext, OpenedGame

PLAYERS = 200
SHOWN = (1_000, 10_000, 100_000, 1_000_000)
SLICE = 10
SLICES = 100
PLACES = (1, 2)


def games(count: int) -> Iterator[OpenedGame]:
    random = Random(1)
    ended = datetime(2026, 11, 25, 20, tzinfo=UTC)
    epoch = ended.timestamp()
    for number in range(count):
        winner, loser = random.sample(range(PLAYERS), 2)
        players = f"player-{winner}", f"player-{loser}"
        most = random.randrange(50_000, 100_000)
        points = most, most - int(most * random.random() ** 4)
        game = Game(
            game_id=str(number),
            ladder="bench",
            game_type="duel",
            ended_at=ended.isoformat(),
            ended_epoch=epoch,
            rated=True,
            players=players,
            ranks=PLACES,
            points=points,
            teams=None,
            abandoned=None,
            left_epochs=None,
            digest=0,
        )
        yield OpenedGame(*players, *PLACES, points, game.game_type, epoch, game, PLACES)


def main(count: int) -> None:
    system = Closeness(Parameters(), LadderContext("bench", ZoneInfo("UTC"), {}))
    slices = []
    row_slices = []
    waiting = []
    print(f"{'game':>10} {'results a player':>17} {'rate, us':>9} {'rows, us':>9}")
    gc.freeze()
    for number, game in enumerate(games(count), start=1):
        waiting.append(game)
        if len(waiting) < SLICE:
            continue
        begun = perf_counter()
        system.rate_batch(waiting, {})
        rated = perf_counter()
        rows = sum(1 for _ in system.changed_rows())
        slices.append((rated - begun) / SLICE * 1e6)
        row_slices.append((perf_counter() - rated) / SLICE * 1e6)
        waiting.clear()
        if number in SHOWN:
            rate, row = quantiles(slices[-SLICES:])[0], quantiles(row_slices[-SLICES:])[0]
            print(f"{number:>10,} {number // PLAYERS:>17,} {rate:>9.1f} {row:>9.1f}")
    print(f"the last {SLICE} games changed {rows} rows")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SHOWN[-1])
