"""Reading a partition from one offset up to another, and asking where it ends, outside any consumer group."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.runtime import header_names
from streams.runtime.connection import Connection

header_names.install()

_MAX_FETCH_BYTES = 8 * 1024 * 1024
# How long a poll waits for nothing: a changelog ends in a transaction marker, which brings no record.
_POLL_MS = 50
# Much longer than a commit takes to arrive everywhere.
_SETTLING_SECONDS = 10.0


def new_reader(
    connection: Connection, *, auto_offset_reset: str = "earliest", **options: Any
) -> AIOKafkaConsumer:
    """Return a consumer, not started, that reads committed records of assigned partitions only."""
    return AIOKafkaConsumer(
        **connection.client_arguments(),
        isolation_level="read_committed",
        auto_offset_reset=auto_offset_reset,
        enable_auto_commit=False,
        max_partition_fetch_bytes=_MAX_FETCH_BYTES,
        fetch_max_bytes=4 * _MAX_FETCH_BYTES,
        **options,
    )


@asynccontextmanager
async def reading(connection: Connection) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a started reader, and stop it at the end of the block."""
    reader = new_reader(connection)
    try:
        await reader.start()
        yield reader
    finally:
        await reader.stop()


async def end_offset(reader: AIOKafkaConsumer, tp: TopicPartition) -> int:
    """Return the offset behind the last record that a reader may see, by default the last stable one."""
    ends = await reader.end_offsets([tp])
    return int(ends[tp])


async def high_watermarks(connection: Connection, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the offset behind the last record of each partition, committed or not.

    The last stable offset is lower as long as any producer's transaction is open.
    """
    reader = AIOKafkaConsumer(**connection.client_arguments(), enable_auto_commit=False)
    await reader.start()
    try:
        return dict(await reader.end_offsets(list(tps)))
    finally:
        await reader.stop()


async def await_settled(connection: Connection, topic: str, partitions: int) -> None:
    """Wait until what was committed by now can be read in all partitions of a topic.

    A commit is answered some milliseconds before its markers are in the log. Transactions that are open for
    longer than `_SETTLING_SECONDS` are not waited for.
    """
    tps = [TopicPartition(topic, number) for number in range(partitions)]
    ends = await high_watermarks(connection, tps)
    deadline = time.monotonic() + _SETTLING_SECONDS
    async with reading(connection) as reader:
        while time.monotonic() < deadline:
            readable = await reader.end_offsets(tps)
            if all(readable[tp] >= ends[tp] for tp in tps):
                return
            await asyncio.sleep(_POLL_MS / 1000)


async def read_up_to(
    reader: AIOKafkaConsumer, tp: TopicPartition, start: int | None, end: int
) -> AsyncIterator[list[ConsumerRecord]]:
    """Yield the records of a partition from `start` (None: the beginning) up to, not with, offset `end`.

    Ends too when the rest are transaction markers. A reader is for one partition: aiokafka's fetcher may
    never end when the assignment changes while it waits.
    """
    if reader.assignment() != {tp}:
        reader.assign([tp])
    if start is None:
        await reader.seek_to_beginning(tp)
    else:
        reader.seek(tp, start)
    while await reader.position(tp) < end:
        for records in (await reader.getmany(tp, timeout_ms=_POLL_MS)).values():
            wanted = (
                records if records[-1].offset < end else [record for record in records if record.offset < end]
            )
            if wanted:
                yield wanted


async def first_offset(reader: AIOKafkaConsumer, tp: TopicPartition, start: int) -> int | None:
    """Return the offset of the first committed record from `start` on; None when there is none yet.

    Only the broker knows: offsets jump over transaction markers, aborted and compacted records.
    """
    first = await first_record(reader, tp, start)
    return None if first is None else int(first.offset)


async def first_record(reader: AIOKafkaConsumer, tp: TopicPartition, start: int) -> ConsumerRecord | None:
    """Return the first committed record from `start` on; None when there is none yet."""
    end = await end_offset(reader, tp)
    if start < end:
        async for records in read_up_to(reader, tp, start, end):
            return records[0]
    return None


class LogProbe:
    """Asks the broker what lies in one partition; its reader is started for the first question."""

    def __init__(self, connection: Connection, tp: TopicPartition) -> None:
        self.tp = tp
        self._connection = connection
        self._reader: AIOKafkaConsumer | None = None

    async def end_offset(self) -> int:
        """Return the last stable offset."""
        return await end_offset(await self._started_reader(), self.tp)

    async def first_offset(self, start: int) -> int | None:
        """Return the offset of the first committed record from `start` on; None when there is none yet."""
        return await first_offset(await self._started_reader(), self.tp, start)

    async def close(self) -> None:
        """Stop the reader; another question starts a new one."""
        reader, self._reader = self._reader, None
        if reader is not None:
            await reader.stop()

    async def _started_reader(self) -> AIOKafkaConsumer:
        if self._reader is None:
            self._reader = new_reader(self._connection)
            await self._reader.start()
        return self._reader
