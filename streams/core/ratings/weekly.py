"""Weekly: a competition that starts at 0 points every Monday, with levels and stakes (seed 004).

A game counts for the week in which it ended, in the ladder's time zone, whenever it arrives. A week is open,
then closed (its standings are published, late games amend them), then final: its rows are gone. All of that
follows the records of the log, never a clock. Nothing is reset on Monday: a week's rows are its own.

A late game publishes no standings: for 120,000 players they are 16 MB. It marks the week as amended, and the
next week-ended record of the week publishes them, whatever the number of late games before it.

Pure: standard library and msgspec only.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any

from streams.core.events import CompetitionClosed, Game, RatingImported, Rejected, StandingsRow, WeekEnded
from streams.core.ratings.explanation import Step
from streams.core.ratings.system import (
    Change,
    Competition,
    Details,
    JsonRow,
    LadderContext,
    Notes,
    OpenedGame,
    SystemChanges,
    Verdict,
)
from streams.core.ratings.weekly_rules import (
    SOLO,
    STAYED,
    Parameters,
    level,
    payments,
    quitting_changes,
    results,
    sides_of,
    team_level,
)
from streams.core.ratings.weekly_steps import CountedGame, steps
from streams.core.ratings.weekly_week import EPOCH, Week, WeekRecord
from streams.core.row_keys import join_key, split_key
from streams.core.weeks import bounds, is_week, week_of

PLAYER_ROW = "weekly-player"
WEEK_ROW = "weekly-week"
FINAL_ROW = "weekly-final"
# A ladder has one row of the kind FINAL_ROW, with this key: weeks become final in order.
LAST_FINAL = "last"

# Of so many numbers of points the level is kept, once it was computed.
_KEPT_LEVELS = 4096


class Weekly(Competition):
    """The weekly competition on one ladder."""

    name = "weekly"
    parameters_type = Parameters
    row_kinds = (PLAYER_ROW, WEEK_ROW, FINAL_ROW)
    unplayed = Details(level=1, level_before=1)
    parameters: Parameters

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._weeks: dict[str, Week] = {}
        # Most games fall in the week of the game before: its bounds spare the way through the time zone.
        self._current: Week | None = None
        # What the players of a pair gain by who won (1 the first, 2 the second, 0 nobody) and the difference
        # of their levels.
        self._paid: dict[tuple[int, int], tuple[float, float]] = {}
        self._level = lru_cache(_KEPT_LEVELS)(partial(level, parameters=self.parameters))
        # Every week up to this one is final; as text it sorts before all of them while there is none.
        self._last_final = ""
        self._last_final_changed = False
        self._finalised: list[Week] = []

    def rate_general(self, game: Game, places: Sequence[int]) -> Verdict:
        """Count any game for the week of its end, and amend that week's standings if it is closed."""
        sides = sides_of(game)
        if sides is None:
            return self.ignored("player-count")
        week = self._current
        if week is None or not week.surely_from <= game.ended_epoch < week.surely_until:
            week = self._week_at(game.ended)
            if week is None:
                return self.ignored("late")
        if week.closed and not week.amended:
            week.amended = week.state_changed = True
        return self._count(week, game, places, sides), None

    def rate_batch(self, games: Iterable[OpenedGame], notes: Notes) -> list[SystemChanges]:
        """Count games one after the other, pairs by the shorter way while their week is open."""
        rated: list[SystemChanges] = []
        name = self.name
        for opened in games:
            week = self._current
            if (
                opened.one is None
                or week is None
                or week.closed
                or not week.surely_from <= opened.ended_epoch < week.surely_until
            ):
                self.rate_next(opened, rated, notes)
            else:
                rated.append(SystemChanges(name, self._count_pair(week, opened.one, opened)))
        return rated

    def start(self, imported: RatingImported) -> Change | str:
        """Start a player in the week that the import names, or return the reason why it is ignored.

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
        record = WeekRecord(level(points, self.parameters), points, games, sequence=games)
        week.players[imported.player_id] = record
        week.changed.append(imported.player_id)
        details = Details(week=label, level=record.level, level_before=1)
        return Change(imported.player_id, 0, points, games, details)

    def close(self, label: str, *, final: bool) -> list[CompetitionClosed] | str:
        """Close a week, for good when `final`, and return the standings to publish, or why it is ignored.

        Earlier weeks that are still open are closed before it, and weeks before a final one are final too.
        Weeks without games have no standings. A week that is closed already is published once more when late
        games have amended it. Raises Rejected when there is no such week.
        """
        _check(label)
        if label <= self._last_final:
            return "already-closed"
        if final:
            return self._finalise(label)
        ended = self._week(label)
        if ended.closed:
            return [ended.closing(self.context.ladder, final=False)] if ended.amended else "already-closed"
        closings = []
        for week in self._weeks_until(label):
            if not week.closed:
                week.closed = week.state_changed = True
                if week.played():
                    closings.append(week.closing(self.context.ladder, final=False))
        return closings

    def due(self, now: datetime) -> list[WeekEnded]:
        """Return the records that should be on the log at `now`: midnights passed, then grace times over.

        The same ones are returned until the fold has applied them.
        """
        since = now - EPOCH
        over = [week for week in self._weeks.values() if since >= self._ends(week)]
        over.sort(key=_label_of)
        return [WeekEnded(self.context.ladder, week.label, final=week.closed) for week in over]

    def overdue(self, now: datetime) -> float:
        """Return for how many seconds the first of the records that are due has been so; 0 without any."""
        first = min(map(self._ends, self._weeks.values()), default=now - EPOCH)
        return max(0.0, (now - EPOCH - first).total_seconds())

    def _ends(self, week: Week) -> timedelta:
        """Return when a week ends next, since 1970: at midnight, and for good with its grace time."""
        return week.end + self.parameters.grace if week.closed else week.end

    def amended(self) -> list[tuple[WeekEnded, int]]:
        """Return a record for each closed week amended since it was published, and the number of its rows."""
        weeks = [week for week in self._weeks.values() if week.amended]
        weeks.sort(key=_label_of)
        return [
            (WeekEnded(self.context.ladder, week.label, final=False), len(week.players)) for week in weeks
        ]

    def standings(self, label: str) -> list[StandingsRow]:
        """Return the standings of a week that is not final, closed or not; empty when nobody played in it."""
        week = self._weeks.get(label)
        return [] if week is None else week.standings()

    def ratings(self) -> list[tuple[str, float, int]]:
        """Return (player, points, games) of everyone in the latest week with games."""
        latest = max((week for week in self._weeks.values() if week.played()), key=_label_of, default=None)
        if latest is None:
            return []
        return [(player_id, record.points, record.games) for player_id, record in latest.played()]

    def explain(self, game: Game, places: Sequence[int], player_id: str) -> Sequence[Step]:
        """Return the steps to a player's points after a game, from the points of its week before it."""
        sides, label = sides_of(game), week_of(game.ended, self.context.timezone)
        if sides is None or label <= self._last_final:
            return ()
        week, players = self._weeks.get(label), game.players
        records = {} if week is None else week.players
        points = [records[player].points if player in records else 0 for player in players]
        abandoned = game.abandoned or [False] * len(players)
        position = players.index(player_id)
        return steps(CountedGame(label, players, sides, places, abandoned, points, position, self.parameters))

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

    @classmethod
    def player_of_row(cls, kind: str, key: str) -> str | None:
        """Return the player that an own row belongs to; None for the row of a week."""
        return split_key(key, 2)[1] if kind == PLAYER_ROW else None

    def load_row(self, kind: str, key: str, row: Any) -> None:
        """Take back a row of one of `row_kinds`, as `changed_rows` gave it out."""
        if kind == PLAYER_ROW:
            label, player_id = split_key(key, 2)
            self._week(label).players[player_id] = WeekRecord(level(row[0], self.parameters), *row)
        elif kind == WEEK_ROW:
            week = self._week(key)
            week.closed = True
            week.revision, *amended = row
            week.amended = bool(amended)
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
                # Before amendments were gathered there was the revision alone, as there is without any.
                yield WEEK_ROW, week.label, [week.revision, 1] if week.amended else [week.revision]
                week.state_changed = False

    def drop_changes(self) -> None:
        """Forget which own rows have changed, for a fold that stores none."""
        self._last_final_changed = False
        self._finalised.clear()
        for week in self._weeks.values():
            week.changed.clear()
            week.state_changed = False

    def _count(self, week: Week, game: Game, places: Sequence[int], sides: Sequence[int]) -> list[Change]:
        players = game.players
        records = [week.players.get(player_id) or WeekRecord() for player_id in players]
        abandoned = game.abandoned or [False] * len(players)
        outcome = results(sides, places, abandoned)
        paid = payments(outcome, self._side_levels(sides, records), self.parameters)
        changes = [paid[side] for side in sides]
        if True in abandoned:
            changes = quitting_changes(changes, outcome, abandoned, self.parameters)
        counted = []
        for player_id, record, side, change, quitter in zip(
            players, records, sides, changes, abandoned, strict=True
        ):
            record.abandons += quitter
            record.count(outcome[side])
            counted.append(self._move(week, player_id, record, change))
        return counted

    def _count_pair(self, week: Week, one: str, opened: OpenedGame) -> Sequence[Change]:
        """Do what `_count` does, in a third of the time, for a pair."""
        two = opened.two
        record_one = week.players.get(one) or week.new_record(one)
        record_two = week.players.get(two) or week.new_record(two)
        level_one, level_two = record_one.level, record_two.level
        before_one, before_two = record_one.points, record_two.points
        paid_one, paid_two = self._count_result(record_one, record_two, opened)
        after_one = before_one + paid_one
        after_two = before_two + paid_two
        record_one.points = after_one = after_one if after_one > 0 else 0  # noqa: FURB136 - max takes thrice as long
        record_two.points = after_two = after_two if after_two > 0 else 0  # noqa: FURB136 - as above
        record_one.level = level_after_one = self._level(after_one)
        record_two.level = level_after_two = self._level(after_two)
        record_one.sequence = sequence_one = record_one.sequence + 1
        record_two.sequence = sequence_two = record_two.sequence + 1
        week.changed += one, two
        label = week.label
        return (
            Change(one, before_one, after_one, sequence_one, Details(label, level_after_one, level_one)),
            Change(two, before_two, after_two, sequence_two, Details(label, level_after_two, level_two)),
        )

    def _count_result(
        self, record_one: WeekRecord, record_two: WeekRecord, opened: OpenedGame
    ) -> tuple[float, float]:
        """Count a pair's game for both, and return what they gain: it depends on little enough to be kept."""
        record_one.games += 1
        record_two.games += 1
        gap = record_one.level - record_two.level
        if opened.place_one < opened.place_two:
            record_one.wins += 1
            record_two.losses += 1
            kept = 1, gap
        elif opened.place_one > opened.place_two:
            record_one.losses += 1
            record_two.wins += 1
            kept = 2, gap
        else:
            record_one.draws += 1
            record_two.draws += 1
            kept = 0, 0
        paid = self._paid.get(kept)
        if paid is None:
            outcome = results(SOLO, (opened.place_one, opened.place_two), STAYED)
            paid = self._paid[kept] = payments(outcome, (record_one.level, record_two.level), self.parameters)
        return paid

    def _move(self, week: Week, player_id: str, record: WeekRecord, change: float) -> Change:
        before, level_before = record.points, record.level
        after = before + change
        record.points = after = after if after > 0 else 0  # noqa: FURB136 - max takes three times as long
        record.level = level_after = level(after, self.parameters)
        week.players[player_id] = record
        week.changed.append(player_id)
        details = Details(week.label, level_after, level_before)
        return Change(player_id, before, after, record.sequence, details)

    def _side_levels(self, sides: Sequence[int], records: Sequence[WeekRecord]) -> tuple[int, int]:
        if sides is SOLO:
            return records[0].level, records[1].level
        teams: tuple[list[float], list[float]] = ([], [])
        for side, record in zip(sides, records, strict=True):
            teams[side].append(record.points)
        return team_level(teams[0], self.parameters), team_level(teams[1], self.parameters)

    def _week_at(self, moment: datetime) -> Week | None:
        """Return the week of a moment; None when it is final."""
        label = week_of(moment, self.context.timezone)
        if label <= self._last_final:
            return None
        self._current = self._week(label)
        return self._current

    def _week(self, label: str) -> Week:
        week = self._weeks.get(label)
        if week is None:
            start, end = bounds(label, self.context.timezone)
            week = self._weeks[label] = Week(label, start - EPOCH, end - EPOCH)
        return week

    def _weeks_until(self, label: str) -> list[Week]:
        return sorted((week for week in self._weeks.values() if week.label <= label), key=_label_of)

    def _finalise(self, label: str) -> list[CompetitionClosed]:
        closings = []
        for week in self._weeks_until(label):
            if week.played():
                closings.append(week.closing(self.context.ladder, final=True))
            del self._weeks[week.label]
            self._finalised.append(week)
        self._last_final = label
        self._last_final_changed = True
        self._current = None
        return closings


def _check(label: str) -> None:
    if not is_week(label):
        raise Rejected("schema", f"week: {label!r} is not a week of the calendar")


def _label_of(week: Week) -> str:
    return week.label
