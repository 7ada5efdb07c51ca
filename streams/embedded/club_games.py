"""The games of the simulated club: who sits down together, who wins, and what is reported of it.

Pure: floats meet only operations that IEEE 754 rounds exactly, so that equal seeds give equal games on any
machine. The one power (`_weights`) is rounded to whole numbers.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from streams.embedded.club_members import LEVELS, Chance, Member, chance, members

Event = dict[str, Any]

_PAIR = 2
_TEAM_GAME = 4

_UNRATED = 0.05
_LEFT = 0.02
_ABANDONED = 0.6  # of those who left; the others lost the connection
_DRIFTED = 0.01
_PLAYS_LADDER = 0.6  # part of the club that plays a given ladder
_GAME_SECONDS = range(10 * 60, 60 * 60)

_LEVEL_STEP = 16  # Elo points; the bell of `members` then has a standard deviation of about 230

_DAY = 86_400
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MINUTES = tuple(f"T{hour:02}:{minute:02}:" for hour in range(24) for minute in range(60))
_SECONDS = tuple(f"{second:02}Z" for second in range(60))


class Table(NamedTuple):
    """What is played at a table, and by how many."""

    game_type: str
    players: int


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


def within(span: range, random: Chance) -> int:
    """Return one of a range's numbers, each as likely."""
    return span[int(random() * len(span))]


class _Pool:
    """The members who play a ladder."""

    def __init__(self, shape: LadderShape, club: Sequence[Member], random: Chance) -> None:
        self.shape = shape
        self.weights = _weights(shape.skill)
        everyone = range(len(club))
        some = [index for index in everyone if random() < _PLAYS_LADDER]
        seats = max(table.players for table in shape.tables)
        self.players: Sequence[int] = some if len(some) >= seats else everyone
        self.eagerness = list(accumulate(club[index].activity for index in self.players))

    def seat(self, seats: int, random: Chance) -> list[int]:
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
    return [round(1000 * 10 ** (level * _LEVEL_STEP * skill / 400)) for level in range(LEVELS)]


class Site:
    """The club at play."""

    def __init__(self, seed: int, players: int, ladders: Sequence[LadderShape], random: Chance) -> None:
        self.random = random
        club = members(players=players, seed=seed)
        # Of their own, so that the same members play a ladder whatever the first game's number is.
        tastes = chance(f"{seed}/ladders")
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
        started = ended - within(_GAME_SECONDS, random)
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
        self.levels[player] = min(max(self.levels[player] + step, 0), LEVELS - 1)


def _name_teams(sides: list[list[Event]]) -> None:
    for team, side in zip("ns", sides, strict=True):
        for entry in side:
            entry["team"] = team


def _finish(weights: list[int], random: Chance) -> list[int]:
    """Return the sides from first to last: each place is drawn by weight among those without one."""
    if len(weights) == _PAIR:  # the usual case, without the bookkeeping
        return [0, 1] if random() * (weights[0] + weights[1]) < weights[0] else [1, 0]
    waiting = list(range(len(weights)))
    total = sum(weights)
    order = []
    while len(waiting) > 1:
        order.append(waiting.pop(_drawn(waiting, weights, random() * total)))
        total -= weights[order[-1]]
    return order + waiting


def _drawn(waiting: list[int], weights: list[int], mark: float) -> int:
    """Return where in `waiting` the side is on whose weight the mark falls; the last if it is behind all."""
    for place, side in enumerate(waiting):
        mark -= weights[side]
        if mark < 0:
            return place
    return len(waiting) - 1


def _points(winner: range, sides: int, *, tied: bool, left: bool, random: Chance) -> list[int]:
    """Return the points of each place, never increasing."""
    points = [within(winner, random)]
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


def _leave(entry: Event, time: tuple[int, int], random: Chance) -> None:
    started, ended = time
    entry["left"] = "abandoned" if random() < _ABANDONED else "disconnected"
    entry["left_at"] = _stamp(within(range((started + ended) // 2, ended), random))


def _stamp(second: int) -> str:
    """Return a second since 1970 as RFC 3339; from tables, which is four times as fast as `datetime`."""
    day, second = divmod(second, _DAY)
    return _date(day) + _MINUTES[second // 60] + _SECONDS[second % 60]


@lru_cache(maxsize=8)
def _date(day: int) -> str:
    return date.fromordinal(_EPOCH_DAY + day).isoformat()
