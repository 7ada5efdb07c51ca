"""A deployment's topics for the benchmark, and when the broker took what was written to them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import for_code
from processes import BenchError, Process

from streams.runtime.changelog import WATERMARK, decode_watermark
from streams.runtime.reader import end_offset, new_reader, read_up_to
from streams.runtime.settings import Settings
from streams.runtime.topics import topic_specs

# The broker's clock, at the moment it appended: nobody has to watch while the measurement runs.
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
_TOPIC_EXISTS = 36
_POLL = 0.05


async def create_topics(settings: Settings) -> None:
    """Create a deployment's topics, the changelog with the broker's append time in its records."""
    for spec in topic_specs(settings):
        config = spec.config | (APPEND_TIME if spec.name == settings.changelog_topic else {})
        await create_topic(settings, spec.name, config)


async def create_topic(settings: Settings, name: str, config: dict[str, str]) -> None:
    """Create one topic with the deployment's number of partitions, unless it is there."""
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap_servers)
    await admin.start()
    try:
        topic = NewTopic(name, settings.partitions, settings.replication, topic_configs=config)
        response = await admin.create_topics([topic])
    finally:
        await admin.close()
    for _, code, *message in response.topic_errors:
        if code not in (0, _TOPIC_EXISTS):
            raise for_code(code)(f"topic {name}: {' '.join(map(str, message))}")


async def wait_committed(settings: Settings, offset: int, process: Process, patience: float) -> None:
    """Wait until the group has committed `offset` on partition 0 of the input."""
    tp = TopicPartition(settings.input_topic, 0)
    async with reader_of(settings, group_id=settings.app_id) as reader:
        await _until(lambda: _committed(reader, tp), offset, process, patience)


async def wait_written(
    settings: Settings, topic: str, records: int, process: Process, patience: float
) -> None:
    """Wait until partition 0 of a topic has so many records."""
    tp = TopicPartition(topic, 0)
    async with reader_of(settings) as reader:
        await _until(lambda: end_offset(reader, tp), records, process, patience)


async def watermarks(settings: Settings) -> list[tuple[float, int]]:
    """Give when the broker took each commit's watermark row, in seconds, and the offset in it."""
    tp = TopicPartition(settings.changelog_topic, 0)
    found = []
    async with reader_of(settings) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            found += [
                (record.timestamp / 1000, decode_watermark(record.value)[0])
                for record in records
                if record.key == WATERMARK
            ]
    return found


async def append_times(settings: Settings, topic: str, records: int) -> tuple[float, float]:
    """Give when the broker took the first and the `records`th record of partition 0, in seconds."""
    tp = TopicPartition(topic, 0)
    times: list[int] = []
    async with reader_of(settings) as reader:
        async for fetched in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            times += [record.timestamp for record in fetched]
    return times[0] / 1000, times[records - 1] / 1000


@asynccontextmanager
async def reader_of(settings: Settings, **options: Any) -> AsyncIterator[AIOKafkaConsumer]:
    """Run a read-committed consumer as long as the block."""
    reader = new_reader(settings.connection, **options)
    await reader.start()
    try:
        yield reader
    finally:
        await reader.stop()


async def _committed(reader: AIOKafkaConsumer, tp: TopicPartition) -> int:
    return int(await reader.committed(tp) or 0)


async def _until(ask: Any, wanted: int, process: Process, patience: float) -> None:
    deadline = time.monotonic() + patience
    while (found := await ask()) < wanted:
        process.check()
        if time.monotonic() > deadline:
            raise BenchError(f"{found} of {wanted} after {patience:.0f} s")
        await asyncio.sleep(_POLL)
