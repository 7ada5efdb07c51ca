"""A believable game-site club: finished games in the site's order, the same for the same seed.

Pure: no clock, no file, no network. The bytes depend on the arguments only, on any machine.
"""

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count

from streams.embedded.club_games import Event, LadderShape, Site, Table, within
from streams.embedded.club_members import Chance, chance

CLUB = (
    LadderShape(
        "belote",
        (Table("belote-teams", 4),),
        share=3,
        skill=0.5,
        ties=0.01,
        points=range(1000, 1160),
        teams=True,
    ),
    LadderShape("chess", (Table("chess", 2), Table("chess-blitz", 2)), share=4, ties=0.12),
    LadderShape(
        "words",
        (Table("words", 2), Table("words", 2), Table("words", 2), Table("words", 3), Table("words", 4)),
        share=5,
        skill=0.8,
        ties=0.01,
        points=range(220, 480),
        ranks=False,
    ),
    LadderShape(
        "tiles",
        (Table("tiles", 2), Table("tiles", 3), Table("tiles", 4), Table("tiles", 4), Table("tiles", 5)),
        share=3,
        skill=0.6,
        points=range(60, 140),
    ),
    LadderShape("dominoes", (Table("dominoes", 2),), share=3, skill=0.3),
)
"""The ladders of the example file `ladders.toml`."""

# Four weeks hold three whole ones, Monday to Sunday, whatever day they start on.
_SPAN_DAYS = 28
# The pace of a stream without end: that of 20,000 games in four weeks.
_ENDLESS_GAMES = 20_000

_DUPLICATED = 0.002
_LATE = 0.03
_LATE_SECONDS = range(2 * 60, 20 * 60)
_DUPLICATE_SECONDS = range(5 * 60, 120 * 60)

_HOUR = 3600
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_HOUR_OF_WEEK = 3 * 24  # 1 January 1970 was a Thursday
# Evenings are busy, and Fridays and weekends more so.
_DAY_HOURS = (3, 1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 6, 8, 7, 6, 6, 7, 9, 12, 16, 20, 20, 14, 7)
_WEEK_DAYS = (10, 10, 10, 10, 12, 16, 16)
_WEEK_HOURS = tuple(day * hour for day in _WEEK_DAYS for hour in _DAY_HOURS)


def simulate(
    *,
    games: int | None,
    players: int,
    seed: int,
    start: datetime,
    games_per_day: float | None = None,
    ladders: Sequence[LadderShape] = CLUB,
    first: int = 0,
) -> Iterator[Event]:
    """Yield the game-finished events of a club, in the order in which its site reports them.

    `games` counts different games, `None` is without end; a few are reported twice. The default pace spreads
    them over four weeks. The club keeps the UTC offset of `start` as its local time. Games are numbered from
    `first`: another `first` gives other games of the same players, to go on with later.
    """
    pace = _pace(games, games_per_day)
    seats = max(table.players for shape in ladders for table in shape.tables)
    if players < seats:
        raise ValueError(f"{players} players are too few: a table has {seats} seats")
    if start.utcoffset() is None:
        raise ValueError("start needs a UTC offset")
    random = chance(f"{seed}/{first}")
    site = Site(seed, players, ladders, random)
    numbers = count(first) if games is None else range(first, first + games)
    played = (
        (ended, site.play(number, ended))
        for number, ended in zip(numbers, _ends(start, pace, random), strict=False)
    )
    return _reported(played, random)


def _pace(games: int | None, games_per_day: float | None) -> float:
    """Return the games a day. Raises ValueError when that is not above 0."""
    if games is not None and games < 0:
        raise ValueError(f"games is {games}: it cannot be negative")
    if games_per_day is None:
        return (games or _ENDLESS_GAMES) / _SPAN_DAYS
    if not (math.isfinite(games_per_day) and games_per_day > 0):
        raise ValueError(f"games_per_day is {games_per_day}: it must be above 0")
    return games_per_day


def _ends(start: datetime, games_per_day: float, random: Chance) -> Iterator[int]:
    """Yield the seconds since 1970 at which games end, at the club's pace of the hour."""
    per_second = [games_per_day * 7 * weight / sum(_WEEK_HOURS) / _HOUR for weight in _WEEK_HOURS]
    offset = (start.utcoffset() or timedelta()) // timedelta(seconds=1)
    local = (start - _EPOCH) / timedelta(seconds=1) + offset
    hour = int(local // _HOUR)
    while True:
        # Bursts and lulls with a mean of 1, like exponential gaps, but without a logarithm, which may differ
        # in its last bit between machines.
        gap = random()
        due = 3 * gap * gap
        pace = per_second[(hour + _EPOCH_HOUR_OF_WEEK) % len(per_second)]
        while local + due / pace >= (hour + 1) * _HOUR:
            due -= ((hour + 1) * _HOUR - local) * pace
            hour += 1
            local = float(hour * _HOUR)
            pace = per_second[(hour + _EPOCH_HOUR_OF_WEEK) % len(per_second)]
        local += due / pace
        yield int(local) - offset


def _reported(played: Iterable[tuple[int, Event]], random: Chance) -> Iterator[Event]:
    """Hold back the games that are reported late, and report a few twice."""
    held: list[tuple[int, int, Event]] = []
    for number, (ended, game) in enumerate(played):
        while held and held[0][0] <= ended:
            yield heappop(held)[2]
        fate = random()
        if fate < _LATE:
            heappush(held, (ended + within(_LATE_SECONDS, random), number, game))
            continue
        if fate > 1 - _DUPLICATED:
            # A copy, as whoever takes the first one may change it.
            heappush(held, (ended + within(_DUPLICATE_SECONDS, random), number, copy.deepcopy(game)))
        yield game
    while held:
        yield heappop(held)[2]
