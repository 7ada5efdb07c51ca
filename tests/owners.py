"""Partitions owned in the test's own process: worked as by a worker, without the seconds its start takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from aiokafka.errors import KafkaError
from sites import Site

from streams.runtime.settings import Settings
from streams.runtime.transaction import PartitionWriter
from streams.testing.topics import rate_log


def work(site: Site, settings: Settings | None = None, *, at_most: int | None = None) -> None:
    """Apply what is on the log, at most so many records of each partition, in several transactions."""
    asyncio.run(rate_log(settings or site.settings, site.rules, at_most=at_most))


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
