"""A partition's state as its changelog has it: rows and a watermark of one offset. All reading is here."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.core.outcomes import OutcomeCounts
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings

# The key of the row that says of which offset the others are. Row keys of the ladders have a slash.
WATERMARK = "watermark"
# Once to the end, then once more to what became the end meanwhile: while the first, long pass was under way,
# compaction may have taken away a row not read yet for the sake of a newer one behind that end.
_PASSES = 2


@dataclass(frozen=True)
class PartitionState:
    """A partition's state: encoded rows by key, the offset of the first record not in them, and the counts.

    `end` is the offset of the changelog that they were read up to; rows from elsewhere have none.
    """

    offset: int = 0
    rows: dict[str, bytes] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    end: int = field(default=0, compare=False)


async def read_state(settings: Settings, partition: int) -> PartitionState:
    """Return a partition's state as of its last committed transaction; of offset 0 when there was none."""
    async with reading(settings.bootstrap_servers) as reader:
        return await read_changelog(reader, TopicPartition(settings.changelog_topic, partition))


async def read_states(settings: Settings) -> list[PartitionState]:
    """Return the state of every partition, by its number."""
    return await asyncio.gather(
        *(read_state(settings, partition) for partition in range(settings.partitions))
    )


async def read_changelog(reader: AIOKafkaConsumer, tp: TopicPartition) -> PartitionState:
    """Return what a started read-committed reader finds in one partition of a changelog, up to its end.

    Rows and watermark are written in one transaction to one partition, so that they are of one offset. The
    end is the last stable offset: nothing of a transaction that is still open is seen.
    """
    rows: dict[str, bytes] = {}
    start: int | None = None
    end = 0
    for _ in range(_PASSES):
        end = await end_offset(reader, tp)
        async for records in read_up_to(reader, tp, start, end):
            for record in records:
                if record.value is None:
                    rows.pop(record.key.decode(), None)
                else:
                    rows[record.key.decode()] = record.value
        start = end
    offset, counts = decode_watermark(rows.pop(WATERMARK, None))
    return PartitionState(offset, rows, counts, end)


def encode_row(row: Any | None) -> bytes | None:
    """Return a row as it is written; None, which deletes it, stays None."""
    return None if row is None else orjson.dumps(row)


def encode_watermark(offset: int, counts: OutcomeCounts) -> bytes:
    """Return a watermark row: the offset of the first record not applied, and the counts of those applied."""
    return orjson.dumps({"offset": offset, "counts": counts.shown()})


def decode_watermark(value: bytes | None) -> tuple[int, dict[str, int]]:
    """Return the offset and the counts of a watermark row; without a row, of a partition's beginning."""
    if value is None:
        return 0, {}
    watermark = orjson.loads(value)
    return watermark["offset"], watermark["counts"]
