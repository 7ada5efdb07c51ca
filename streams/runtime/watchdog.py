"""Finds a partition that is behind and does not move, whatever the worker believes.

Faust's fetcher can die on a rebalance and leave a worker that looks alive; a fetch can get lost in one. Only
the broker can say whether there is something to do.
"""

import logging
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from streams.runtime.connection import Connection
from streams.runtime.partition import Partition
from streams.runtime.reader import end_offset, first_offset, reading

log = logging.getLogger(__name__)

# Seconds between two looks.
CHECK_INTERVAL = 5.0
# Seconds. A transaction of 30,000 games takes well under two seconds, a rebalance a few.
STUCK_AFTER = 20.0


class Watchdog:
    """Looks at the owned partitions now and then; `reader` is for it alone, and is assigned nothing."""

    def __init__(self, reader: AIOKafkaConsumer, connection: Connection) -> None:
        self._reader = reader
        self._connection = connection
        self._offsets: dict[Partition, int] = {}
        self._behind_since: dict[Partition, float] = {}
        # From an offset up to the end there are only transaction markers.
        self._empty: dict[Partition, tuple[int, int]] = {}

    async def stuck(self, partitions: Iterable[Partition], now: float) -> Partition | None:
        """Return a partition that has not moved for `STUCK_AFTER` seconds although there are records for it.

        `now` is in seconds, of a clock that never goes back. The time counts from when the partition was
        first seen behind: one without games for an hour is not stuck at the moment one arrives.
        """
        offsets = {partition: partition.next_offset for partition in partitions if partition.is_open}
        unmoved = [
            partition for partition, offset in offsets.items() if self._offsets.get(partition) == offset
        ]
        self._offsets = offsets
        self._behind_since = {
            partition: self._behind_since.get(partition, now)
            for partition in unmoved
            if await self._is_behind(partition)
        }
        return next(
            (partition for partition, since in self._behind_since.items() if now - since >= STUCK_AFTER), None
        )

    async def _is_behind(self, partition: Partition) -> bool:
        offset = partition.next_offset
        try:
            end = await end_offset(self._reader, partition.tp)
            if offset >= end or self._empty.get(partition) == (offset, end):
                return False
            async with reading(self._connection) as reader:
                first = await first_offset(reader, partition.tp, offset)
        except (KafkaError, TimeoutError) as error:
            log.warning("the broker does not say what %s has from %d on: %s", partition.tp, offset, error)
            return False
        if first is None:
            self._empty[partition] = (offset, end)
            return False
        return partition.next_offset == offset
