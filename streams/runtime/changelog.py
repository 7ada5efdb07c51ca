"""A partition's state as its changelog has it: rows and a watermark of one offset. All reading is here."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.core.manifest import Manifest, manifest_of
from streams.core.outcomes import OutcomeCounts
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings

# The key of the row that says of which offset the others are. Row keys of the ladders have a slash.
WATERMARK = b"watermark"
# The key of the row that says by which rules, in how many partitions and by which fold the others were made.
MANIFEST = b"manifest"
# Once to the end, then once more to what became the end meanwhile: while the first, long pass was under way,
# compaction may have taken away a row not read yet for the sake of a newer one behind that end.
_PASSES = 2


@dataclass(frozen=True)
class PartitionState:
    """A partition's state: encoded rows by key, the offset of the first record not in them, the counts.

    `manifest` says what they were made by; None where no worker has been yet, or before there were manifests.
    """

    offset: int = 0
    rows: Mapping[str, bytes] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    manifest: Manifest | None = None


async def read_state(settings: Settings, partition: int) -> PartitionState:
    """Return a partition's state as of its last committed transaction; of offset 0 when there was none."""
    async with reading(settings.connection) as reader:
        rows, _ = await read_changelog(reader, TopicPartition(settings.changelog_topic, partition))
    offset, counts = decode_watermark(rows.pop(WATERMARK, None))
    manifest = decode_manifest(rows.pop(MANIFEST, None))
    return PartitionState(offset, {key.decode(): value for key, value in rows.items()}, counts, manifest)


async def read_states(settings: Settings) -> list[PartitionState]:
    """Return the state of every partition, by its number."""
    return await asyncio.gather(
        *(read_state(settings, partition) for partition in range(settings.partitions))
    )


async def read_changelog(reader: AIOKafkaConsumer, tp: TopicPartition) -> tuple[dict[bytes, bytes], int]:
    """Return the rows in one partition of a changelog and the end they go up to.

    Watermark and manifest are among them. `reader` is a started `new_reader`: nothing of a transaction that
    is still open is seen, and as rows and watermark are written in one transaction to one partition, they are
    of one offset. Keys stay encoded, which saves a worker with a million rows 16 MB.
    """
    rows: dict[bytes, bytes] = {}
    start: int | None = None
    end = 0
    for _ in range(_PASSES):
        end = await end_offset(reader, tp)
        async for records in read_up_to(reader, tp, start, end):
            for record in records:
                if record.value is None:
                    rows.pop(record.key, None)
                else:
                    rows[record.key] = record.value
        start = end
    return rows, end


def encode_row(row: Any | None) -> bytes | None:
    """Return a row as it is written; None, which deletes it, stays None."""
    return None if row is None else orjson.dumps(row)


def merge_rows(rows: dict[str, Any], changed: Iterable[tuple[str, Any | None]]) -> None:
    """Bring rows up to date with those that changed; a None row is deleted."""
    for key, row in changed:
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row


def different_rows(folded: Mapping[str, Any], written: Mapping[str, bytes]) -> list[str]:
    """Return the keys, in order, of rows that are not in a changelog as a fold of the log has them."""
    different = [key for key, row in folded.items() if not _same_row(row, written.get(key))]
    return sorted([*different, *(written.keys() - folded.keys())])


def _same_row(row: Any, value: bytes | None) -> bool:
    """Say whether a row is what a changelog has: equal bytes, or else equal JSON."""
    encoded = orjson.dumps(row)
    return value is not None and (encoded == value or bool(orjson.loads(encoded) == orjson.loads(value)))


def encode_watermark(offset: int, counts: OutcomeCounts) -> bytes:
    """Return a watermark row: the offset of the first record not applied, and the counts of those applied."""
    return orjson.dumps({"offset": offset, "counts": counts.shown()})


def decode_watermark(value: bytes | None) -> tuple[int, dict[str, int]]:
    """Return the offset and the counts of a watermark row; without a row, of a partition's beginning."""
    if value is None:
        return 0, {}
    watermark = orjson.loads(value)
    return watermark["offset"], watermark["counts"]


def encode_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as its row."""
    return orjson.dumps(manifest.document())


def decode_manifest(value: bytes | None) -> Manifest | None:
    """Return the manifest of a row; None without a row."""
    return None if value is None else manifest_of(orjson.loads(value))
