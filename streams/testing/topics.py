"""Topics of a deployment under test: read whole, rated in this process, removed."""

import asyncio
import time
from collections.abc import Collection, Mapping

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.rules import LadderRules
from streams.runtime.administration import administering
from streams.runtime.connection import Connection
from streams.runtime.partition import Partition
from streams.runtime.reader import await_settled, reading
from streams.runtime.settings import Settings
from streams.runtime.topics import partition_counts, topics_on

# Several transactions for a log of some size, as a worker would have it.
_BATCH = 300
_POLL_SECONDS = 0.1
_POLL_MS = 200
# Much longer than it takes to delete a topic.
_PATIENCE = 120.0

Records = dict[int, list[ConsumerRecord]]


async def read_topic(connection: Connection, topic: str) -> Records:
    """Return all committed records of a topic (its full name), by partition."""
    counts = await partition_counts(connection, [topic])
    tps = [TopicPartition(topic, partition) for partition in range(counts[topic])]
    read: Records = {tp.partition: [] for tp in tps}
    async with reading(connection) as reader:
        ends = await reader.end_offsets(tps)
        reader.assign(tps)
        for tp in tps:
            while await reader.position(tp) < ends[tp]:
                for other, records in (await reader.getmany(timeout_ms=_POLL_MS)).items():
                    read[other.partition] += records
    return read


async def rate_log(
    settings: Settings, rules: Mapping[str, LadderRules], *, at_most: int | None = None
) -> None:
    """Rate what is on the log, as a worker does, in this process; at most so many records a partition.

    What is forwarded meanwhile is rated too, unless `at_most` is given.
    """
    while await _rate_once(settings, rules, at_most) and at_most is None:
        # What was forwarded lies behind the ends that there were.
        await await_settled(settings.connection, settings.input_topic, settings.partitions)


async def delete_topics(connection: Connection, topics: Collection[str]) -> None:
    """Delete topics, and wait until they are gone. Raises TimeoutError when they stay."""
    async with administering(connection) as admin:
        await admin.delete_topics(list(topics))
    deadline = time.monotonic() + _PATIENCE
    while set(topics) & (await topics_on(connection)).keys():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{', '.join(topics)} are still there after {_PATIENCE:.0f} seconds")
        await asyncio.sleep(_POLL_SECONDS)


async def _rate_once(settings: Settings, rules: Mapping[str, LadderRules], at_most: int | None) -> int:
    """Return how many records were forwarded."""
    forwarded = 0
    for number, records in (await read_topic(settings.connection, settings.input_topic)).items():
        partition = Partition(settings, rules, number)
        try:
            await partition.open()
            before = partition.counts.forwarded
            left = [record for record in records if record.offset >= partition.next_offset][:at_most]
            for start in range(0, len(left), _BATCH):
                await partition.apply(left[start : start + _BATCH])
            forwarded += partition.counts.forwarded - before
        finally:
            await partition.close()
    return forwarded
