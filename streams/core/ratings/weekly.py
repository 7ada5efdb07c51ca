"""Weekly: a competition that starts at 0 points every Monday, with levels and stakes (seed 004).

A game counts for the week in which it ended, in the ladder's time zone, whenever it arrives. A week is open,
then closed (its standings are published, late games amend them), then final: its rows are gone. All of that
follows the records of the log, never a clock. Nothing is reset on Monday: a week's rows are its own.

Pure: standard library only.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Literal, TypedDict

from streams.core.events import Game, RatingImported, Rejected, WeekEnded
from streams.core.ratings.parameters import duration, number, whole
from streams.core.ratings.system import (
    Change,
    JsonRow,
    LadderContext,
    Notes,
    OpenedGame,
    Rated,
    System,
    Verdict,
    ignored,
)
from streams.core.row_keys import join_key, split_key
from streams.core.weeks import bounds, is_week, week_of

PLAYER_ROW = "weekly-player"
WEEK_ROW = "weekly-week"
FINAL_ROW = "weekly-final"
# A ladder has one row of the kind FINAL_ROW, with this key: weeks become final in order.
LAST_FINAL = "last"

# The sides of a game of two individuals, of whom (as a rule) neither abandoned.
SOLO = (0, 1)
STAYED = (False, False)

# Of so many numbers of points the level is kept, once it was computed.
_KEPT_LEVELS = 4096

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Parameters:
    """A win against an equal brings `stake` and a draw `draw`; a level spans `level_size` points.

    Who abandons pays `abandon_penalty` more; a closed week is amended by games that arrive within `grace`.
    """

    stake: float = number(10, 0.0)
    draw: float = number(1, 0.0)
    level_size: float = number(50, 0.0, exclusive=True)
    levels: int = whole(10, 1)
    abandon_penalty: float = number(5, 0.0)
    grace: timedelta = duration(timedelta(hours=24))  # noqa: RUF009 - it declares the field


class StandingsRow(TypedDict):
    """One line of a week's standings; `rank` 1 is best and equal points share it: 1, 2, 2, 4."""

    player_id: str
    rank: int
    points: float
    level: int
    games: int
    wins: int
    losses: int
    draws: int
    abandons: int


class CompetitionClosed(TypedDict):
    """The standings of a closed week; `revision` counts 1, 2, 3 … and the last one is `final`."""

    ladder: str
    week: str
    revision: int
    final: bool
    ended_at: str
    standings: list[StandingsRow]


Result = Literal["won", "lost", "drawn"]


def level(points: float, parameters: Parameters) -> int:
    """Give the level of a number of points: 1 at 0, the highest from 450 on.

    The seed prints 400-449 for level 10 as for level 9; 450 and more is meant (our decision).
    """
    size = parameters.level_size
    if points >= size * (parameters.levels - 1):
        return parameters.levels
    return int(points // size) + 1


def team_level(points: Sequence[float], parameters: Parameters) -> int:
    """Give a team's level, that of the arithmetic mean of its members' points (seed 004).

    The sum is exact, so that the order of the members does not matter.
    """
    return level(math.fsum(points) / len(points), parameters)


def results(sides: Sequence[int], places: Sequence[int], abandoned: Sequence[bool]) -> tuple[Result, Result]:
    """Give what sides 0 and 1 made of the game.

    A side with a member who abandoned loses whatever the places say, and both sides may lose that way, in
    which case nobody wins (our decision).
    """
    if True in abandoned:
        quitters = {side for side, quitter in zip(sides, abandoned, strict=True) if quitter}
        return ("lost" if 0 in quitters else "won"), ("lost" if 1 in quitters else "won")
    first, second = places[sides.index(0)], places[sides.index(1)]
    if first == second:
        return "drawn", "drawn"
    return ("won", "lost") if first < second else ("lost", "won")


def payments(
    outcome: tuple[Result, Result], levels: tuple[int, int], parameters: Parameters
) -> tuple[float, float]:
    """Give what every member of either side gains or, below 0, loses.

    The loss is that of the seed's table, stake - |difference of levels|; the sentence above it gives another
    number when a stronger side loses (our decision). A win never costs and a loss never pays, however many
    levels there are.
    """
    if outcome[0] == "drawn":
        return parameters.draw, parameters.draw
    stake = parameters.stake
    gap = levels[0] - levels[1]
    loss = -max(0, stake - abs(gap))
    return (
        max(0, stake - gap) if outcome[0] == "won" else loss,
        max(0, stake + gap) if outcome[1] == "won" else loss,
    )


def quitting_changes(
    changes: Sequence[float],
    outcome: tuple[Result, Result],
    abandoned: Sequence[bool],
    parameters: Parameters,
) -> list[float]:
    """Make the changes of a game into those of one that somebody abandoned: the quitter pays the penalty too.

    When both sides abandoned, those who stayed pay nothing (our decision: only every quitter pays).
    """
    nobody_won = outcome == ("lost", "lost")
    return [
        change - parameters.abandon_penalty if quitter else 0 if nobody_won else change
        for change, quitter in zip(changes, abandoned, strict=True)
    ]


@dataclass(slots=True)
class WeekRecord:
    """A player's figures in one week. The level is that of the points; the other fields are the row."""

    level: int = 1
    points: float = 0
    games: int = 0
    wins: int = 0
    losses: int = 0
    draws: int = 0
    abandons: int = 0
    sequence: int = 0

    def count(self, result: Result) -> None:
        """Count one game more with that result."""
        self.games += 1
        self.sequence += 1
        if result == "won":
            self.wins += 1
        elif result == "lost":
            self.losses += 1
        else:
            self.draws += 1

    def row(self) -> list[float]:
        """Give the figures as they are kept."""
        return [
            self.points,
            self.games,
            self.wins,
            self.losses,
            self.draws,
            self.abandons,
            self.sequence,
        ]


@dataclass(slots=True)
class _Week:
    """A week that is not final: open, or `closed` with so many revisions published.

    It lasts from `start` to `end`, counted from the epoch.
    """

    label: str
    start: timedelta
    end: timedelta
    players: dict[str, WeekRecord] = field(default_factory=dict)
    closed: bool = False
    revision: int = 0
    # An id for every change, most of them again and again.
    changed: list[str] = field(default_factory=list)
    state_changed: bool = False
    # Seconds since 1970 that lie in the week whatever a float has rounded; what is left, a second at either
    # end, needs the exact moment.
    surely_from: float = field(init=False)
    surely_until: float = field(init=False)

    def __post_init__(self) -> None:
        """Keep the bounds as numbers, which compare faster."""
        self.surely_from = self.start.total_seconds() + 1
        self.surely_until = self.end.total_seconds() - 1

    def played(self) -> "list[tuple[str, WeekRecord]]":
        """Give those with games or imported points; others are here for their sequence number alone."""
        return [item for item in self.players.items() if item[1].games or item[1].points]


class Weekly(System):
    """The weekly competition on one ladder."""

    name = "weekly"
    parameters_type = Parameters
    row_kinds = (PLAYER_ROW, WEEK_ROW, FINAL_ROW)
    parameters: Parameters

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._weeks: dict[str, _Week] = {}
        # Most games fall in the week of the game before: its bounds spare the way through the time zone.
        self._current: _Week | None = None
        # What the players of a pair gain by who won (1 the first, 2 the second, 0 nobody) and the difference
        # of their levels.
        self._paid: dict[tuple[int, int], tuple[float, float]] = {}
        self._level = lru_cache(_KEPT_LEVELS)(partial(level, parameters=self.parameters))
        # Every week up to this one is final; as text it sorts before all of them while there is none.
        self._last_final = ""
        self._last_final_changed = False
        self._finalised: list[_Week] = []

    def rate(self, game: Game, places: Sequence[int]) -> Verdict:
        """Count a game for the week of its end, and amend that week's standings if it is closed."""
        sides = _sides(game)
        if sides is None:
            return ignored("player-count")
        week = self._current
        if week is None or not week.surely_from <= game.ended_epoch < week.surely_until:
            week = self._week_at(game.ended)
            if week is None:
                return ignored("late")
        counted = self._count(week, game, places, sides)
        return counted, (None, (), self._closing(week)) if week.closed else None

    def rate_all(self, opened: Iterable[OpenedGame], notes: Notes) -> list[Rated]:
        """Count games one after the other: the usual ones without further ado, while their week is open."""
        found: list[Rated] = []
        name = self.name
        for one, two, place_one, place_two, _, _, epoch, game, places in opened:
            week = self._current
            if (
                one is None
                or week is None
                or week.closed
                or not week.surely_from <= epoch < week.surely_until
            ):
                self.rate_unusual(game, places, found, notes)
            else:
                found.append((name, self._count_pair(week, one, two, place_one, place_two)))
        return found

    def start(self, imported: RatingImported) -> Change | str:
        """Start a player in the week that the import names, or give the reason why it is ignored.

        Points below 0 count as 0. Raises Rejected when there is no such week.
        """
        label = imported.week
        if label is None:
            return "no-week"
        _check(label)
        if label <= self._last_final:
            return "late"
        week = self._week(label)
        if week.closed:
            return "already-closed"
        if imported.player_id in week.players:
            return "already-rated"
        points = max(0, imported.rating)
        games = imported.games
        own = WeekRecord(level(points, self.parameters), points, games, sequence=games)
        week.players[imported.player_id] = own
        week.changed.append(imported.player_id)
        return imported.player_id, 0, points, games, (label, own.level, 1, None, None)

    def close(self, label: str, *, final: bool) -> list[CompetitionClosed] | str:
        """Close a week, for good when `final`, and give the standings to publish, or why it is ignored.

        Earlier weeks that are still open are closed before it, and weeks before a final one are final too.
        Weeks without games have no standings. Raises Rejected when there is no such week.
        """
        _check(label)
        if label <= self._last_final:
            return "already-closed"
        if final:
            return self._finalise(label)
        if self._week(label).closed:
            return "already-closed"
        closings = []
        for week in self._weeks_until(label):
            if not week.closed:
                week.closed = week.state_changed = True
                if week.played():
                    closings.append(self._closing(week))
        return closings

    def due(self, now: datetime) -> list[WeekEnded]:
        """Give the records that should be on the log at `now`: midnights passed, then grace times over.

        The same ones are given until the fold has applied them.
        """
        since = now - _EPOCH
        over = [week for week in self._weeks.values() if since >= week.end]
        over.sort(key=_label_of)
        return [
            WeekEnded(self.context.ladder, week.label, final=week.closed)
            for week in over
            if not week.closed or since - week.end >= self.parameters.grace
        ]

    def standings(self, label: str) -> list[StandingsRow]:
        """Give the standings of a week that is not final, closed or not; empty when nobody played in it."""
        week = self._weeks.get(label)
        return [] if week is None else self._standings(week)

    def ratings(self) -> list[tuple[str, float, int]]:
        """Give (player, points, games) of everyone in the latest week with games."""
        latest = max((week for week in self._weeks.values() if week.played()), key=_label_of, default=None)
        if latest is None:
            return []
        return [(player_id, own.points, own.games) for player_id, own in latest.played()]

    def renumber(self, player_id: str, week: str | None, sequence: int, rating: float) -> None:
        """Let a player's changes in a week go on from a sequence number, unless the week is final."""
        if week is None or week <= self._last_final:
            return
        # It may be a week in which, as it now is, nobody has played.
        renumbered = self._week(week)
        renumbered.players.setdefault(player_id, WeekRecord(points=rating)).sequence = sequence
        renumbered.changed.append(player_id)

    def revise(self, label: str, revision: int) -> None:
        """Let a closed week's revisions go on from a number, unless the week is final."""
        if label > self._last_final:
            week = self._week(label)
            week.closed = week.state_changed = True
            week.revision = revision

    def load_row(self, kind: str, key: str, row: Any) -> None:
        """Take back a row of one of `row_kinds`, as `changed_rows` gave it out."""
        if kind == PLAYER_ROW:
            label, player_id = split_key(key, 2)
            self._week(label).players[player_id] = WeekRecord(level(row[0], self.parameters), *row)
        elif kind == WEEK_ROW:
            week = self._week(key)
            week.closed = True
            (week.revision,) = row
        else:
            (self._last_final,) = row

    def changed_rows(self) -> Iterator[tuple[str, str, JsonRow | None]]:
        """Yield (kind, key, row) of every own row changed since the last call; a None row is deleted."""
        if self._last_final_changed:
            yield FINAL_ROW, LAST_FINAL, [self._last_final]
            self._last_final_changed = False
        for week in self._finalised:
            for player_id in week.players:
                yield PLAYER_ROW, join_key(week.label, player_id), None
            yield WEEK_ROW, week.label, None
        self._finalised.clear()
        for week in self._weeks.values():
            prefix = join_key(week.label, "")
            for player_id in dict.fromkeys(week.changed):
                yield PLAYER_ROW, prefix + player_id, week.players[player_id].row()
            week.changed.clear()
            if week.state_changed:
                yield WEEK_ROW, week.label, [week.revision]
                week.state_changed = False

    def drop_changes(self) -> None:
        """Forget which own rows have changed."""
        self._last_final_changed = False
        self._finalised.clear()
        for week in self._weeks.values():
            week.changed.clear()
            week.state_changed = False

    def _count(self, week: _Week, game: Game, places: Sequence[int], sides: Sequence[int]) -> list[Change]:
        players = game.players
        figures = [week.players.get(player_id) or WeekRecord() for player_id in players]
        abandoned = game.abandoned or [False] * len(players)
        outcome = results(sides, places, abandoned)
        paid = payments(outcome, self._side_levels(sides, figures), self.parameters)
        changes = [paid[side] for side in sides]
        if True in abandoned:
            changes = quitting_changes(changes, outcome, abandoned, self.parameters)
        counted = []
        for player_id, own, side, change, quitter in zip(
            players, figures, sides, changes, abandoned, strict=True
        ):
            own.abandons += quitter
            own.count(outcome[side])
            counted.append(self._move(week, player_id, own, change))
        return counted

    def _count_pair(
        self, week: _Week, one: str, two: str, place_one: int, place_two: int
    ) -> Sequence[Change]:
        """Do what `_count` does, in a third of the time, for two individuals who stayed."""
        known = week.players
        first = known.get(one)
        if first is None:
            first = known[one] = WeekRecord()
        second = known.get(two)
        if second is None:
            second = known[two] = WeekRecord()
        level_one, level_two = first.level, second.level
        before_one, before_two = first.points, second.points
        first.games += 1
        second.games += 1
        # What is won and lost depends on little enough to be kept.
        if place_one < place_two:
            first.wins += 1
            second.losses += 1
            kept = 1, level_one - level_two
        elif place_one > place_two:
            first.losses += 1
            second.wins += 1
            kept = 2, level_one - level_two
        else:
            first.draws += 1
            second.draws += 1
            kept = 0, 0
        paid = self._paid.get(kept)
        if paid is None:
            outcome = results(SOLO, (place_one, place_two), STAYED)
            paid = self._paid[kept] = payments(outcome, (level_one, level_two), self.parameters)
        after_one = before_one + paid[0]
        after_two = before_two + paid[1]
        first.points = after_one = after_one if after_one > 0 else 0  # noqa: FURB136 - max takes thrice as long
        second.points = after_two = after_two if after_two > 0 else 0  # noqa: FURB136
        first.level = level_after_one = self._level(after_one)
        second.level = level_after_two = self._level(after_two)
        first.sequence = sequence_one = first.sequence + 1
        second.sequence = sequence_two = second.sequence + 1
        week.changed += one, two
        label = week.label
        details_one = label, level_after_one, level_one, None, None
        details_two = label, level_after_two, level_two, None, None
        return (
            (one, before_one, after_one, sequence_one, details_one),
            (two, before_two, after_two, sequence_two, details_two),
        )

    def _move(self, week: _Week, player_id: str, own: WeekRecord, change: float) -> Change:
        before, level_before = own.points, own.level
        after = before + change
        own.points = after = after if after > 0 else 0  # noqa: FURB136 - max takes three times as long
        own.level = level_after = level(after, self.parameters)
        week.players[player_id] = own
        week.changed.append(player_id)
        details = week.label, level_after, level_before, None, None
        return player_id, before, after, own.sequence, details

    def _side_levels(self, sides: Sequence[int], figures: Sequence[WeekRecord]) -> tuple[int, int]:
        if sides is SOLO:
            return figures[0].level, figures[1].level
        teams: tuple[list[float], list[float]] = ([], [])
        for side, own in zip(sides, figures, strict=True):
            teams[side].append(own.points)
        return team_level(teams[0], self.parameters), team_level(teams[1], self.parameters)

    def _week_at(self, moment: datetime) -> _Week | None:
        """Give the week of a moment; None when it is final."""
        label = week_of(moment, self.context.timezone)
        if label <= self._last_final:
            return None
        self._current = self._week(label)
        return self._current

    def _week(self, label: str) -> _Week:
        week = self._weeks.get(label)
        if week is None:
            start, end = bounds(label, self.context.timezone)
            week = self._weeks[label] = _Week(label, start - _EPOCH, end - _EPOCH)
        return week

    def _weeks_until(self, label: str) -> list[_Week]:
        return sorted((week for week in self._weeks.values() if week.label <= label), key=_label_of)

    def _finalise(self, label: str) -> list[CompetitionClosed]:
        closings = []
        for week in self._weeks_until(label):
            if week.played():
                closings.append(self._closing(week, final=True))
            del self._weeks[week.label]
            self._finalised.append(week)
        self._last_final = label
        self._last_final_changed = True
        self._current = None
        return closings

    def _closing(self, week: _Week, *, final: bool = False) -> CompetitionClosed:
        week.revision += 1
        week.state_changed = True
        return {
            "ladder": self.context.ladder,
            "week": week.label,
            "revision": week.revision,
            "final": final,
            "ended_at": (_EPOCH + week.end).isoformat().replace("+00:00", "Z"),
            "standings": self._standings(week),
        }

    def _standings(self, week: _Week) -> list[StandingsRow]:
        places: list[StandingsRow] = []
        ordered = sorted(week.played(), key=lambda item: (-item[1].points, item[0]))
        for position, (player_id, own) in enumerate(ordered, start=1):
            tied = bool(places) and places[-1]["points"] == own.points
            places.append(
                {
                    "player_id": player_id,
                    "rank": places[-1]["rank"] if tied else position,
                    "points": own.points,
                    "level": own.level,
                    "games": own.games,
                    "wins": own.wins,
                    "losses": own.losses,
                    "draws": own.draws,
                    "abandons": own.abandons,
                }
            )
        return places


def _check(label: str) -> None:
    if not is_week(label):
        raise Rejected("schema", f"week: {label!r} is not a week of the calendar")


def _sides(game: Game) -> Sequence[int] | None:
    """Give every player's side, 0 or 1; None when there are not exactly two."""
    teams = game.teams
    if teams is None:
        return SOLO if len(game.players) == len(SOLO) else None
    if len(set(teams)) != len(SOLO):
        return None
    return [0 if team == teams[0] else 1 for team in teams]


def _label_of(week: _Week) -> str:
    return week.label
