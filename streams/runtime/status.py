"""Reading a deployment's rows from outside: its state as of the last committed transactions."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from aiokafka import TopicPartition

from streams.core.ladders import Ladders
from streams.runtime.partition import WATERMARK
from streams.runtime.reader import end_offset, first_offset, read_up_to, reading
from streams.runtime.settings import Settings

_POLL = 0.25


@dataclass(frozen=True)
class PartitionStatus:
    """Where a partition is: the next offset, what became of the records before, and how many lie behind.

    `behind` counts offsets, of which transaction markers take a few; it is 0 when no record is left.
    """

    partition: int
    offset: int
    behind: int
    counts: dict[str, int]


async def read_rows(settings: Settings) -> dict[str, Any]:
    """Read the rows of all partitions, by row key; watermarks as `watermark/PARTITION`."""
    partitions = await asyncio.gather(
        *(read_partition(settings, number) for number in range(settings.partitions))
    )
    return {key: orjson.loads(value) for rows in partitions for key, value in rows.items()}


async def read_partition(settings: Settings, partition: int) -> dict[str, bytes]:
    """Read the rows of one partition as they are written, by row key."""
    tp = TopicPartition(settings.changelog_topic, partition)
    rows: dict[str, bytes] = {}
    async with reading(settings.bootstrap_servers) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            for record in records:
                key = record.key.decode()
                if record.value is None:
                    rows.pop(key, None)
                else:
                    rows[f"{WATERMARK}/{partition}" if key == WATERMARK else key] = record.value
    return rows


async def read_fold(settings: Settings, new_fold: Callable[[], Ladders]) -> Ladders:
    """Read the rows of all partitions into one fold, for rankings."""
    fold = new_fold()
    for key, row in (await read_rows(settings)).items():
        if not key.startswith(WATERMARK + "/"):
            fold.load(key, row)
    return fold


async def read_status(settings: Settings) -> list[PartitionStatus]:
    """Read where every partition is: the account `read = rated + ignored + rejected + noted`."""
    rows = await read_rows(settings)
    return await asyncio.gather(
        *(
            _status(settings, number, rows.get(f"{WATERMARK}/{number}", {"offset": 0, "counts": {}}))
            for number in range(settings.partitions)
        )
    )


async def await_done(settings: Settings, seconds: float) -> list[PartitionStatus]:
    """Read where every partition is once nothing is behind, or after so many seconds."""
    deadline = time.monotonic() + seconds
    status = await read_status(settings)
    while any(partition.behind for partition in status) and time.monotonic() < deadline:
        await asyncio.sleep(_POLL)
        status = await read_status(settings)
    return status


async def _status(settings: Settings, partition: int, watermark: dict[str, Any]) -> PartitionStatus:
    tp = TopicPartition(settings.input_topic, partition)
    async with reading(settings.bootstrap_servers) as reader:
        first = await first_offset(reader, tp, watermark["offset"])
        behind = 0 if first is None else await end_offset(reader, tp) - first
    return PartitionStatus(partition, watermark["offset"], behind, watermark["counts"])
