"""A season of a small site for the fault tests: every system, every kind of event, every outcome.

The ladders lie on all four partitions, and late games amend closed weeks or come too late for them.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from itertools import islice
from random import Random
from typing import Any

from streams.embedded.club import simulate
from streams.embedded.club_games import LadderShape, Table

Event = dict[str, Any]

LADDER_FILE = """
[ladders.rummy]
systems = ["points", "closeness", "fundox"]

[ladders.tiles]
systems = ["bga", "closeness", "fundox"]
advised_players = { tiles = 4 }

[ladders.belote]
systems = ["weekly"]
timezone = "Europe/Paris"

[ladders.go]
systems = ["weekly", "bga"]
remember = "2d"
"""
SHAPES = (
    LadderShape("rummy", (Table("rummy", 2), Table("rummy-long", 3)), points=range(220, 480), ranks=False),
    LadderShape("tiles", (Table("tiles", 2), Table("tiles", 4), Table("tiles", 5)), points=range(60, 140)),
    LadderShape("belote", (Table("belote", 4),), points=range(1000, 1160), teams=True),
    LadderShape("go", (Table("go", 2),), ties=0.1),
)
WEEKLY = ("belote", "go")

START = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday, and past by any clock
PLAYERS = 300
# One in so many; prime, so that they do not go in step.
CHANGED, DELAYED, IMPORTED, VOIDED, STRAY = 701, 97, 401, 907, 503
# About four days at the pace of the simulation.
DELAY = 3_000
GRACE = 1_000


def season(seed: int = 1, *, closings: bool = True) -> Iterator[Event]:
    """Yield the events of a site without end, the same for the same seed.

    Without `closings` the end of a week is left to the workers' clock.
    """
    random = Random(seed)
    delayed: dict[int, Event] = {}
    final: dict[int, tuple[int, int]] = {}
    week = START.isocalendar()[:2]
    for number, game in enumerate(
        simulate(games=None, players=PLAYERS, seed=seed, start=START, ladders=SHAPES), start=1
    ):
        now = date.fromisoformat(game["ended_at"][:10]).isocalendar()[:2]
        if closings and now > week:
            yield from _closings(week, final=False)
            final[number + GRACE] = week
            week = now
        if number in final:
            yield from _closings(final.pop(number), final=True)
        if number in delayed:
            yield delayed.pop(number)
        if number % DELAYED == 0:
            delayed[number + random.randrange(DELAY)] = game
            continue
        yield game
        yield from _oddities(number, game)


def events(number: int, seed: int = 1) -> list[Event]:
    """Give so many events of a season."""
    return list(islice(season(seed), number))


def chunks(source: Iterable[Event], size: int) -> Iterator[list[Event]]:
    """Give a season piece by piece."""
    source = iter(source)
    while piece := list(islice(source, size)):
        yield piece


def _closings(week: tuple[int, int], *, final: bool) -> Iterator[Event]:
    for ladder in WEEKLY:
        label = f"{week[0]:04}-W{week[1]:02}"
        yield {"type": "week-ended", "ladder": ladder, "week": label, "final": final}


def _oddities(number: int, game: Event) -> Iterator[Event]:
    if number % CHANGED == 0:
        yield {**game, "game_type": "another"}
    if number % IMPORTED == 0:
        player = f"newcomer-{number}"
        yield {"type": "rating-imported", "ladder": "tiles", "system": "bga", "player_id": player} | {
            "rating": 1700.5,
            "games": 31,
        }
    if number % VOIDED == 0:
        yield {"type": "game-voided", "ladder": game["ladder"], "game_id": game["game_id"], "reason": "test"}
    if number % STRAY == 0:
        yield {**game, "ladder": "nowhere"}
