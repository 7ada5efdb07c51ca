"""What a partition's owner publishes, record by record, and how to tell a record that was published."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from streams.core.events import GAME_REJECTED, RATING_CHANGED, Event, Rejected
from streams.core.publications import Publication
from streams.replay.matching import Marks
from streams.runtime.batches import partition_of
from streams.runtime.rejections import rejected_record
from streams.runtime.settings import Settings
from streams.wire.encode import ERROR_HEADER, Headers, encode_published

# Of records in a topic with message.timestamp.type=LogAppendTime the timestamp is the broker's.
_NO_TIMESTAMP = -1
_PRODUCERS_OWN = 0

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
    """Gives each record as the owner of its partition publishes it, with its input's offset."""

    def __init__(
        self, settings: Settings, changed_partitions: int, give: Callable[[Published, int], None]
    ) -> None:
        self._settings = settings
        self._source = settings.source.encode()
        self._changed = settings.topic(RATING_CHANGED)
        self._changed_partitions = changed_partitions
        self._give = give

    def publish(self, item: Any, event: Event, published: Sequence[Publication]) -> None:  # noqa: ARG002 - a Sink
        """Give what one input record publishes."""
        position = f"{item.topic}/{item.partition}/{item.offset}"
        for name, (key, value, headers) in encode_published(published, self._source, position):
            topic, partition = self._settings.topic(name), item.partition
            if topic == self._changed:
                partition = partition_of(key, self._changed_partitions)
            self._give(Published(topic, partition, key, value, headers, item.timestamp), item.offset)

    def reject(self, item: Any, rejected: Rejected) -> None:
        """Return one rejection."""
        topic = self._settings.topic(GAME_REJECTED)
        record = Published(topic, item.partition, *rejected_record(rejected, item), item.timestamp)
        self._give(record, item.offset)


def header(headers: Iterable[tuple[str, bytes]], name: str) -> bytes:
    """Return the last header of a name; empty when there is none."""
    last = b""
    for key, content in headers:
        if key == name:
            last = content or b""
    return last


def marks(record: Any, *, rejected: bool) -> Marks:
    """Return what tells a record, expected or found: the position of a rejected input, else its `ce_id`."""
    headers = tuple(record.headers)
    name = f"{ERROR_HEADER}offset" if rejected else "ce_id"
    is_producers = getattr(record, "timestamp_type", _PRODUCERS_OWN) == _PRODUCERS_OWN
    return Marks(
        hash(header(headers, name)),
        hash((record.key, record.value, headers)),
        record.timestamp if is_producers else _NO_TIMESTAMP,
    )


def ladder_of(record: Any) -> bytes:
    """Return the ladder of a rating-changed as its id has it, escaped."""
    return header(record.headers, "ce_id").partition(b"/")[0]


def shown(record: Any) -> str:
    """Show a record in a line: key, value and what is not the same in all of them."""
    names = [f"{ERROR_HEADER}{name}" for name in ("reason", "topic", "partition", "offset")]
    headers = {
        name.removeprefix(ERROR_HEADER): (text or b"").decode(errors="backslashreplace")
        for name, text in record.headers
        if name in ("ce_id", *names)
    }
    value = None if record.value is None else record.value.decode(errors="backslashreplace")
    return f"key {record.key!r} timestamp {record.timestamp} {headers} {value}"
