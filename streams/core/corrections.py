"""Corrections: the fold over a log in which games were taken back or reported again.

A rebuild marks its place in the log with a corrections-applied event. From there on a ladder's rows are those
of a fold in which the voided games had never been and the corrected ones had been right; for every player
whose figures differ, a rating-changed with the reason `correction` goes from the published to the right one.

Pure: no clock, no I/O. Everything follows from the log, so that a rebuild, an audit and a replay agree.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from streams.core.amendments import Amendment
from streams.core.events import (
    CompetitionClosed,
    CorrectionsApplied,
    Event,
    Game,
    GameVoided,
    Output,
    RatingChanged,
    Rejected,
)
from streams.core.ladder import Corrections, Folded, Ladder
from streams.core.ladders import Ladders
from streams.core.outcomes import NOTED, REJECTED
from streams.core.publications import corrected_change
from streams.core.ratings.system import Change, Details
from streams.core.row_keys import split_key
from streams.core.rules import LadderRules

_NO_DETAILS = Details()
_FIRST_REPORT = Amendment(1, None, voided=False)


@dataclass(frozen=True)
class CorrectionsMarker:
    """A corrections-applied event in the log: at `offset`, corrections below `until` came into force."""

    offset: int
    until: int


class CorrectionPlan:
    """What a first pass over a partition finds: the corrections, and where they came into force.

    `app_id` is the deployment whose markers count: another one's ratings were corrected elsewhere, or not.
    """

    def __init__(self, app_id: str) -> None:
        self._app_id = app_id
        self._noted: dict[str, list[tuple[int, GameVoided | Game]]] = {}
        self.markers: dict[str, list[CorrectionsMarker]] = {}

    def note(self, event: Event, offset: int) -> None:
        """Take in one event of the log, in order."""
        if isinstance(event, GameVoided) or (isinstance(event, Game) and event.version > 1):
            self._noted.setdefault(event.ladder, []).append((offset, event))
        elif isinstance(event, CorrectionsApplied) and event.app_id == self._app_id:
            self.markers.setdefault(event.ladder, []).append(CorrectionsMarker(offset, event.until))

    def corrections(self, ladder: str, until: int) -> Corrections:
        """Return what is in force on a ladder when all that was said below an offset is: each last word."""
        games: dict[str, Game | None] = {}
        amendments: dict[str, Amendment] = {}
        for offset, event in self._noted.get(ladder, ()):
            if offset >= until:
                break
            last = amendments.get(event.game_id, _FIRST_REPORT)
            if isinstance(event, GameVoided):
                games[event.game_id] = None
                amendments[event.game_id] = Amendment(last.version, last.digest, voided=True)
            elif event.version > last.version:
                games[event.game_id] = event
                amendments[event.game_id] = Amendment(event.version, event.digest, voided=False)
        return Corrections(games, amendments)

    def may_be_pending(self) -> list[str]:
        """Return the ladders of which something was said behind their last marker."""
        until = {
            ladder: max((marker.until for marker in self.markers.get(ladder, ())), default=0)
            for ladder in self._noted
        }
        return [ladder for ladder, noted in self._noted.items() if noted[-1][0] >= until[ladder]]


@dataclass
class _Chain:
    """Where the published changes of one player in one system (and week) have come to."""

    start: float
    after: float = 0.0
    sequence: int = 0
    games: int = 0
    details: Details = _NO_DETAILS


# System, week (empty where there are none), player.
_ChainKey = tuple[str, str, str]


@dataclass
class _History:
    """What a fold has published for one ladder: the chains of changes, and the last closing of each week."""

    chains: dict[_ChainKey, _Chain] = field(default_factory=dict)
    closings: dict[str, CompetitionClosed] = field(default_factory=dict)

    def take(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, RatingChanged):
                self._extend(output)
            elif isinstance(output, CompetitionClosed):
                self.closings[output.week] = output

    def _extend(self, change: RatingChanged) -> None:
        key = (change.system, change.week or "", change.player_id)
        chain = self.chains.get(key)
        if chain is None:
            chain = self.chains[key] = _Chain(change.before)
        chain.after = change.after
        chain.sequence = change.sequence
        chain.games += change.game_id is not None
        chain.details = Details(level=change.level, title=change.title)


@dataclass
class _Stage:
    """The fold of a ladder's games with what was said below `until` in force, and what it has published."""

    ladders: Ladders
    until: int
    history: _History = field(default_factory=_History)


@dataclass
class _Timeline:
    """One ladder whose corrections come into force one marker after the other.

    `published` is the history of what went out so far; `ahead` are the folds that are to take its place, in
    order, and `markers` the places in the log where they do. `row_keys` are the rows that there are.
    """

    published: _History = field(default_factory=_History)
    ahead: list[_Stage] = field(default_factory=list)
    markers: list[CorrectionsMarker] = field(default_factory=list)
    row_keys: set[str] = field(default_factory=set)


class CorrectedLadders:
    """The fold over a whole log, corrections taking effect where their markers are.

    Fed from the beginning of the log; `apply` and `changed_rows` are those of `Ladders`. A log without
    markers costs nothing more. With k markers of a ladder, its events are folded k + 1 times.
    """

    def __init__(self, rules: Mapping[str, LadderRules], plan: CorrectionPlan) -> None:
        self._rules = rules
        self._plan = plan
        self._live = Ladders(rules)
        self._timelines: dict[str, _Timeline] = {}
        self._rows: dict[str, Any | None] = {}
        for ladder, markers in plan.markers.items():
            if ladder not in rules:
                continue  # its events are rejected, the markers too
            for marker in markers:
                self.expect(ladder, marker.until)
            self._timelines[ladder].markers += markers

    @property
    def live(self) -> Ladders:
        """Return the fold with the corrections in force so far."""
        return self._live

    def fold_by(self, ladder: str, make: Callable[[LadderRules, Corrections], Ladder]) -> None:
        """Let a ladder be folded by what `make` makes of its rules and its last corrections.

        Before the first event. What is so folded is in force at the end of the log, not all the way to it.
        """
        timeline = self._timelines.get(ladder)
        last = timeline.ahead[-1].ladders if timeline is not None and timeline.ahead else self._live
        last.fold_by(ladder, make)

    def expect(self, ladder: str, until: int) -> None:
        """Prepare, before the first event, for a marker that may not be in the log yet: `settle` at last."""
        timeline = self._timelines.setdefault(ladder, _Timeline())
        corrected = Ladders(self._rules, self._plan.corrections(ladder, until))
        timeline.ahead.append(_Stage(corrected, until))

    def apply(self, event: Event, offset: int, out: list[Output]) -> str:
        """Apply the event at an offset, append what it publishes to `out`, and return its outcome.

        Raises Rejected as `Ladders.apply` does.
        """
        timeline = self._timelines.get(event.ladder)
        if timeline is None:
            return self._live.apply(event, out)
        if isinstance(event, CorrectionsApplied):
            if timeline.markers and timeline.markers[0].offset == offset:
                del timeline.markers[0]
                self.settle(event.ladder, offset, out)
            return NOTED
        for stage in timeline.ahead:
            if isinstance(event, GameVoided) and offset < stage.until:
                continue  # it is in force there from the beginning
            silent: list[Output] = []
            # What is a conflict for the published history may be right for this one, and the other way round.
            with suppress(Rejected):
                stage.ladders.apply(event, silent)
            stage.history.take(silent)
        published: list[Output] = []
        outcome = self._live.apply(event, published)
        timeline.published.take(published)
        out += published
        return outcome

    def fold(self, events: Sequence[Event | Rejected], offsets: Iterable[int]) -> list[Folded]:
        """Apply events, each at its offset, and return what became of each as `Ladders.fold` does."""
        if not self._timelines:
            return self._live.fold(events)
        return [self._fold_one(event, offset) for event, offset in zip(events, offsets, strict=True)]

    def _fold_one(self, event: Event | Rejected, offset: int) -> Folded:
        published: list[Output] = []
        try:
            if isinstance(event, Rejected):
                raise event
            return self.apply(event, offset, published), published, None
        except Rejected as rejected:
            return REJECTED, (), rejected

    def settle(self, ladder: str, offset: int, out: list[Output]) -> None:
        """Put the next corrections of a ladder into force, at the offset of their marker.

        Appends the differences to `out`: changes by system, week and player, then revised weeks.
        """
        timeline = self._timelines[ladder]
        stage = timeline.ahead.pop(0)
        settlement = _Settlement(ladder, offset, stage, timeline.published)
        out += settlement.differences()
        timeline.published = stage.history
        self._take_over(ladder, stage.ladders)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        """Yield (key, row) of every row changed since the last call; a None row is deleted."""
        rows, self._rows = self._rows, {}
        yield from rows.items()
        if not self._timelines:
            yield from self._live.changed_rows()
            return
        for key, row in self._live.changed_rows():
            self._know(key, row)
            yield key, row

    def drop_changes(self) -> None:
        """Forget which rows have changed, for a fold that stores none."""
        if self._timelines:
            # What corrections take back is told by the rows that there were.
            deque(self.changed_rows(), maxlen=0)
        else:
            self._live.drop_changes()

    def load(self, key: str, row: Any) -> None:
        """Take back one row. Only without markers: a corrected fold starts at the beginning of the log."""
        if self._timelines:
            raise ValueError("a fold with corrections ahead starts at the beginning of the log")
        self._live.load(key, row)

    def _take_over(self, ladder: str, corrected: Ladders) -> None:
        """Let a fold's ladder take the place of the live one; rows that it has not are gone."""
        for key, row in self._live.changed_rows():
            self._know(key, row)
            self._rows[key] = row
        self._live.replace(ladder, corrected)
        timeline = self._timelines[ladder]
        gone, timeline.row_keys = timeline.row_keys, set()
        for key, row in self._live.changed_rows():
            self._know(key, row)
            self._rows[key] = row
            gone.discard(key)
        self._rows.update(dict.fromkeys(sorted(gone)))

    def _know(self, key: str, row: Any | None) -> None:
        timeline = self._timelines.get(split_key(key, 3)[1])
        if timeline is None:
            return
        if row is None:
            timeline.row_keys.discard(key)
        else:
            timeline.row_keys.add(key)


class _Settlement:
    """What differs between what was published of a ladder and what a corrected fold would have published."""

    def __init__(self, ladder: str, offset: int, stage: _Stage, published: _History) -> None:
        self._ladder = ladder
        self._offset = offset
        self._corrected = stage.ladders
        self._published = published
        self._right = stage.history

    def differences(self) -> list[Output]:
        """Return the differences, and let the corrected fold go on from the published sequences."""
        out: list[Output] = []
        published, right = self._published, self._right
        for key in sorted(published.chains.keys() | right.chains.keys()):
            self._settle_chain(key, out)
        for week in sorted(published.closings.keys() | right.closings.keys()):
            self._settle_week(week, out)
        return out

    def _settle_chain(self, key: _ChainKey, out: list[Output]) -> None:
        was = self._published.chains.get(key)
        now = self._right.chains.get(key)
        start = now.start if now else 0.0
        before = was or _Chain(start, after=start, details=self._unplayed(key))
        after = now or _Chain(before.start, after=before.start, details=self._unplayed(key))
        sequence = before.sequence
        if was is None or (before.after, before.games) != (after.after, after.games):
            sequence += 1
            out.append(self._change(key, before, after, sequence))
        self._renumber(key, sequence, after.after)
        after.sequence = sequence
        self._right.chains[key] = after

    def _renumber(self, key: _ChainKey, sequence: int, rating: float) -> None:
        name, week, player_id = key
        system = self._corrected.system(self._ladder, name)
        if system is None:
            return
        system.renumber(player_id, week or None, sequence, rating)
        if not week:
            self._corrected.touch(self._ladder, player_id)

    def _unplayed(self, key: _ChainKey) -> Details:
        """Return what the system shows of a player without games."""
        system = self._corrected.system(self._ladder, key[0])
        return _NO_DETAILS if system is None else system.unplayed or _NO_DETAILS

    def _change(self, key: _ChainKey, before: _Chain, after: _Chain, sequence: int) -> RatingChanged:
        system, week, player_id = key
        details = Details(
            week or None, after.details.level, before.details.level, after.details.title, before.details.title
        )
        change = Change(player_id, before.after, after.after, sequence, details)
        statistics = self._corrected.statistics(self._ladder, player_id)
        return corrected_change(self._ladder, system, change, statistics, self._offset)

    def _settle_week(self, week: str, out: list[Output]) -> None:
        was = self._published.closings.get(week)
        now = self._right.closings.get(week)
        last = was or now
        if last is None:
            return
        revision = was.revision if was else 0
        standings = now.standings if now else []
        if was is None or was.standings != standings:
            revision += 1
            last = replace(last, revision=revision, standings=standings)
            out.append(last)
        competition = self._corrected.competition(self._ladder)
        if competition is not None:
            competition.revise(week, revision)
        self._right.closings[week] = last
