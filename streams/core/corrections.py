"""Corrections: the fold over a log in which games were taken back or reported again.

A rebuild marks its place in the log with a corrections-applied event. From there on a ladder's rows are those
of a fold in which the voided games had never been and the corrected ones had been right; for every player
whose figures differ, a rating-changed with the reason `correction` goes from the published to the right one.

Pure: standard library only. Everything follows from the log, so that a rebuild, an audit and a replay agree.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from streams.core.events import CorrectionsApplied, Event, Game, GameVoided, Rejected
from streams.core.ladders import (
    COMPETITION_CLOSED,
    NOTED,
    RATING_CHANGED,
    REJECTED,
    Corrections,
    Folded,
    Ladders,
    Output,
    RatingChanged,
)
from streams.core.ratings.weekly import Weekly
from streams.core.row_keys import quote_part, split_key
from streams.core.rules import LadderRules

# Of what a system shows beside a rating, what a player without games has.
_NO_GAMES = {"title": "", "level": 1}


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
        self._noted: dict[str, list[tuple[int, str, Game | None]]] = {}
        self._versions: dict[tuple[str, str], int] = {}
        self.markers: dict[str, list[CorrectionsMarker]] = {}

    def note(self, event: Event, offset: int) -> None:
        """Take in one event of the log, in order."""
        if isinstance(event, GameVoided):
            self._noted.setdefault(event.ladder, []).append((offset, event.game_id, None))
        elif isinstance(event, Game):
            if event.version > self._versions.get((event.ladder, event.game_id), 1):
                self._versions[event.ladder, event.game_id] = event.version
                self._noted.setdefault(event.ladder, []).append((offset, event.game_id, event))
        elif isinstance(event, CorrectionsApplied) and event.app_id == self._app_id:
            self.markers.setdefault(event.ladder, []).append(CorrectionsMarker(offset, event.until))

    def corrections(self, ladder: str, until: int) -> Corrections:
        """Give the corrections of a ladder noted below an offset; of one game the last."""
        return {game_id: game for offset, game_id, game in self._noted.get(ladder, ()) if offset < until}

    def pending(self) -> dict[str, int]:
        """Count each ladder's corrections that no marker has put into force."""
        found = {}
        for ladder, noted in self._noted.items():
            until = max((marker.until for marker in self.markers.get(ladder, ())), default=0)
            found[ladder] = sum(offset >= until for offset, _, _ in noted)
        return {ladder: count for ladder, count in found.items() if count}


@dataclass
class _Chain:
    """Where the published changes of one player in one system (and week) have come to."""

    start: float
    after: float = 0.0
    sequence: int = 0
    games: int = 0
    details: dict[str, Any] = field(default_factory=dict)


_Key = tuple[str, str, str]


class _History:
    """What a fold has published for one ladder: the chains of changes, and the last closing of each week."""

    def __init__(self) -> None:
        self.chains: dict[_Key, _Chain] = {}
        self.closings: dict[str, Mapping[str, Any]] = {}

    def take(self, outputs: list[Output]) -> None:
        for topic, _, body in outputs:
            if topic == RATING_CHANGED:
                self._extend(body)
            elif topic == COMPETITION_CLOSED:
                self.closings[body["week"]] = body

    def _extend(self, body: Mapping[str, Any]) -> None:
        key = (body["system"], body.get("week", ""), body["player_id"])
        chain = self.chains.get(key)
        if chain is None:
            chain = self.chains[key] = _Chain(body["before"])
        chain.after = body["after"]
        chain.sequence = body["sequence"]
        chain.games += "game_id" in body
        chain.details = {name: body[name] for name in ("title", "level") if name in body}


class CorrectedLadders:
    """The ladders fold over a whole log, corrections taking effect where their markers are.

    Fed from the beginning of the log; `apply` and `changed_rows` are those of `Ladders`. A log without
    markers costs nothing more. With k markers of a ladder, its events are folded k + 1 times.
    """

    def __init__(self, rules: Mapping[str, LadderRules], plan: CorrectionPlan) -> None:
        self._rules = rules
        self._plan = plan
        self._live = Ladders(rules)
        self._ahead = {ladder: list(markers) for ladder, markers in plan.markers.items()}
        self._shadows: dict[str, list[Ladders]] = {}
        self._histories: dict[str, list[_History]] = {}
        self._row_keys: dict[str, set[str]] = {}
        self._rows: dict[str, Any | None] = {}
        for ladder, markers in plan.markers.items():
            for marker in markers:
                self._follow(ladder, marker.until)

    @property
    def live(self) -> Ladders:
        """Give the fold with the corrections in force so far."""
        return self._live

    def expect(self, ladder: str, until: int) -> None:
        """Prepare, before the first event, for a marker that is not in the log yet: `settle` at last."""
        self._follow(ladder, until)

    def apply(self, event: Event, offset: int, out: list[Output]) -> str:
        """Apply the event at an offset, append what it publishes to `out`, and give its outcome.

        Raises Rejected as `Ladders.apply` does.
        """
        ladder = event.ladder
        if ladder not in self._shadows:
            return self._live.apply(event, out)
        if isinstance(event, CorrectionsApplied):
            ahead = self._ahead.get(ladder)
            if ahead and ahead[0].offset == offset:
                del ahead[0]
                self.settle(ladder, offset, out)
            return NOTED
        published: list[Output] = []
        live, *shadows = self._histories[ladder]
        for fold, history in zip(self._shadows[ladder], shadows, strict=True):
            silent: list[Output] = []
            self._apply_beside(fold, event, silent)
            history.take(silent)
        outcome = self._live.apply(event, published)
        live.take(published)
        out += published
        return outcome

    def fold(self, events: Sequence[tuple[int, Event | Rejected]]) -> list[Folded]:
        """Apply events, each with its offset, and give what became of each as `Ladders.fold` does."""
        if not self._shadows:
            return self._live.fold([event for _, event in events])
        return [self._fold_one(event, offset) for offset, event in events]

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
        shadow = self._shadows[ladder].pop(0)
        published, right = self._histories[ladder].pop(0), self._histories[ladder][0]
        differences: list[Output] = []
        for key in sorted(published.chains.keys() | right.chains.keys()):
            self._settle_chain(shadow, ladder, key, offset, published, right, differences)
        for week in sorted(published.closings.keys() | right.closings.keys()):
            _settle_week(shadow, ladder, week, published, right, differences)
        self._take_over(ladder, shadow)
        out += differences

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        """Yield (key, row) of every row changed since the last call; a None row is deleted."""
        rows, self._rows = self._rows, {}
        yield from rows.items()
        if not self._row_keys:
            yield from self._live.changed_rows()
            return
        for key, row in self._live.changed_rows():
            self._know(key, row)
            yield key, row

    def drop_changes(self) -> None:
        """Forget which rows have changed: for who wants none."""
        if self._shadows:
            # What corrections take back is told by the rows that there were.
            deque(self.changed_rows(), maxlen=0)
        else:
            self._live.drop_changes()

    def load(self, key: str, row: Any) -> None:
        """Take back one row. Only without markers: a corrected fold starts at the beginning of the log."""
        if self._shadows:
            raise ValueError("a fold with corrections ahead starts at the beginning of the log")
        self._live.load(key, row)

    def _follow(self, ladder: str, until: int) -> None:
        self._shadows.setdefault(ladder, []).append(
            Ladders(self._rules, self._plan.corrections(ladder, until))
        )
        self._histories.setdefault(ladder, [_History()]).append(_History())
        self._row_keys.setdefault(ladder, set())

    @staticmethod
    def _apply_beside(fold: Ladders, event: Event, out: list[Output]) -> None:
        # What is a conflict for the published history may be right for this one, and the other way round.
        with suppress(Rejected):
            fold.apply(event, out)

    def _settle_chain(
        self,
        shadow: Ladders,
        ladder: str,
        key: _Key,
        offset: int,
        published: _History,
        right: _History,
        out: list[Output],
    ) -> None:
        system, week, player_id = key
        was = published.chains.get(key)
        now = right.chains.get(key)
        before = was or _Chain(now.start if now else 0.0, after=now.start if now else 0.0)
        after = now or _Chain(before.start, after=before.start, details=_without_games(before.details))
        sequence = before.sequence
        if was is None or (before.after, before.games) != (after.after, after.games):
            sequence += 1
            out.append(
                Output(
                    RATING_CHANGED,
                    player_id,
                    _correction(shadow, ladder, key, offset, before, after, sequence),
                )
            )
        found = shadow.system(ladder, system)
        if found is not None:
            found.renumber(player_id, week or None, sequence, after.after)
            if not week:
                shadow.touch(ladder, player_id)
        after.sequence = sequence
        right.chains[key] = after

    def _take_over(self, ladder: str, shadow: Ladders) -> None:
        for key, row in self._live.changed_rows():
            self._know(key, row)
            self._rows[key] = row
        self._live.replace(ladder, shadow)
        gone = self._row_keys[ladder]
        self._row_keys[ladder] = set()
        for key, row in self._live.changed_rows():
            self._know(key, row)
            self._rows[key] = row
            gone.discard(key)
        self._rows.update(dict.fromkeys(sorted(gone)))

    def _know(self, key: str, row: Any | None) -> None:
        if not self._row_keys:
            return
        keys = self._row_keys.get(split_key(key, 3)[1])
        if keys is not None:
            if row is None:
                keys.discard(key)
            else:
                keys.add(key)


def _correction(
    shadow: Ladders, ladder: str, key: _Key, offset: int, before: _Chain, after: _Chain, sequence: int
) -> RatingChanged:
    system, week, player_id = key
    path = f"{quote_part(ladder)}/{system}/%correction-{offset}/"
    body: RatingChanged = {
        "change_id": path + (f"{week}/{player_id}" if week else player_id),
        "ladder": ladder,
        "system": system,
        "player_id": player_id,
        "sequence": sequence,
        "before": before.after,
        "after": after.after,
        "statistics": shadow.statistics(ladder, player_id),
        "reason": "correction",
    }
    if week:
        body["week"] = week
    shown = after.details or _without_games(before.details)
    body.update(shown)  # type: ignore[typeddict-item]
    was = before.details or _without_games(shown)
    body.update({f"{name}_before": value for name, value in was.items()})  # type: ignore[typeddict-item]
    return body


def _without_games(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _NO_GAMES[name] for name in details}


def _settle_week(
    shadow: Ladders, ladder: str, week: str, published: _History, right: _History, out: list[Output]
) -> None:
    was = published.closings.get(week)
    now = right.closings.get(week)
    known = was or now or {}
    revision = was["revision"] if was else 0
    standings = now["standings"] if now else []
    if was is None or was["standings"] != standings:
        revision += 1
        body = {**known, "revision": revision, "standings": standings}
        out.append(Output(COMPETITION_CLOSED, ladder, body))
    else:
        body = dict(was)
    weekly = shadow.system(ladder, Weekly.name)
    if isinstance(weekly, Weekly):
        weekly.revise(week, revision)
    right.closings[week] = body
