"""Record batches of one transaction, gathered by topic and partition."""

from functools import lru_cache

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import murmur2
from aiokafka.producer.message_accumulator import BatchBuilder

# Names and addresses of players seen lately; murmur2 is pure Python and costs more than this look-up.
_CACHED_KEYS = 200_000

# A topic's full name, and a partition's number.
Target = tuple[str, int]


@lru_cache(maxsize=_CACHED_KEYS)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key, as Java clients choose it."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)


class Batches:
    """Builds record batches and sends them in the producer's open transaction.

    `producer.create_batch` and `send_batch` are far cheaper than a `send` for every record.
    """

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer
        self._open: dict[Target, BatchBuilder] = {}
        self._full: list[tuple[str, int, BatchBuilder]] = []

    def append(
        self,
        target: Target,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]] | None = None,
    ) -> None:
        """Add one record for a topic and partition; `timestamp` in milliseconds since 1970."""
        builder = self._open.get(target)
        if builder is None:
            builder = self._open[target] = self._producer.create_batch()
        if builder.append(timestamp=timestamp, key=key, value=value, headers=headers or []) is None:
            self._full.append((*target, builder))
            # A new batch takes its first record whatever its size; the broker has the last word on it.
            builder = self._open[target] = self._producer.create_batch()
            builder.append(timestamp=timestamp, key=key, value=value, headers=headers or [])

    async def send(self) -> dict[Target, int]:
        """Send everything, wait until it is written, and return the last offset by topic and partition.

        Raises KafkaError when anything could not be written.
        """
        batches = [
            *self._full,
            *((topic, partition, builder) for (topic, partition), builder in self._open.items()),
        ]
        self._full, self._open = [], {}
        pending = []
        for topic, partition, builder in batches:
            records = builder.record_count()
            future = await self._producer.send_batch(builder, topic, partition=partition)
            pending.append((topic, partition, records, future))
        last_offsets: dict[Target, int] = {}
        for topic, partition, records, future in pending:
            written = await future
            last_offsets[topic, partition] = written.offset + records - 1
        return last_offsets
