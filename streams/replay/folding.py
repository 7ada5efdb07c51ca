"""The fold of one input partition as its owner does it, with the account of its records, writing nothing.

Whether events come from a topic or a file, what they put out goes to a Sink.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import orjson

from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import CorrectionsApplied, Event, Rejected
from streams.core.ladders import NOTED, Publication
from streams.core.rules import LadderRules
from streams.processor import EVENTS_TOGETHER, decode_all

# Changed rows are taken out of the fold this often, so that those of forgotten games do not pile up.
_EVENTS_BETWEEN_DRAINS = 100_000
READ, REJECTED = "read", "rejected"
OUTCOMES = ("rated", "ignored", REJECTED, NOTED)

Item = TypeVar("Item")
Rules = Mapping[str, LadderRules]


class CorrectionsFound(Exception):  # noqa: N818 - not an error: the fold has to start again with a plan
    """At this offset corrections came into force, which a fold has to know of from its first event on."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"corrections were applied at offset {offset}")
        self.offset = offset


class Sink(Protocol):
    """Takes what a fold puts out; `item` is the record or line that it comes from."""

    def take(self, offset: int, item: Any, event: Event, published: Sequence[Publication]) -> None:
        """Take what one event has published."""

    def reject(self, offset: int, item: Any, rejected: Rejected) -> None:
        """Take one rejection."""


class PartitionFold:
    """The fold of one partition: `load` rows if there are any, `apply` its items in order, look at `rows`.

    Without a plan, the first marker of corrections raises CorrectionsFound: then a fold with a plan, fed from
    the start, puts out the same below the marker. A log without corrections is so folded in one pass.
    """

    def __init__(
        self, rules: Rules, app_id: str, plan: CorrectionPlan | None = None, *, keep_rows: bool = False
    ) -> None:
        self.counts = dict.fromkeys((READ, *OUTCOMES), 0)
        self._rows: dict[str, Any] = {}
        self._keep_rows = keep_rows
        self._app_id = app_id
        self._planned = plan is not None
        self._fold = CorrectedLadders(rules, plan or CorrectionPlan(app_id))
        self._since_drain = 0

    def load(self, rows: Mapping[str, bytes], counts: Mapping[str, int]) -> None:
        """Start from the rows and the account of an earlier fold."""
        for key, value in rows.items():
            row = orjson.loads(value)
            self._fold.load(key, row)
            if self._keep_rows:
                self._rows[key] = row
        self.counts.update(counts)

    def apply(
        self,
        items: Sequence[tuple[int, Item]],
        decode: Callable[[Item], Event],
        sink: Sink | None,
        emit_from: int = 0,
    ) -> None:
        """Apply items, each with its offset; what those from `emit_from` on put out goes to the sink."""
        for first in range(0, len(items), EVENTS_TOGETHER):
            piece = items[first : first + EVENTS_TOGETHER]
            self._apply(piece, decode_all(decode, [item for _, item in piece]), sink, emit_from)

    def _apply(
        self,
        items: Sequence[tuple[int, Any]],
        events: Sequence[Event | Rejected],
        sink: Sink | None,
        emit_from: int,
    ) -> None:
        counts = self.counts
        folded = self._fold.fold([(offset, event) for (offset, _), event in zip(items, events, strict=True)])
        for (offset, item), event, (outcome, published, rejected) in zip(items, events, folded, strict=True):
            counts[READ] += 1
            counts[outcome] += 1
            if rejected is not None or isinstance(event, Rejected):
                if sink is not None and rejected is not None and offset >= emit_from:
                    sink.reject(offset, item, rejected)
            elif published:
                if sink is not None and offset >= emit_from:
                    sink.take(offset, item, event, published)
            elif outcome == NOTED and not self._planned:
                self._look_for_marker(event, offset)
        self._since_drain += len(items)
        if self._since_drain >= _EVENTS_BETWEEN_DRAINS:
            self._drain()

    def rows(self) -> dict[str, Any]:
        """Give the rows as they are now, by key; they are the fold's own, for reading."""
        self._drain()
        return self._rows

    def ratings(self, ladder: str, system: str) -> list[tuple[str, float, int]]:
        """Give (player, rating, games) of everyone rated in a ladder's system."""
        return self._fold.live.ratings(ladder, system)

    def _look_for_marker(self, event: Event, offset: int) -> None:
        if isinstance(event, CorrectionsApplied) and event.app_id == self._app_id:
            raise CorrectionsFound(offset)

    def _drain(self) -> None:
        self._since_drain = 0
        if not self._keep_rows:
            self._fold.drop_changes()
            return
        rows = self._rows
        for key, row in self._fold.changed_rows():
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row


def same_row(row: Any, value: bytes) -> bool:
    """Say whether a row is what a changelog has: equal bytes, or else equal JSON."""
    encoded = orjson.dumps(row)
    return encoded == value or bool(orjson.loads(encoded) == orjson.loads(value))
