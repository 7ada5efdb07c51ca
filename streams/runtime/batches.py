"""Record batches of one transaction, gathered by topic and partition."""

from functools import lru_cache

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import murmur2
from aiokafka.producer.message_accumulator import BatchBuilder

# Names and addresses of players seen lately; murmur2 is pure Python and costs more than this look-up.
_CACHED_KEYS = 200_000


@lru_cache(maxsize=_CACHED_KEYS)
def partition_of(key: bytes, partitions: int) -> int:
    """Give the partition of a key, as Java clients choose it."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)


class Batches:
    """Builds record batches and sends them in the producer's open transaction.

    `producer.create_batch` and `send_batch` are far cheaper than a `send` for every record.
    """

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer
        self._open: dict[tuple[str, int], BatchBuilder] = {}
        self._full: list[tuple[str, int, BatchBuilder]] = []

    def append(
        self,
        target: tuple[str, int],
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]] | None = None,
    ) -> None:
        """Add one record for a (topic, partition); `timestamp` in milliseconds."""
        builder = self._open.get(target)
        if builder is None:
            builder = self._open[target] = self._producer.create_batch()
        if builder.append(timestamp=timestamp, key=key, value=value, headers=headers or []) is None:
            self._full.append((*target, builder))
            # A new batch takes its first record whatever its size; the broker has the last word on it.
            builder = self._open[target] = self._producer.create_batch()
            builder.append(timestamp=timestamp, key=key, value=value, headers=headers or [])

    async def send(self) -> dict[tuple[str, int], int]:
        """Send everything, wait until it is written, and give the last offset by (topic, partition).

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
            pending.append(
                (
                    topic,
                    partition,
                    records,
                    await self._producer.send_batch(builder, topic, partition=partition),
                )
            )
        last: dict[tuple[str, int], int] = {}
        for topic, partition, records, future in pending:
            written = await future
            last[topic, partition] = written.offset + records - 1
        return last
