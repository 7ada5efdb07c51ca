"""What a partition's owner publishes, record by record, and how to tell a record that was published."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from streams.core.events import GAME_REJECTED, Event, Rejected
from streams.core.publications import Publication
from streams.replay.matching import Marks
from streams.runtime.batches import partition_of
from streams.runtime.folds import kind_of
from streams.runtime.homes import FORWARDED_HEADER, Homes, forwarded_copy, forwarded_from
from streams.runtime.rejections import rejected_record
from streams.runtime.settings import Settings
from streams.wire.encode import ERROR_HEADER, TRACE_HEADERS, Headers, encode_published, trace_headers
from streams.wire.timestamps import published_timestamp

# Of records in a topic with message.timestamp.type=LogAppendTime the timestamp is the broker's.
_NO_TIMESTAMP = -1
_PRODUCERS_OWN = 0

REJECTED_FROM = f"{ERROR_HEADER}offset"

Target = tuple[str, int]


class Published(NamedTuple):
    """A record as it is published; `topic` is the full name."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


class PublishedSink:
    """Gives each record as the owner of its partition publishes it, with its input's offset.

    `by_key` has the number of partitions of the topics in which the key decides, by full name.
    """

    def __init__(
        self, settings: Settings, by_key: Mapping[str, int], give: Callable[[Published, int], None]
    ) -> None:
        self._settings = settings
        self._source = settings.source.encode()
        self._by_key = by_key
        self._give = give
        self._homes = Homes(settings.partitions)
        self._subject_of = kind_of(settings).subject.of

    def publish(self, item: Any, event: Event, published: Sequence[Publication]) -> None:  # noqa: ARG002 - a Sink
        """Give what one input record publishes."""
        timestamp = published_timestamp(item.timestamp)
        position = f"{item.topic}/{item.partition}/{item.offset}"
        trace = trace_headers(item.headers)
        for name, (key, value, headers) in encode_published(published, self._source, position, trace):
            topic = self._settings.topic(name)
            partitions = self._by_key.get(topic)
            partition = item.partition if partitions is None else partition_of(key, partitions)
            self._give(Published(topic, partition, key, value, headers, timestamp), item.offset)

    def reject(self, item: Any, rejected: Rejected) -> None:
        """Return one rejection."""
        topic = self._settings.topic(GAME_REJECTED)
        timestamp = published_timestamp(item.timestamp)
        record = Published(topic, item.partition, *rejected_record(rejected, item), timestamp)
        self._give(record, item.offset)

    def forward(self, item: Any, event: Event) -> None:
        """Give the copy at home of a record that lies elsewhere."""
        subject = self._subject_of(event)
        copy = forwarded_copy(item, subject)
        self._give(Published(item.topic, self._homes.of(subject), *copy, item.timestamp), item.offset)


def header(headers: Iterable[tuple[str, bytes]], name: str) -> bytes:
    """Return the last header of a name; empty when there is none."""
    last = b""
    for key, content in headers:
        if key == name:
            last = content or b""
    return last


def marks(record: Any, name: str = "ce_id") -> Marks:
    """Return what tells a record, expected or found: `name` is the header that says what it follows from.

    That is the position of a rejected input (`REJECTED_FROM`) or of a forwarded one; of others the `ce_id`.
    """
    # A trace is of a record's way, not of what it says.
    headers = tuple(header for header in record.headers if header[0] not in TRACE_HEADERS)
    is_producers = getattr(record, "timestamp_type", _PRODUCERS_OWN) == _PRODUCERS_OWN
    return Marks(
        hash(header(headers, name)),
        hash((record.key, record.value, headers)),
        record.timestamp if is_producers else _NO_TIMESTAMP,
    )


def source_of_copy(record: Any, homes: Homes) -> int | None:
    """Return the partition of the input that a record of it was forwarded from; None when it was not.

    Elsewhere than at home no copy is one.
    """
    topic, _, position = (forwarded_from(record) or b"").partition(b"/")
    number = position.partition(b"/")[0]
    if topic != record.topic.encode() or not number.isdigit():
        return None
    home = homes.of((record.key or b"").decode(errors="replace"))
    return int(number) if home == record.partition else None


def ladder_of(record: Any) -> bytes:
    """Return the ladder of a rating-changed as its id has it, escaped."""
    return header(record.headers, "ce_id").partition(b"/")[0]


def shown(record: Any) -> str:
    """Show a record in a line: key, value and what is not the same in all of them."""
    names = [f"{ERROR_HEADER}{name}" for name in ("reason", "topic", "partition", "offset")]
    headers = {
        name.removeprefix(ERROR_HEADER): (text or b"").decode(errors="backslashreplace")
        for name, text in record.headers
        if name in ("ce_id", FORWARDED_HEADER, *names)
    }
    value = None if record.value is None else record.value.decode(errors="backslashreplace")
    return f"key {record.key!r} timestamp {record.timestamp} {headers} {value}"
