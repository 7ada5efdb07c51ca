"""Where a ladder's records belong, and what becomes of one that lies elsewhere.

A ladder has one home: murmur2 of its name modulo the partitions of the input topic. So has a player, in the
topic of what happens to players: what has a home there is called the record's subject. A worker that reads a
record away from there forwards it: the copy at home is what is rated. So every producer is right, whatever
its keys and its partitioner.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from aiokafka.structs import ConsumerRecord

from streams.core.events import Event, Rejected
from streams.core.ladder import Folded
from streams.core.outcomes import FORWARDED, REJECTED
from streams.processor import Decoded, Fold
from streams.runtime.batches import partition_of
from streams.wire.encode import MAX_PUBLISHED_BYTES, Headers, record_size

# Of a forwarded copy: topic/partition/offset of the record that it is a copy of.
FORWARDED_HEADER = "ladderlog_forwarded"
# Names are the producers' to choose, right ones and wrong ones: not all of them are kept.
_KEPT_SUBJECTS = 10_000

_FORWARDED: Folded = (FORWARDED, (), None)


class Subject(NamedTuple):
    """What has a home: what it is called, and which one an event is about."""

    noun: str
    of: Callable[[Any], str]


LADDER = Subject("ladder", attrgetter("ladder"))


class Homes:
    """Which partition is the home of each subject, in a topic of so many."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self._known: dict[str, int] = {}

    def of(self, subject: str) -> int:
        """Return the partition that is a subject's home."""
        home = self._known.get(subject)
        if home is None:
            home = partition_of(subject.encode(), self.partitions)
            if len(self._known) < _KEPT_SUBJECTS:
                self._known[subject] = home
        return home


@dataclass(frozen=True)
class Place:
    """A partition of a topic, and so the home of some subjects."""

    homes: Homes
    partition: int
    subject: Subject = LADDER

    def is_home(self, event: Decoded) -> bool:
        """Say whether a record with this event is folded here: what is no valid event lies nowhere else."""
        return isinstance(event, Rejected) or self.homes.of(self.subject.of(event)) == self.partition

    def judge(self, record: ConsumerRecord, event: Decoded) -> Folded | None:
        """Return what becomes of a record by where it lies; None when it is at home, and to be folded."""
        if isinstance(event, Rejected) or self.is_home(event):
            return None
        rejected = _misplaced(record, event, self) or _too_large(record, event, self.subject)
        return _FORWARDED if rejected is None else (REJECTED, (), rejected)


def at_home(fold: Fold[ConsumerRecord], place: Place) -> Fold[ConsumerRecord]:
    """Return a fold that is given only what is at home in a place; the rest is forwarded or rejected.

    All folds over a partition go through here: a worker's, a rebuild's, a replay's and an audit's.
    """
    subjects_here: set[str] = set()
    subject_of = place.subject.of

    def fold_at_home(records: Sequence[ConsumerRecord], events: Sequence[Decoded]) -> Sequence[Folded]:
        # Not isinstance: this is done for every record.
        subjects = {subject_of(event) for event in events if type(event) is not Rejected}
        if subjects <= subjects_here:
            return fold(records, events)
        if all(place.homes.of(subject) == place.partition for subject in subjects):
            if len(subjects_here) < _KEPT_SUBJECTS:
                subjects_here.update(subjects)
            return fold(records, events)
        return _fold_mixed(fold, place, records, events)

    return fold_at_home


def forwarded_from(record: ConsumerRecord) -> bytes | None:
    """Return the topic/partition/offset that a record is a copy of; None when it says that it is none."""
    return next((content or b"" for name, content in record.headers if name == FORWARDED_HEADER), None)


def forwarded_copy(record: ConsumerRecord, subject: str) -> tuple[bytes, bytes | None, Headers]:
    """Return key, value and headers of the copy at home; its timestamp is the record's."""
    position = f"{record.topic}/{record.partition}/{record.offset}"
    return subject.encode(), record.value, [*record.headers, (FORWARDED_HEADER, position.encode())]


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


def _misplaced(record: ConsumerRecord, event: Event, place: Place) -> Rejected | None:
    """Return what is wrong with a copy that is away from home: forwarded again, it might do so for ever."""
    position = forwarded_from(record)
    if position is None:
        return None
    noun, subject = place.subject.noun, place.subject.of(event)
    return Rejected(
        "misplaced",
        f"{FORWARDED_HEADER}: a copy of {position.decode(errors='backslashreplace')!r} lies in partition "
        f"{record.partition}, but the home of {noun} {subject!r} is partition {place.homes.of(subject)}",
    )


def _too_large(record: ConsumerRecord, event: Event, subject: Subject) -> Rejected | None:
    """Return what is wrong with a record whose copy the topic may refuse: packed, it came in all the same.

    The bound is the same whatever the topic is set to, as for all that is written.
    """
    size = record_size(*forwarded_copy(record, subject.of(event)))
    if size <= MAX_PUBLISHED_BYTES:
        return None
    return Rejected(
        "too-large",
        f"the record has {size} bytes unpacked, too many to be forwarded to the home of its {subject.noun}; "
        f"send it with the key {subject.of(event)!r} by a murmur2 partitioner, or with smaller headers",
    )
