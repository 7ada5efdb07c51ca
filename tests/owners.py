"""Partitions owned in the test's own process: worked as by a worker, without the seconds its start takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from aiokafka.errors import KafkaError
from sites import Site, read_topic

from streams.runtime.partition import Partition
from streams.runtime.reader import await_settled
from streams.runtime.settings import Settings
from streams.runtime.transaction import PartitionWriter

BATCH = 300


def work(site: Site, settings: Settings | None = None, *, at_most: int | None = None) -> None:
    """Apply what is on the log, at most so many records of each partition, in several transactions."""
    asyncio.run(_work(site, settings or site.settings, at_most))


def beside(site: Site, app_id: str, output_prefix: str | None = None) -> Settings:
    """Give the settings of another deployment on the same input."""
    return replace(site.settings, app_id=app_id, output_prefix=output_prefix)


@asynccontextmanager
async def writing(site: Site, partition: int) -> AsyncIterator[PartitionWriter]:
    """Run the writer of a partition as long as the block; what it committed is readable afterwards.

    A commit is answered before its markers are in the log. A new writer starts only when they are.
    """
    writer = PartitionWriter(site.settings, partition)
    await writer.start()
    try:
        yield writer
    finally:
        with suppress(KafkaError):  # it may be fenced by then
            await writer.stop()
    settled = PartitionWriter(site.settings, partition)
    await settled.start()
    await settled.stop()


async def _work(site: Site, settings: Settings, at_most: int | None) -> None:
    while await _work_once(site, settings, at_most) and at_most is None:
        # What was forwarded lies behind the ends that there were.
        await await_settled(settings.bootstrap_servers, settings.input_topic, settings.partitions)


async def _work_once(site: Site, settings: Settings, at_most: int | None) -> int:
    """Return how many records were forwarded."""
    found = await read_topic(settings.bootstrap_servers, settings.input_topic)
    forwarded = 0
    for number, records in found.items():
        partition = Partition(settings, site.rules, number)
        try:
            await partition.open()
            before = partition.counts.forwarded
            left = [record for record in records if record.offset >= partition.next_offset][:at_most]
            for start in range(0, len(left), BATCH):
                await partition.apply(left[start : start + BATCH])
            forwarded += partition.counts.forwarded - before
        finally:
            await partition.close()
    return forwarded
