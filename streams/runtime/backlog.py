"""How far a worker's partitions are behind, as the broker says: looked at every few seconds, for who asks."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from streams.runtime.clock import Clock
from streams.runtime.connection import Connection
from streams.runtime.metrics import NO_BACKLOG, Backlog
from streams.runtime.partition import Partition
from streams.runtime.reader import first_record, reading

log = logging.getLogger(__name__)

# Seconds between two looks; one costs the broker two requests.
LOOK_INTERVAL = 2.0
# So many offsets are more than the markers of transactions that have just ended.
_MANY = 100
# Seconds. A broker that takes longer to say where its partitions end is not there.
_PATIENCE = 5.0


class BacklogProbe:
    """Looks how far partitions are behind; `reader` is for it alone, and is assigned nothing.

    A record's age is by its timestamp, the broker's or its producer's: with producers whose clocks are wrong,
    or who send timestamps of the past, seconds are wrong, and records are right.
    """

    def __init__(self, reader: AIOKafkaConsumer, connection: Connection, clock: Clock) -> None:
        self._reader = reader
        self._connection = connection
        self._clock = clock
        self._offsets: dict[Partition, int] = {}
        self.backlogs: Mapping[int, Backlog] = {}
        # When the broker last answered, and since when each partition that is behind stands still; in seconds
        # of a clock that never goes back.
        self.answered: float | None = None
        self.standing_since: dict[int, float] = {}

    async def look(self, partitions: Sequence[Partition], now: float) -> None:
        """Look at the partitions that are owned and loaded; without an answer nothing is known of any."""
        loaded = [partition for partition in partitions if partition.is_open]
        offsets = {partition: partition.next_offset for partition in loaded}
        try:
            async with asyncio.timeout(_PATIENCE):
                backlogs = await self._backlogs(offsets)
        except (KafkaError, TimeoutError) as error:
            log.debug("the broker does not say how far partitions are behind: %r", error)
            self.backlogs = {}
            return
        self.standing_since = {
            partition.number: self.standing_since.get(partition.number, now)
            for partition, offset in offsets.items()
            if backlogs[partition.number].records and self._offsets.get(partition) == offset
        }
        self._offsets = offsets
        self.backlogs = backlogs
        self.answered = now

    async def _backlogs(self, offsets: Mapping[Partition, int]) -> dict[int, Backlog]:
        ends = await self._reader.end_offsets([partition.tp for partition in offsets]) if offsets else {}
        return {
            partition.number: await self._backlog(partition, offset, int(ends[partition.tp]))
            for partition, offset in offsets.items()
        }

    async def _backlog(self, partition: Partition, offset: int, end: int) -> Backlog:
        if offset >= end:
            return NO_BACKLOG
        if end - offset > _MANY and self._offsets.get(partition) != offset:
            # It moves: the first record that waits is no older than the last that was done.
            return Backlog(end - offset, self._age(partition.last_record))
        async with reading(self._connection) as reader:
            first = await first_record(reader, partition.tp, offset)
        # None: only transaction markers are left.
        return NO_BACKLOG if first is None else Backlog(end - first.offset, self._age(first))

    def _age(self, record: ConsumerRecord | None) -> float:
        if record is None:
            return 0.0
        return max(0.0, self._clock.now().timestamp() - float(record.timestamp) / 1000)
