"""Reading a partition from one offset up to another, outside any consumer group."""

from collections.abc import AsyncIterator
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

_MAX_FETCH_BYTES = 8 * 1024 * 1024


def new_reader(bootstrap_servers: str, **options: Any) -> AIOKafkaConsumer:
    """Make a consumer that reads committed records of assigned partitions and commits nothing."""
    return AIOKafkaConsumer(
        bootstrap_servers=bootstrap_servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=_MAX_FETCH_BYTES,
        fetch_max_bytes=4 * _MAX_FETCH_BYTES,
        **options,
    )


async def end_offset(reader: AIOKafkaConsumer, tp: TopicPartition) -> int:
    """Give the offset behind the last committed record (the last stable offset) of a partition."""
    ends = await reader.end_offsets([tp])
    return int(ends[tp])


async def read_up_to(
    reader: AIOKafkaConsumer, tp: TopicPartition, start: int | None, end: int
) -> AsyncIterator[list[ConsumerRecord]]:
    """Yield the records of a partition from `start` (None: the beginning) up to, not with, offset `end`.

    The partition becomes the reader's assignment. Ends too when the rest are transaction markers.
    """
    reader.assign([tp])
    if start is None:
        await reader.seek_to_beginning(tp)
    else:
        reader.seek(tp, start)
    while await reader.position(tp) < end:
        for records in (await reader.getmany(tp, timeout_ms=500)).values():
            wanted = records if records[-1].offset < end else [r for r in records if r.offset < end]
            if wanted:
                yield wanted
