"""Where a ladder's records belong, and what becomes of one that lies elsewhere.

A ladder has one home: murmur2 of its name modulo the partitions of the input topic. A worker that reads a
record away from there forwards it: the copy at home is what is rated. So every producer is right, whatever
its keys and its partitioner.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from aiokafka.structs import ConsumerRecord

from streams.core.events import Event, Rejected
from streams.core.ladder import Folded
from streams.core.outcomes import FORWARDED, REJECTED
from streams.processor import Decoded, Fold
from streams.runtime.batches import partition_of
from streams.wire.encode import MAX_PUBLISHED_BYTES, Headers, record_size

# Of a forwarded copy: topic/partition/offset of the record that it is a copy of.
FORWARDED_HEADER = "ladderlog_forwarded"
# Names of ladders are the producers' to choose, right ones and wrong ones: not all of them are kept.
_KEPT_LADDERS = 10_000

_FORWARDED: Folded = (FORWARDED, (), None)


class Homes:
    """Which partition is the home of each ladder, in a topic of so many."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self._known: dict[str, int] = {}

    def of(self, ladder: str) -> int:
        """Return the partition that is a ladder's home."""
        home = self._known.get(ladder)
        if home is None:
            home = partition_of(ladder.encode(), self.partitions)
            if len(self._known) < _KEPT_LADDERS:
                self._known[ladder] = home
        return home


@dataclass(frozen=True)
class Place:
    """A partition of a topic, and so the home of some ladders."""

    homes: Homes
    partition: int

    def is_home(self, event: Decoded) -> bool:
        """Say whether a record with this event is folded here: what is no valid event lies nowhere else."""
        return isinstance(event, Rejected) or self.homes.of(event.ladder) == self.partition

    def judge(self, record: ConsumerRecord, event: Decoded) -> Folded | None:
        """Return what becomes of a record by where it lies; None when it is at home, and to be folded."""
        if isinstance(event, Rejected) or self.homes.of(event.ladder) == self.partition:
            return None
        rejected = _misplaced(record, event, self.homes) or _too_large(record, event)
        return _FORWARDED if rejected is None else (REJECTED, (), rejected)


def at_home(fold: Fold[ConsumerRecord], place: Place) -> Fold[ConsumerRecord]:
    """Return a fold that is given only what is at home in a place; the rest is forwarded or rejected.

    All folds over a partition go through here: a worker's, a rebuild's, a replay's and an audit's.
    """
    ladders_here: set[str] = set()

    def fold_at_home(records: Sequence[ConsumerRecord], events: Sequence[Decoded]) -> Sequence[Folded]:
        # Not isinstance: this is done for every record.
        ladders = {event.ladder for event in events if type(event) is not Rejected}  # type: ignore[union-attr]
        if ladders <= ladders_here:
            return fold(records, events)
        if all(place.homes.of(ladder) == place.partition for ladder in ladders):
            if len(ladders_here) < _KEPT_LADDERS:
                ladders_here.update(ladders)
            return fold(records, events)
        return _fold_mixed(fold, place, records, events)

    return fold_at_home


def forwarded_from(record: ConsumerRecord) -> bytes | None:
    """Return the topic/partition/offset that a record is a copy of; None when it says that it is none."""
    return next((content or b"" for name, content in record.headers if name == FORWARDED_HEADER), None)


def forwarded_copy(record: ConsumerRecord, ladder: str) -> tuple[bytes, bytes | None, Headers]:
    """Return key, value and headers of the copy at home; its timestamp is the record's."""
    position = f"{record.topic}/{record.partition}/{record.offset}"
    return ladder.encode(), record.value, [*record.headers, (FORWARDED_HEADER, position.encode())]


def _fold_mixed(
    fold: Fold[ConsumerRecord], place: Place, records: Sequence[ConsumerRecord], events: Sequence[Decoded]
) -> Sequence[Folded]:
    judged = [place.judge(record, event) for record, event in zip(records, events, strict=True)]
    here = [position for position, folded in enumerate(judged) if folded is None]
    if not here:
        return [folded for folded in judged if folded is not None]
    folded_here = iter(
        fold([records[position] for position in here], [events[position] for position in here])
    )
    return [next(folded_here) if folded is None else folded for folded in judged]


def _misplaced(record: ConsumerRecord, event: Event, homes: Homes) -> Rejected | None:
    """Return what is wrong with a copy that is away from home: forwarded again, it might do so for ever."""
    position = forwarded_from(record)
    if position is None:
        return None
    return Rejected(
        "misplaced",
        f"{FORWARDED_HEADER}: a copy of {position.decode(errors='backslashreplace')!r} lies in partition "
        f"{record.partition}, but the home of ladder {event.ladder!r} is partition {homes.of(event.ladder)}",
    )


def _too_large(record: ConsumerRecord, event: Event) -> Rejected | None:
    """Return what is wrong with a record whose copy the topic may refuse: packed, it came in all the same.

    The bound is the same whatever the topic is set to, as for all that is written.
    """
    size = record_size(*forwarded_copy(record, event.ladder))
    if size <= MAX_PUBLISHED_BYTES:
        return None
    return Rejected(
        "too-large",
        f"the record has {size} bytes unpacked, too many to be forwarded to the home of its ladder; send it "
        f"with the key {event.ladder!r} by a murmur2 partitioner, or with smaller headers",
    )
