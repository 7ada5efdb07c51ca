"""A believable game-site club: finished games in the site's order, the same for the same seed.

Pure: no clock, no file, no network. The bytes depend on the arguments only, on any machine: of
`random.Random` only `random()` is used, whose sequence Python promises to keep, and floats meet only
operations that IEEE 754 rounds exactly. The one power (`_weights`) is rounded to whole numbers.
"""

import copy
import math
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from heapq import heappop, heappush
from itertools import accumulate, count
from random import Random
from typing import Any, NamedTuple

Event = dict[str, Any]


class Table(NamedTuple):
    """What is played at a table, and by how many."""

    game_type: str
    players: int


class Member(NamedTuple):
    """A player of the club: how strong, and how eager to play."""

    player_id: str
    level: int
    activity: int


@dataclass(frozen=True, slots=True)
class LadderShape:
    """What the games of a ladder look like."""

    ladder: str
    tables: tuple[Table, ...]
    """Equally likely; repeat one to make it likelier."""
    share: int = 1
    """Games of this ladder, in proportion to the shares of the others."""
    skill: float = 1.0
    """How much strength decides: 0 is pure luck, 1 is chess."""
    ties: float = 0.02
    """Part of the games in which two players or teams share the first place."""
    points: range | None = None
    """The winner's points; None for a game without points."""
    ranks: bool = True
    """Whether the site reports ranks; without them the points say who won."""
    teams: bool = False
    """Two teams of two."""

    def __post_init__(self) -> None:
        if not (self.ranks or self.points):
            raise ValueError(f"ladder {self.ladder}: a game needs ranks or points")
        if self.teams and any(table.players != _TEAM_GAME for table in self.tables):
            raise ValueError(f"ladder {self.ladder}: a team game has {_TEAM_GAME} players")


_TEAM_GAME = 4

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

_UNRATED = 0.05
_LEFT = 0.02
_ABANDONED = 0.6  # of those who left; the others lost the connection
_DUPLICATED = 0.002
_LATE = 0.03
_DRIFTED = 0.01
_PLAYS_LADDER = 0.6  # part of the club that plays a given ladder
_LATE_SECONDS = range(2 * 60, 20 * 60)
_DUPLICATE_SECONDS = range(5 * 60, 120 * 60)
_GAME_SECONDS = range(10 * 60, 60 * 60)

_LEVELS = 101
_LEVEL_STEP = 16  # Elo points; the bell of `members` then has a standard deviation of about 230

_HOUR, _DAY = 3600, 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_HOUR_OF_WEEK = 3 * 24  # 1 January 1970 was a Thursday
# Evenings are busy, and Fridays and weekends more so.
_DAY_HOURS = (3, 1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 6, 8, 7, 6, 6, 7, 9, 12, 16, 20, 20, 14, 7)
_WEEK_DAYS = (10, 10, 10, 10, 12, 16, 16)
_WEEK_HOURS = tuple(day * hour for day in _WEEK_DAYS for hour in _DAY_HOURS)

_MINUTES = tuple(f"T{hour:02}:{minute:02}:" for hour in range(24) for minute in range(60))
_SECONDS = tuple(f"{second:02}Z" for second in range(60))

_GIVEN = (  # noqa: SIM905 - a list would fill a page
    "ann bob tobias clara emil freja hugo ines jonas karla leo marie nils olga pierre rosa sven tilde "
    "ulrik vera walter yasmin zoe anton beatrice camille david elsa felix greta henri ida jules kirsten "
    "louis mathilde noah odette paul ragna simon therese victor alice bastian cecile dorte etienne fanny "
    "gustav helene ivan jeanne"
).split()
_HEADS = (  # noqa: SIM905 - a list would fill a page
    "a be ca da e fa ga ha i jo ka la ma ni o pe ra sa ti u va wi yo ze bri cla dre flo gre kri mar ste tho"
).split()
_MIDDLES = "da le li ma mi na no ra ri ro sa ta ti va vi".split()  # noqa: SIM905 - as above
_TAILS = (  # noqa: SIM905 - a list would fill a page
    "bel bert da dan fred la lie lin lis mar mas na ne nia nor ra ric ro rin sa sia ta tan tine ton vin"
).split()


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
    random = Random(f"{seed}/{first}").random  # noqa: S311 - repeatable play, no secrets
    site = _Site(seed, players, ladders, random)
    numbers = count(first) if games is None else range(first, first + games)
    played = (
        (ended, site.play(number, ended))
        for number, ended in zip(numbers, _ends(start, pace, random), strict=False)
    )
    return _reported(played, random)


def members(*, players: int, seed: int) -> list[Member]:
    """Return the players of the club; a larger club of the same seed starts with the same players."""
    random = Random(seed).random  # noqa: S311 - repeatable play, no secrets
    names = _names(random)
    club = []
    for _, name in zip(range(players), names, strict=False):
        # Four uniform numbers are near enough to a bell.
        level = int((random() + random() + random() + random()) / 4 * _LEVELS)
        # The fourth power: the keenest play five times the average, half of the club under a third of it.
        keen = random()
        club.append(Member(name, level, 1 + int(1000 * keen * keen * keen * keen)))
    return club


def _pace(games: int | None, games_per_day: float | None) -> float:
    if games is not None and games < 0:
        raise ValueError(f"games is {games}: it cannot be negative")
    if games_per_day is None:
        return (games or _ENDLESS_GAMES) / _SPAN_DAYS
    if not (math.isfinite(games_per_day) and games_per_day > 0):
        raise ValueError(f"games_per_day is {games_per_day}: it must be above 0")
    return games_per_day


def _names(random: Callable[[], float]) -> Iterator[str]:
    yield from _GIVEN
    seen = set(_GIVEN)
    middles = 0
    room = len(_HEADS) * len(_TAILS) // 4
    while True:
        # A further syllable when a quarter of the shorter names is taken keeps the tries few.
        if len(seen) > room:
            middles += 1
            room *= len(_MIDDLES)
        while (name := _name(middles, random)) in seen:
            pass
        seen.add(name)
        yield name


def _name(middles: int, random: Callable[[], float]) -> str:
    syllables = [_pick(_HEADS, random)]
    syllables += [_pick(_MIDDLES, random) for _ in range(middles)]
    return "".join(syllables) + _pick(_TAILS, random)


def _pick(choices: Sequence[str], random: Callable[[], float]) -> str:
    return choices[int(random() * len(choices))]


def _within(span: range, random: Callable[[], float]) -> int:
    return span[int(random() * len(span))]


def _ends(start: datetime, games_per_day: float, random: Callable[[], float]) -> Iterator[int]:
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


def _reported(played: Iterable[tuple[int, Event]], random: Callable[[], float]) -> Iterator[Event]:
    """Hold back the games that are reported late, and report a few twice."""
    held: list[tuple[int, int, Event]] = []
    for number, (ended, game) in enumerate(played):
        while held and held[0][0] <= ended:
            yield heappop(held)[2]
        fate = random()
        if fate < _LATE:
            heappush(held, (ended + _within(_LATE_SECONDS, random), number, game))
            continue
        if fate > 1 - _DUPLICATED:
            # A copy, as whoever takes the first one may change it.
            heappush(held, (ended + _within(_DUPLICATE_SECONDS, random), number, copy.deepcopy(game)))
        yield game
    while held:
        yield heappop(held)[2]


class _Pool:
    """The members who play a ladder."""

    def __init__(self, shape: LadderShape, club: Sequence[Member], random: Callable[[], float]) -> None:
        self.shape = shape
        self.weights = _weights(shape.skill)
        everyone = range(len(club))
        some = [index for index in everyone if random() < _PLAYS_LADDER]
        seats = max(table.players for table in shape.tables)
        self.players: Sequence[int] = some if len(some) >= seats else everyone
        self.eagerness = list(accumulate(club[index].activity for index in self.players))

    def seat(self, seats: int, random: Callable[[], float]) -> list[int]:
        """Draw different players, the eager ones more often."""
        eagerness = self.eagerness
        last = len(eagerness) - 1
        seated: list[int] = []
        while len(seated) < seats:
            player = self.players[bisect(eagerness, random() * eagerness[-1], 0, last)]
            if player not in seated:
                seated.append(player)
        return seated


def _weights(skill: float) -> list[int]:
    """Return the weight of every level: of two players, each wins as often as its part of both weights.

    That is the logistic model of Elo, as the weights are powers of 10.
    """
    return [round(1000 * 10 ** (level * _LEVEL_STEP * skill / 400)) for level in range(_LEVELS)]


class _Site:
    """The club at play."""

    def __init__(
        self, seed: int, players: int, ladders: Sequence[LadderShape], random: Callable[[], float]
    ) -> None:
        self.random = random
        club = members(players=players, seed=seed)
        # Of their own, so that the same members play a ladder whatever the first game's number is.
        tastes = Random(f"{seed}/ladders").random  # noqa: S311 - repeatable play, no secrets
        self.names = [member.player_id for member in club]
        self.levels = [member.level for member in club]
        self.pools = [_Pool(shape, club, tastes) for shape in ladders]
        self.shares = list(accumulate(shape.share for shape in ladders))

    def play(self, number: int, ended: int) -> Event:
        """Play a game that ends at that second."""
        random = self.random
        pool = self.pools[bisect(self.shares, random() * self.shares[-1], 0, len(self.shares) - 1)]
        shape = pool.shape
        table = shape.tables[int(random() * len(shape.tables))]
        seated = pool.seat(table.players, random)
        started = ended - _within(_GAME_SECONDS, random)
        entries: list[Event] = [{"player_id": self.names[player]} for player in seated]
        weights = [pool.weights[self.levels[player]] for player in seated]
        self._result(shape, entries, weights, (started, ended))
        if random() < _DRIFTED:
            self._drift(seated[0])
        return {
            "game_id": f"{shape.ladder}-{number:06}",
            "ladder": shape.ladder,
            "game_type": table.game_type,
            "started_at": _stamp(started),
            "ended_at": _stamp(ended),
            "rated": random() >= _UNRATED,
            "players": entries,
        }

    def _result(
        self, shape: LadderShape, entries: list[Event], weights: list[int], time: tuple[int, int]
    ) -> None:
        random = self.random
        sides = [[entry] for entry in entries]
        if shape.teams:
            sides = [entries[:2], entries[2:]]
            weights = [sum(weights[:2]), sum(weights[2:])]
            _name_teams(sides)
        order = _finish(weights, random)
        left = random() < _LEFT
        # Who leaves is last, so that nobody shares the first place with a quitter.
        tied = not left and random() < shape.ties
        if shape.ranks:
            _rank(sides, order, tied=tied)
        if shape.points:
            _score(sides, order, _points(shape.points, len(order), tied=tied, left=left, random=random))
        if left:
            _leave(sides[order[-1]][-1], time, random)

    def _drift(self, player: int) -> None:
        """Let a player become a little better or worse."""
        step = 1 if self.random() < 1 / 2 else -1
        self.levels[player] = min(max(self.levels[player] + step, 0), _LEVELS - 1)


def _name_teams(sides: list[list[Event]]) -> None:
    for team, side in zip("ns", sides, strict=True):
        for entry in side:
            entry["team"] = team


def _finish(weights: list[int], random: Callable[[], float]) -> list[int]:
    """Return the sides from first to last: each place is drawn by weight among those without one."""
    if len(weights) == 2:  # noqa: PLR2004 - the usual case, without the bookkeeping
        return [0, 1] if random() * (weights[0] + weights[1]) < weights[0] else [1, 0]
    waiting = list(range(len(weights)))
    total = sum(weights)
    order = []
    while len(waiting) > 1:
        mark = random() * total
        for place, side in enumerate(waiting):  # noqa: B007 - the last one is kept when none matches
            mark -= weights[side]
            if mark < 0:
                break
        order.append(waiting.pop(place))
        total -= weights[order[-1]]
    return order + waiting


def _points(winner: range, sides: int, *, tied: bool, left: bool, random: Callable[[], float]) -> list[int]:
    """Return the points of each place, never increasing."""
    points = [_within(winner, random)]
    while len(points) < sides:
        # Slightly over 1, so that now and then two have the same points, which ranks then tell apart.
        part = min(0.6 + 0.405 * random(), 1)
        points.append(points[-1] if tied and len(points) == 1 else int(points[-1] * part))
    if left:
        # May be negative, as on sites that deduct the unplayed tiles.
        points[-1] = points[-1] // 2 - 40
    return points


def _score(sides: list[list[Event]], order: list[int], points: list[int]) -> None:
    for side, score in zip(order, points, strict=True):
        for entry in sides[side]:
            entry["points"] = score


def _rank(sides: list[list[Event]], order: list[int], *, tied: bool) -> None:
    for place, side in enumerate(order):
        rank = 1 if tied and place == 1 else place + 1
        for entry in sides[side]:
            entry["rank"] = rank


def _leave(entry: Event, time: tuple[int, int], random: Callable[[], float]) -> None:
    started, ended = time
    entry["left"] = "abandoned" if random() < _ABANDONED else "disconnected"
    entry["left_at"] = _stamp(_within(range((started + ended) // 2, ended), random))


def _stamp(second: int) -> str:
    """Return the RFC 3339 time; from tables, which is four times as fast as `datetime`."""
    day, second = divmod(second, _DAY)
    return _date(day) + _MINUTES[second // 60] + _SECONDS[second % 60]


@lru_cache(maxsize=8)
def _date(day: int) -> str:
    return date.fromordinal(_EPOCH.toordinal() + day).isoformat()
