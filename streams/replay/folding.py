"""The fold of one input partition as its owner does it, with the account of its records, writing nothing.

Whether events come from a topic or a file, what they put out goes to a Sink.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import orjson

from streams.core.beginnings import Beginnings
from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import CorrectionsApplied, Event, Rejected
from streams.core.ladder import Corrections, Folded, Ladder
from streams.core.outcomes import OutcomeCounts
from streams.core.publications import Publication
from streams.core.rules import LadderRules
from streams.processor import Decoded, Fold, Sink, process
from streams.runtime.changelog import merge_rows
from streams.runtime.homes import Place, at_home

# Changed rows are taken out of the fold this often, so that those of forgotten games do not pile up.
_EVENTS_BETWEEN_DRAINS = 100_000

Item = TypeVar("Item")
Rules = Mapping[str, LadderRules]


class CorrectionsFound(Exception):  # noqa: N818 - not an error: the fold has to start again with a plan
    """At this offset corrections came into force, which a fold has to know of from its first event on.

    What follows from the items before `resume` has gone to the sink.
    """

    def __init__(self, offset: int, resume: int) -> None:
        super().__init__(f"corrections were applied at offset {offset}")
        self.offset = offset
        self.resume = resume


class PartitionFold(Generic[Item]):
    """The fold of one partition: `load` rows if there are any, `apply` its items in order, look at `rows`.

    `offset_of` says where an item is in the log. Without a plan, the first marker of corrections raises
    CorrectionsFound: then a fold with a plan, fed from the start, puts out the same below the marker. A log
    without corrections is so folded in one pass. With a `place`, only what is at home there is folded.
    """

    def __init__(
        self,
        rules: Rules,
        app_id: str,
        offset_of: Callable[[Item], int],
        plan: CorrectionPlan | None = None,
        *,
        keep_rows: bool = False,
        place: Place | None = None,
    ) -> None:
        self.counts = OutcomeCounts()
        self._rows: dict[str, Any] = {}
        self._keep_rows = keep_rows
        self._app_id = app_id
        self._offset_of = offset_of
        self._planned = plan is not None
        self._beginnings = Beginnings(rules)
        self._ladders = CorrectedLadders(rules, plan or CorrectionPlan(app_id))
        self._since_drain = 0
        self._place = place
        self._fold_here: Fold[Any] = (
            self._fold_ladders if place is None else at_home(self._fold_ladders, place)
        )

    def load(self, rows: Mapping[str, bytes], counts: Mapping[str, int]) -> None:
        """Start from the rows and the account of an earlier fold."""
        for key, value in rows.items():
            row = orjson.loads(value)
            self._ladders.load(key, row)
            if self._keep_rows:
                self._rows[key] = row
        self.counts = OutcomeCounts(**counts)

    def fold_by(self, ladder: str, make: Callable[[LadderRules, Corrections], Ladder]) -> None:
        """Let a ladder be folded by what `make` makes of its rules and last corrections, from the start."""
        self._ladders.fold_by(ladder, make)

    def apply(
        self,
        items: Sequence[Item],
        decode: Callable[[Item], Event],
        sink: Sink | None,
        emit_from: int = 0,
    ) -> None:
        """Apply items; what those from `emit_from` on put out goes to the sink."""
        if sink is not None and self._offset_of(items[0]) < emit_from:
            sink = _SinkFrom(emit_from, self._offset_of, sink)
        process(self._fold, items, decode, sink, self.counts)
        self._since_drain += len(items)
        if self._since_drain >= _EVENTS_BETWEEN_DRAINS:
            self._drain()

    def rows(self) -> dict[str, Any]:
        """Return the rows as they are now, by key; they are the fold's own, for reading."""
        self._drain()
        return self._rows

    def ratings(self, ladder: str, system: str) -> list[tuple[str, float, int]]:
        """Return (player, rating, games) of everyone rated in a ladder's system."""
        return self._ladders.live.ratings(ladder, system)

    def _fold(self, items: Sequence[Item], events: Sequence[Decoded]) -> Sequence[Folded]:
        if not self._planned and CorrectionsApplied in map(type, events):
            self._look_for_marker(items, events)
        return self._fold_here(items, events)

    def _fold_ladders(self, items: Sequence[Item], events: Sequence[Decoded]) -> list[Folded]:
        known = self._beginnings.known(events, map(self._offset_of, items))
        return self._ladders.fold(known, map(self._offset_of, items))

    def _look_for_marker(self, items: Sequence[Item], events: Sequence[Decoded]) -> None:
        for item, event in zip(items, events, strict=True):
            if not isinstance(event, CorrectionsApplied) or event.app_id != self._app_id:
                continue
            if self._place is None or self._place.is_home(event):
                raise CorrectionsFound(self._offset_of(item), resume=self._offset_of(items[0]))

    def _drain(self) -> None:
        self._since_drain = 0
        if not self._keep_rows:
            self._ladders.drop_changes()
            return
        merge_rows(self._rows, self._ladders.changed_rows())


class _SinkFrom(Generic[Item]):
    """Passes on what follows from items at an offset or behind it."""

    def __init__(self, offset: int, offset_of: Callable[[Item], int], sink: Sink) -> None:
        self._offset = offset
        self._offset_of = offset_of
        self._sink = sink

    def publish(self, item: Item, event: Event, published: Sequence[Publication]) -> None:
        """Pass on what follows from one event."""
        if self._offset_of(item) >= self._offset:
            self._sink.publish(item, event, published)

    def reject(self, item: Item, rejected: Rejected) -> None:
        """Pass on one rejection."""
        if self._offset_of(item) >= self._offset:
            self._sink.reject(item, rejected)

    def forward(self, item: Item, event: Event) -> None:
        """Pass on one record that lies away from home."""
        if self._offset_of(item) >= self._offset:
            self._sink.forward(item, event)
