"""`ladderlog repartition`: the input log copied into topics with another number of partitions.

Ladder by ladder in the order of its home, which is the order in which it was rated, so that a deployment that
starts there has the same ratings. What was forwarded is taken once, from home. Each fetch is one transaction
with the offset that it ends at: killed at any point, run it again, and it goes on.

When the input has got partitions that the deployment cannot use, nobody forwards any more. What lies away
from home and was not forwarded by then is copied too, behind all that lies at home.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.events import CorrectionsApplied, Rejected
from streams.core.outcomes import FORWARDED
from streams.processor import Decoded, decode_all
from streams.runtime.batches import Batches
from streams.runtime.changelog import read_state
from streams.runtime.homes import Homes, Place
from streams.runtime.layout import deployment_partitions
from streams.runtime.reader import (
    await_settled,
    first_offset,
    high_watermarks,
    new_reader,
    read_up_to,
    reading,
)
from streams.runtime.settings import Settings
from streams.runtime.topics import ensure_topics, partition_counts
from streams.wire.decode import decode_consumed

# How long a copy that follows the log waits for more of it.
FOLLOW_SECONDS = 0.5
_LOOKS_AT_TOPICS = 6
_MAX_BATCH_BYTES = 900_000
_MAX_REQUEST_BYTES = 8 * 1024 * 1024
_RETRY_BACKOFF_MS = 5


class RepartitionError(Exception):
    """The log cannot be copied; the message says why and what to do."""


@dataclass
class RepartitionReport:
    """What was copied, of it what is no valid event, and what was left out because it is not to be rated.

    `markers` are a rebuild's, which name offsets of the old log. `behind` are the partitions of which the old
    deployment has not done everything, so that there may be more to forward.
    """

    copied: int = 0
    invalid: int = 0
    forwarded: int = 0
    markers: int = 0
    behind: Sequence[int] = ()


class _Pass(Enum):
    """What a pass over a partition takes; each remembers offsets of its own, in a group of this name."""

    HOME = "home"
    AWAY = "away"


@dataclass(frozen=True)
class _Layout:
    """Where homes were and are; `first_unread` are the offsets the deployment has come to, by partition."""

    began_with: Homes
    partitions: int
    new: Homes
    first_unread: dict[int, int] = field(default_factory=dict)

    @property
    def has_grown(self) -> bool:
        """Say whether the input has partitions that the deployment does not use."""
        return self.partitions != self.began_with.partitions


async def repartition(
    old: Settings,
    new: Settings,
    advance: Callable[[int], object],
    stopped: asyncio.Event | None = None,
) -> RepartitionReport:
    """Copy what is on the log of `old` to that of `new`, and return what was copied, by this call.

    `new` has another topic prefix and its own number of partitions; its topics are created. With `stopped` it
    goes on until that is set. Raises RepartitionError when there is no log, or the new one is not empty.
    """
    partitions, began_with = await _partitions(old)
    await _create(new)
    report = RepartitionReport()
    layout = _Layout(Homes(began_with), partitions, Homes(new.partitions))
    if layout.has_grown:
        await _fence(old, began_with)
        layout = replace(layout, first_unread=await _first_unread(old, began_with))
    async with _copying(old, new, report, advance) as copying:
        await copying.check_target(layout)
        while stopped is not None and not await _is_set(stopped):
            await copying.run(layout)
            await _check_layout(old, layout)
        if not layout.has_grown:
            # First how far the deployment is, then where the log ends: what it forwarded until then is there.
            layout = replace(layout, first_unread=await _first_unread(old, began_with))
            await await_settled(old.connection, old.input_topic, partitions)
        await copying.run(layout)
        report.behind = await copying.behind(layout)
    return report


async def _fence(old: Settings, began_with: int) -> None:
    """End the workers of a deployment that cannot go on, so that none forwards what is copied from now on."""
    for number in range(began_with):
        producer = AIOKafkaProducer(
            **old.connection.client_arguments(), transactional_id=old.transactional_id(number)
        )
        await producer.start()
        await producer.stop()


async def _check_layout(old: Settings, layout: _Layout) -> None:
    partitions, _ = await _partitions(old)
    if partitions != layout.partitions:
        raise RepartitionError(
            f"topic {old.input_topic} has {partitions} partitions now, not {layout.partitions}: run this "
            f"again"
        )


async def _partitions(old: Settings) -> tuple[int, int]:
    """Return how many partitions the input has, and how many the deployment began with."""
    topics = (old.input_topic, old.changelog_topic)
    counts = await partition_counts(old.connection, topics)
    for topic in topics:
        if topic not in counts:
            raise RepartitionError(
                f"topic {topic} is missing: there is no deployment {old.app_id!r} with the topic prefix "
                f"{old.topic_prefix!r} to copy the log of"
            )
    return counts[old.input_topic], deployment_partitions(old, counts) or counts[old.input_topic]


async def _create(new: Settings) -> None:
    """Create the new topics. Raises RepartitionError when one is there already, and not as it has to be."""
    for _ in range(_LOOKS_AT_TOPICS):
        wrong = [topic for topic in await ensure_topics(new) if topic.mistakes]
        if not wrong:
            return
        # One that was made a moment ago may not be known everywhere yet.
        await asyncio.sleep(FOLLOW_SECONDS)
    raise RepartitionError(f"topic {wrong[0].spec.name}: {'; '.join(wrong[0].mistakes)}")


async def _first_unread(old: Settings, began_with: int) -> dict[int, int]:
    states = await asyncio.gather(*(read_state(old, number) for number in range(began_with)))
    return {number: state.offset for number, state in enumerate(states)}


async def _is_set(stopped: asyncio.Event) -> bool:
    """Wait a while for an event, and say whether it is set."""
    try:
        await asyncio.wait_for(stopped.wait(), FOLLOW_SECONDS)
    except TimeoutError:
        return False
    return True


@asynccontextmanager
async def _copying(
    old: Settings, new: Settings, report: RepartitionReport, advance: Callable[[int], object]
) -> AsyncIterator["_Copying"]:
    producer = AIOKafkaProducer(
        **old.connection.client_arguments(),
        # Another copy into the same topics is fenced, and what it left open is aborted.
        transactional_id=f"ladderlog-repartition-{new.input_topic}",
        acks="all",
        max_batch_size=_MAX_BATCH_BYTES,
        max_request_size=_MAX_REQUEST_BYTES,
        retry_backoff_ms=_RETRY_BACKOFF_MS,
    )
    await producer.start()
    try:
        yield _Copying(old, new, producer, report, advance)
    finally:
        await producer.stop()


class _Copying:
    """One copy under way."""

    def __init__(
        self,
        old: Settings,
        new: Settings,
        producer: AIOKafkaProducer,
        report: RepartitionReport,
        advance: Callable[[int], object],
    ) -> None:
        self._old = old
        self._new = new
        self._producer = producer
        self._report = report
        self._advance = advance
        # Where each pass over a partition goes on.
        self._next: dict[tuple[_Pass, TopicPartition], int] = {}

    async def check_target(self, layout: _Layout) -> None:
        """Raise RepartitionError when the new log has records that no copy has written."""
        tps = [TopicPartition(self._new.input_topic, number) for number in range(self._new.partitions)]
        ends = await high_watermarks(self._new.connection, tps)
        committed = [await self._committed(_Pass.HOME, tp) for tp in _old_partitions(self._old, layout)]
        if any(ends.values()) and not any(committed):
            raise RepartitionError(
                f"topic {self._new.input_topic} is not empty, and nothing was copied to it before: choose "
                f"another --to-prefix"
            )

    async def run(self, layout: _Layout) -> None:
        """Copy what can be read now."""
        ends = await self._ends(layout)
        for tp, end in ends.items():
            if tp.partition < layout.began_with.partitions:
                await self._copy(layout, _Pass.HOME, tp, end)
        if layout.has_grown:
            for tp, end in ends.items():
                await self._copy(layout, _Pass.AWAY, tp, end)

    async def behind(self, layout: _Layout) -> list[int]:
        """Return the partitions of which the old deployment had not read all that was copied."""
        if layout.has_grown:
            return []
        return [
            tp.partition
            for tp in _old_partitions(self._old, layout)
            if await self._has_record(tp, layout.first_unread[tp.partition], self._next[_Pass.HOME, tp])
        ]

    async def _copy(self, layout: _Layout, taking: _Pass, tp: TopicPartition, end: int) -> None:
        start = await self._committed(taking, tp)
        if taking is _Pass.AWAY:
            start = max(start, layout.first_unread.get(tp.partition, 0))
        if start >= end:
            return
        async with reading(self._old.connection) as reader:
            async for records in read_up_to(reader, tp, start, end):
                await self._write(layout, taking, tp, records)
                self._advance(len(records))
        # Up to there, only transaction markers are left.
        self._next[taking, tp] = end

    async def _write(
        self, layout: _Layout, taking: _Pass, tp: TopicPartition, records: list[ConsumerRecord]
    ) -> None:
        place = Place(layout.began_with, tp.partition)
        batches = Batches(self._producer)
        for record, event in zip(records, decode_all(decode_consumed, records), strict=True):
            target = self._target(layout, taking, place, record, event)
            if target is not None:
                self._report.copied += 1
                topic = self._new.input_topic
                headers = list(record.headers)
                batches.append((topic, target), record.timestamp, record.key, record.value, headers)
        async with self._producer.transaction():
            await batches.send()
            offsets = {tp: records[-1].offset + 1}
            await self._producer.send_offsets_to_transaction(offsets, self._group(taking))

    def _target(
        self, layout: _Layout, taking: _Pass, place: Place, record: ConsumerRecord, event: Decoded
    ) -> int | None:
        """Return where a record goes in the new log; None when it is not taken, or not in this pass."""
        is_unknown = place.partition >= layout.began_with.partitions
        if isinstance(event, Rejected):
            # The new deployment rejects it as the old one does.
            return self._invalid(place.partition, layout) if is_unknown or taking is _Pass.HOME else None
        home = layout.new.of(event.ladder)
        folded = place.judge(record, event)
        if folded is not None and folded[0] != FORWARDED:
            return self._invalid(home + 1, layout) if is_unknown or taking is _Pass.HOME else None
        if (folded is None) != (taking is _Pass.HOME):
            self._report.forwarded += taking is _Pass.HOME
            return None
        if isinstance(event, CorrectionsApplied):
            self._report.markers += 1
            return None
        return home

    def _invalid(self, partition: int, layout: _Layout) -> int:
        """Return where a record goes that is rejected: one away from home must not come to lie there."""
        self._report.invalid += 1
        return partition % layout.new.partitions

    def _group(self, taking: _Pass) -> str:
        return f"ladderlog-repartition-{self._new.input_topic}-{taking.value}"

    async def _committed(self, taking: _Pass, tp: TopicPartition) -> int:
        known = self._next.get((taking, tp))
        if known is None:
            reader = new_reader(self._old.connection, group_id=self._group(taking))
            await reader.start()
            try:
                known = self._next[taking, tp] = int(await reader.committed(tp) or 0)
            finally:
                await reader.stop()
        return known

    async def _ends(self, layout: _Layout) -> dict[TopicPartition, int]:
        async with reading(self._old.connection) as reader:
            return dict(await reader.end_offsets(_old_partitions(self._old, layout)))

    async def _has_record(self, tp: TopicPartition, start: int, end: int) -> bool:
        async with reading(self._old.connection) as reader:
            first = await first_offset(reader, tp, start)
        return first is not None and first < end


def _old_partitions(old: Settings, layout: _Layout) -> list[TopicPartition]:
    return [TopicPartition(old.input_topic, number) for number in range(layout.partitions)]
