"""How far a deployment's workers have come in the input: asked by one partition's owner about all others."""

from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.runtime.reader import first_offset, new_reader, reading
from streams.runtime.settings import Settings


class GroupProgress:
    """Asks the broker what the group has done; its reader is started for the first question."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reader: AIOKafkaConsumer | None = None

    async def ends(self, partitions: int, without: int) -> dict[TopicPartition, int]:
        """Return the last stable offset of every partition of the input but one."""
        reader = await self._started_reader()
        topic = self._settings.input_topic
        tps = [TopicPartition(topic, number) for number in range(partitions) if number != without]
        return dict(await reader.end_offsets(tps)) if tps else {}

    async def behind(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the partitions in which records below these offsets are still to be done, and from where.

        Done is what a transaction of the group has committed, so that what it forwarded lies at its home.
        """
        reader = await self._started_reader()
        behind: dict[TopicPartition, int] = {}
        for tp, end in ends.items():
            committed = await reader.committed(tp) or 0
            if committed >= end:
                continue
            first = await self._first_offset(tp, committed)
            if first is not None and first < end:
                behind[tp] = first
        return behind

    async def close(self) -> None:
        """Stop the reader; another question starts a new one."""
        reader, self._reader = self._reader, None
        if reader is not None:
            await reader.stop()

    async def _first_offset(self, tp: TopicPartition, start: int) -> int | None:
        """Return the offset of the first record from `start` on; the rest may be transaction markers."""
        async with reading(self._settings.connection) as reader:
            return await first_offset(reader, tp, start)

    async def _started_reader(self) -> AIOKafkaConsumer:
        if self._reader is None:
            reader = new_reader(self._settings.connection, group_id=self._settings.app_id)
            await reader.start()
            self._reader = reader
        return self._reader
