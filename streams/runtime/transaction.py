"""What one Kafka transaction of a partition writes, and the producer that writes it.

A worker's partition and a rebuild both write through here: events published, records rejected, rows, the
watermark and the offset of the input are on the broker together, or not at all.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.events import GAME_REJECTED, Event, Rejected
from streams.core.manifest import Manifest
from streams.core.outcomes import OutcomeCounts
from streams.core.publications import Publication
from streams.runtime.batches import Batches, Target, partition_of
from streams.runtime.changelog import MANIFEST, WATERMARK, encode_manifest, encode_row, encode_watermark
from streams.runtime.folds import kind_of
from streams.runtime.homes import Homes, forwarded_copy
from streams.runtime.layout import compare_partitions
from streams.runtime.rejections import rejected_record
from streams.runtime.settings import Settings
from streams.wire.encode import MAX_PUBLISHED_BYTES, Headers, Record, encode_published, trace_headers
from streams.wire.timestamps import published_timestamp

# An open transaction of a worker that died holds up every read_committed reader until the next owner's
# producer starts, at most this long. A transaction of 30,000 games takes well under two seconds.
TRANSACTION_TIMEOUT_MS = 20_000
# A transaction's end is marked in every partition it wrote to; the marker takes an offset.
TXN_MARKER_OFFSETS = 1
_MAX_REQUEST_BYTES = 8 * 1024 * 1024
# Right after a commit the broker may answer CONCURRENT_TRANSACTIONS for a moment; the default of 100 ms
# would make every transaction wait that long.
_RETRY_BACKOFF_MS = 5


# Key, value and headers of any record.
EncodedRecord = tuple[bytes | None, bytes | None, Headers]


class PartitionWriter:
    """The one writer of a partition: `start` fences a former one and aborts what that has left open."""

    def __init__(self, settings: Settings, partition: int, timeout_ms: int = TRANSACTION_TIMEOUT_MS) -> None:
        self._settings = settings
        self._partition = partition
        self._timeout_ms = timeout_ms
        self._producer: AIOKafkaProducer | None = None
        # Of the topics that records lie in by their key, with their full names.
        self._by_key: dict[str, int] = {}
        # By the number of partitions that the input has, once the writer was started.
        self.homes = Homes(settings.partitions)

    async def start(self) -> None:
        """Start the producer whose transactional id names the partition.

        Raises KafkaError when it cannot be started, PartitionsChangedError when the input has another number
        of partitions than the deployment began with.
        """
        producer = AIOKafkaProducer(
            **self._settings.connection.client_arguments(),
            transactional_id=self._settings.transactional_id(self._partition),
            transaction_timeout_ms=self._timeout_ms,
            acks="all",
            max_batch_size=MAX_PUBLISHED_BYTES,
            max_request_size=_MAX_REQUEST_BYTES,
            retry_backoff_ms=_RETRY_BACKOFF_MS,
        )
        await producer.start()
        self._producer = producer
        for topic in map(self._settings.topic, self._settings.fold.by_key):
            self._by_key[topic] = len(await producer.partitions_for(topic))
        await self._find_homes(producer)

    async def stop(self) -> None:
        """Stop the producer, if it was started."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    def new_transaction(self) -> "PartitionTransaction":
        """Return an empty transaction. Raises RuntimeError while the producer is not started."""
        if self._producer is None:
            raise RuntimeError(f"partition {self._partition} is not open")
        return PartitionTransaction(self._producer, self._settings, self._partition, self._by_key, self.homes)

    async def _find_homes(self, producer: AIOKafkaProducer) -> None:
        partitions = len(await producer.partitions_for(self._settings.input_topic))
        began_with = len(await producer.partitions_for(self._settings.changelog_topic))
        compare_partitions(self._settings, began_with, partitions)
        if partitions != self.homes.partitions:
            self.homes = Homes(partitions)


class PartitionTransaction:
    """A Sink that gathers what a transaction is to write; nothing is sent before `send`.

        async with transaction.open():
            await transaction.send()
            await transaction.send_offset(next_offset)

    What follows from a record has the record's timestamp, in milliseconds since 1970 (see
    `published_timestamp`), and goes to the partition of the same number; where records lie by their key, such
    as in rating-changed, to that of the player.
    """

    def __init__(
        self,
        producer: AIOKafkaProducer,
        settings: Settings,
        partition: int,
        by_key: Mapping[str, int],
        homes: Homes,
    ) -> None:
        self._producer = producer
        self._batches = Batches(producer)
        self._settings = settings
        self._source = settings.source.encode()
        self._input = TopicPartition(settings.input_topic, partition)
        self._changelog = TopicPartition(settings.changelog_topic, partition)
        # By their names without prefix: full name, and number of partitions where the key decides.
        self._targets = {
            name: (settings.topic(name), by_key.get(settings.topic(name))) for name in settings.fold.outputs
        }
        self._homes = homes
        self._subject_of = kind_of(settings).subject.of

    def publish(self, item: ConsumerRecord, event: Event, published: Sequence[Publication]) -> None:  # noqa: ARG002 - a Sink's
        """Append what follows from a record."""
        self.append_published(
            published,
            f"{item.topic}/{item.partition}/{item.offset}",
            published_timestamp(item.timestamp),
            trace_headers(item.headers) if item.headers else None,
        )

    def reject(self, item: ConsumerRecord, rejected: Rejected) -> None:
        """Append a rejected record to game-rejected."""
        target = (self._settings.topic(GAME_REJECTED), self._input.partition)
        self._batches.append(target, published_timestamp(item.timestamp), *rejected_record(rejected, item))

    def forward(self, item: ConsumerRecord, event: Event) -> None:
        """Append a copy of a record to the home of its ladder, or player."""
        subject = self._subject_of(event)
        target = (self._input.topic, self._homes.of(subject))
        self._batches.append(target, item.timestamp, *forwarded_copy(item, subject))

    def append_published(
        self,
        publications: Iterable[Publication],
        position: str,
        timestamp: int,
        trace: Headers | None = None,
    ) -> None:
        """Append what a fold publishes; `position` is the topic/partition/offset of what it follows from."""
        for name, (key, value, headers) in encode_published(publications, self._source, position, trace):
            topic, partitions = self._targets[name]
            number = self._input.partition if partitions is None else partition_of(key, partitions)
            self._batches.append((topic, number), timestamp, key, value, headers)

    def append_to(self, target: Target, record: EncodedRecord, timestamp: int) -> None:
        """Append a record as it is to a partition of a topic, which has its full name."""
        self._batches.append(target, timestamp, *record)

    def append_input(self, record: Record, timestamp: int) -> None:
        """Append a record to the input itself, behind whatever is there by then."""
        self._batches.append(self._input, timestamp, *record)

    def append_rows(self, rows: Iterable[tuple[str, Any | None]], timestamp: int) -> None:
        """Append rows, each with its key; None deletes a row."""
        for key, row in rows:
            self._batches.append(self._changelog, timestamp, key.encode(), encode_row(row))

    def append_watermark(self, offset: int, counts: OutcomeCounts, timestamp: int) -> None:
        """Append the row that says that the rows are those of an offset, with these counts."""
        watermark = encode_watermark(offset, counts)
        self._batches.append(self._changelog, timestamp, WATERMARK, watermark)

    def append_manifest(self, manifest: Manifest, timestamp: int) -> None:
        """Append the row that says what the rows are made by."""
        self._batches.append(self._changelog, timestamp, MANIFEST, encode_manifest(manifest))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Begin the transaction; at the end of the block commit it, or abort it when an exception leaves it.

        Raises KafkaError when the producer was fenced, or the broker does not take it.
        """
        async with self._producer.transaction():
            yield

    async def send(self) -> dict[Target, int]:
        """Send what was appended since the last call, and return the last offset by topic and partition.

        Raises KafkaError when anything could not be written.
        """
        return await self._batches.send()

    async def send_offset(self, next_offset: int) -> None:
        """Commit the group's offset with the transaction: the first record that is not in it."""
        offsets = {self._input: next_offset}
        await self._producer.send_offsets_to_transaction(offsets, self._settings.app_id)
