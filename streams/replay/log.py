"""The log as it lies on the broker: its bounds, its records in order, and the fold of one partition of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from operator import attrgetter
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError
from aiokafka.structs import ConsumerRecord

from streams.core.beginnings import Beginnings
from streams.core.corrections import CorrectionPlan
from streams.core.events import Rejected
from streams.processor import Sink, no_collection
from streams.replay.errors import LostError, ReplayError
from streams.replay.folding import CorrectionsFound, PartitionFold, Rules
from streams.replay.offset_ranges import Bounds, OffsetRange
from streams.replay.positions import Position
from streams.runtime.changelog import PartitionState
from streams.runtime.connection import Connection
from streams.runtime.folds import kind_of
from streams.runtime.homes import Homes, Place
from streams.runtime.reader import end_offset, new_reader, read_up_to, reading
from streams.runtime.settings import Settings
from streams.runtime.topics import partition_counts
from streams.wire.decode import decode_consumed

# Records folded before the next fetch gets a turn; about 20 ms, so that the broker is never waited for.
_RECORDS_BETWEEN_PAUSES = 2_000
# Of these only, the first pass of a log with corrections decodes the records.
_CORRECTING_TYPES = (b"game-voided.", b"corrections-applied.")
_VERSION_FIELD = b'"version"'

Advance = Callable[[int], None]
_offset = attrgetter("offset")


async def partitions_of(settings: Settings, *topics: str) -> list[TopicPartition]:
    """Return all partitions of topics, as the broker has them. Raises ReplayError when a topic is missing."""
    counts = await partition_counts(settings.connection, topics)
    for topic in topics:
        if topic not in counts:
            raise ReplayError(f"topic {topic} is missing on {settings.bootstrap_servers}")
    return [TopicPartition(topic, number) for topic in topics for number in range(counts[topic])]


async def partition_count(settings: Settings, topic: str) -> int:
    """Return how many partitions a topic has. Raises ReplayError when it is missing."""
    return len(await partitions_of(settings, topic))


async def read_bounds(
    settings: Settings, partitions: Sequence[int], start: Position | None = None, end: Position | None = None
) -> list[Bounds]:
    """Ask the broker for the bounds of partitions of the input, and for the offsets of places in them."""
    async with reading(settings.connection) as reader:
        all_bounds = []
        for partition in partitions:
            tp = TopicPartition(settings.input_topic, partition)
            first = (await reader.beginning_offsets([tp]))[tp]
            last = max(first, await end_offset(reader, tp))
            asked = [await _offset_of(reader, tp, position, last) for position in (start, end)]
            all_bounds.append(Bounds(partition, first, last, *asked))
        return all_bounds


async def records_between(
    connection: Connection, tp: TopicPartition, start: int, end: int
) -> AsyncIterator[list[ConsumerRecord]]:
    """Yield the committed records of a partition from `start` up to, not with, `end`; the reader is its own.

    Raises LostError when the broker deletes records that were still to be read.
    """
    if start >= end:
        return
    async with _exact_reader(connection) as reader:
        try:
            async for records in read_up_to(reader, tp, start, end):
                yield records
        except OffsetOutOfRangeError as error:
            raise LostError(
                f"{tp.topic} partition {tp.partition}: records were deleted while they were still to be read "
                f"(retention); nothing of this replay can be used"
            ) from error


class PartitionReplay:
    """The fold of one range of the input; `run` it to its end, or first to somewhere on the way.

    `settings.partitions` is the number of partitions that the homes of ladders go by.
    """

    def __init__(
        self,
        settings: Settings,
        rules: Rules,
        offset_range: OffsetRange,
        sink: Sink | None,
        *,
        rows: PartitionState | None = None,
        keep_rows: bool = False,
        advance: Advance = lambda _: None,
    ) -> None:
        self._settings = settings
        self._rules = rules
        self._offset_range = offset_range
        self._sink = sink
        self._loaded = rows
        self._keep_rows = keep_rows
        self._advance = advance
        self._tp = TopicPartition(settings.input_topic, offset_range.partition)
        kind = kind_of(settings)
        self._decode = kind.decode
        self._place = Place(Homes(settings.partitions), offset_range.partition, kind.subject)
        self._emit_from = offset_range.emit_from
        self._next = offset_range.start
        self._reported = offset_range.start
        self.fold = self._new_fold(None)

    async def run(self, end: int | None = None) -> None:
        """Fold up to an offset, or up to the end of the range."""
        end = self._offset_range.end if end is None else end
        with no_collection():
            while self._next < end:
                try:
                    await self._fold_up_to(end)
                except CorrectionsFound as corrections:
                    await self._begin_again(corrections)

    async def _fold_up_to(self, end: int) -> None:
        async for records in records_between(self._settings.connection, self._tp, self._next, end):
            await self._apply(records)
        self._next = end

    async def _apply(self, records: list[ConsumerRecord]) -> None:
        for start in range(0, len(records), _RECORDS_BETWEEN_PAUSES):
            piece = records[start : start + _RECORDS_BETWEEN_PAUSES]
            self.fold.apply(piece, self._decode, self._sink, self._emit_from)
            await asyncio.sleep(0)
        self._next = records[-1].offset + 1
        if self._next > self._reported:
            self._advance(self._next - self._reported)
            self._reported = self._next

    async def _begin_again(self, corrections: CorrectionsFound) -> None:
        """Fold from the start again with a plan; what was put out so far stays as it is."""
        if self._loaded is not None:
            raise ReplayError(
                f"partition {self._tp.partition}: {corrections}, behind the "
                f"snapshot's; a replay over them begins at the beginning of the log, or from a snapshot "
                f"taken later"
            )
        plan = await read_plan(self._settings, self._rules, self._place, self._offset_range)
        self._emit_from = max(self._emit_from, corrections.resume)
        self._next = self._offset_range.start
        self.fold = self._new_fold(plan)

    def _new_fold(self, plan: CorrectionPlan | None) -> PartitionFold[ConsumerRecord]:
        fold = PartitionFold(
            self._rules,
            self._settings.app_id,
            _offset,
            plan,
            keep_rows=self._keep_rows,
            place=self._place,
        )
        if self._loaded is not None:
            fold.load(self._loaded.rows, self._loaded.counts)
        return fold


async def read_plan(
    settings: Settings,
    rules: Rules,
    place: Place,
    offset_range: OffsetRange,
    advance: Advance = lambda _: None,
) -> CorrectionPlan:
    """Look through a range for corrections at home; only records that may be one are decoded."""
    plan = CorrectionPlan(settings.app_id)
    beginnings = Beginnings(rules)
    tp = TopicPartition(settings.input_topic, place.partition)
    between = records_between(settings.connection, tp, offset_range.start, offset_range.end)
    async for records in between:
        for record in records:
            if _may_correct(record):
                try:
                    event = decode_consumed(record)
                except Rejected:
                    continue
                if place.is_home(event) and beginnings.knows(event, record.offset):
                    plan.note(event, record.offset)
        advance(len(records))
    return plan


def _may_correct(record: ConsumerRecord) -> bool:
    if record.value is not None and _VERSION_FIELD in record.value:
        return True
    return any(
        name == "ce_type" and (content or b"").startswith(_CORRECTING_TYPES)
        for name, content in record.headers
    )


@asynccontextmanager
async def _exact_reader(connection: Connection) -> AsyncIterator[AIOKafkaConsumer]:
    """Return a reader that does not jump to the beginning when the records it wants are gone."""
    reader = new_reader(connection, auto_offset_reset="none")
    await reader.start()
    try:
        yield reader
    finally:
        await reader.stop()


async def _offset_of(reader: Any, tp: TopicPartition, position: Position | None, last: int) -> int | None:
    if position is None:
        return None
    if position.offset is not None:
        return position.offset
    first_behind = (await reader.offsets_for_times({tp: position.epoch_ms}))[tp]
    return last if first_behind is None else int(first_behind.offset)
