"""Reading a deployment's rows from outside: its state as of the last committed transactions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from aiokafka import TopicPartition

from streams.ladders import Ladders
from streams.runtime.partition import WATERMARK
from streams.runtime.reader import end_offset, new_reader, read_up_to
from streams.runtime.settings import Settings


@dataclass(frozen=True)
class PartitionStatus:
    """Where a partition is: records done, what became of them, and how many are still to be read."""

    partition: int
    offset: int
    end: int
    counts: dict[str, int]


async def read_rows(settings: Settings) -> dict[str, Any]:
    """Read the rows of all partitions, by row key; watermarks as `watermark/PARTITION`."""
    reader = new_reader(settings.bootstrap_servers)
    await reader.start()
    rows: dict[str, Any] = {}
    try:
        for partition in range(settings.partitions):
            tp = TopicPartition(settings.changelog_topic, partition)
            async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
                for record in records:
                    key = record.key.decode()
                    if key == WATERMARK:
                        key = f"{WATERMARK}/{partition}"
                    if record.value is None:
                        rows.pop(key, None)
                    else:
                        rows[key] = record.value
    finally:
        await reader.stop()
    return {key: orjson.loads(value) for key, value in rows.items()}


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
    reader = new_reader(settings.bootstrap_servers)
    await reader.start()
    try:
        status = []
        for partition in range(settings.partitions):
            watermark = rows.get(f"{WATERMARK}/{partition}", {"offset": 0, "counts": {}})
            end = await end_offset(reader, TopicPartition(settings.input_topic, partition))
            status.append(PartitionStatus(partition, watermark["offset"], end, watermark["counts"]))
        return status
    finally:
        await reader.stop()
