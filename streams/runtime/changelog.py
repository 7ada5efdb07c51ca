"""The state of a deployment as its changelog has it: rows and watermark of one partition, consistent."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
from aiokafka import TopicPartition

from streams.runtime.partition import WATERMARK
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings

# Once to the end, then once more to what became the end meanwhile: while the first, long pass was under way,
# compaction may have taken away a row not read yet for the sake of a newer one behind that end.
_PASSES = 2


@dataclass(frozen=True)
class PartitionState:
    """A partition's state: its rows, the offset of the first record that is not in them, and the account."""

    offset: int = 0
    rows: Mapping[str, bytes] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


async def read_state(settings: Settings, partition: int) -> PartitionState:
    """Read a partition's rows as of its last committed transaction; offset 0 when there was none.

    Rows and watermark are written in one transaction to one partition, so that they are of one offset.
    """
    tp = TopicPartition(settings.changelog_topic, partition)
    rows: dict[str, bytes] = {}
    async with reading(settings.bootstrap_servers) as reader:
        start = None
        for _ in range(_PASSES):
            end = await end_offset(reader, tp)
            async for records in read_up_to(reader, tp, start, end):
                for record in records:
                    if record.value is None:
                        rows.pop(record.key.decode(), None)
                    else:
                        rows[record.key.decode()] = record.value
            start = end
    watermark = orjson.loads(rows.pop(WATERMARK, b'{"offset": 0, "counts": {}}'))
    return PartitionState(watermark["offset"], rows, watermark["counts"])
