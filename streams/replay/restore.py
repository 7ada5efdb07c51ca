"""`ladderlog restore`: makes rows, manifest and offset of a deployment anew from its log.

What was published says how far the former owner of a partition had come, and is never published again. The
log is folded up to there; then one transaction a partition writes the rows that differ, watermark, manifest
and offset, and what the log says and the topics lack. Killed before its commit, nothing has happened to a
partition; after it, nothing is left to do there. Either way, run it again.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.core.manifest import Manifest
from streams.core.outcomes import OutcomeCounts
from streams.processor import no_collection
from streams.replay.audit import AuditRequest, AuditRun, snapshot_offsets
from streams.replay.differences import AuditReport
from streams.replay.errors import ReplayError
from streams.replay.folding import Rules
from streams.replay.log import PartitionReplay, partitions_of, read_bounds, read_plan
from streams.replay.matching import Kind, Matching
from streams.replay.offset_ranges import OffsetRange, exact_ranges
from streams.replay.published import Published, PublishedSink, Target, marks
from streams.replay.snapshot import read_partition
from streams.runtime.changelog import PartitionState, different_rows, read_state
from streams.runtime.clock import clock_of_environment, timestamp_ms
from streams.runtime.deployment import manifest_now
from streams.runtime.homes import Homes, Place
from streams.runtime.reader import await_settled, high_watermarks, new_reader
from streams.runtime.refusals import made_again
from streams.runtime.settings import Settings
from streams.runtime.transaction import PartitionWriter

# A million rows in one transaction take a minute; the broker takes no more than this by default.
_TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000
# What cannot come of the same log by the same rules, however often something was published.
_OF_ANOTHER_LOG = (Kind.DIFFERENT, Kind.UNEXPECTED)

Start = Callable[[int], Callable[[int], None]]


class RestoreError(ReplayError):
    """It cannot be restored; the message says why and what to do instead."""


@dataclass(frozen=True)
class RestoreRequest:
    """Which deployment to restore, by which rules, and from which snapshot if the log has no beginning."""

    settings: Settings
    rules: Rules
    snapshot: str | None = None
    dry_run: bool = False


@dataclass
class Restored:
    """What was restored of a partition, or would be: `offset` is that of the first record not in its rows."""

    partition: int
    offset: int
    watermark: int
    committed: int | None
    rows: dict[str, Any | None] = field(default_factory=dict)
    records: list[Published] = field(default_factory=list)
    manifest: Manifest | None = None
    counts: OutcomeCounts = field(default_factory=OutcomeCounts)

    @property
    def is_sound(self) -> bool:
        """Say whether there is nothing to restore."""
        at_offset = self.watermark == self.offset == (self.committed or 0)
        return at_offset and not self.rows and not self.records and self.manifest is None


@dataclass
class RestoreReport:
    """What was restored of each partition, and what else is worth knowing."""

    partitions: list[Restored] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Found:
    """What there is of a partition: its state, the group's offset, and the end of its log."""

    state: PartitionState
    committed: int | None
    log_end: int


async def restore(request: RestoreRequest, start: Start = lambda _: lambda _: None) -> RestoreReport:
    """Restore every partition, or with `dry_run` none, and return what differed.

    The workers should be stopped: those that run are fenced, and one that comes back stops the restore.
    Raises RestoreError when what was published does not follow from the log by these rules, or a worker
    takes a partition back; LostError when the log has lost records that are needed.
    """
    if request.dry_run:
        return await _Restore(request).look(start)
    try:
        async with _writers(request.settings) as writers:
            restoring = _Restore(request)
            report = await restoring.look(start)
            for restored in report.partitions:
                if not restored.is_sound:
                    await restoring.write(writers[restored.partition], restored)
            return report
    except KafkaError as error:
        raise RestoreError(
            f"the broker did not take it ({error or type(error).__name__}): if a worker took a partition "
            f"back, stop the workers; then run the restore again"
        ) from error


@asynccontextmanager
async def _writers(settings: Settings) -> AsyncIterator[list[PartitionWriter]]:
    """Own every partition as long as the block: former owners are fenced, what they left open is aborted."""
    writers = [
        PartitionWriter(settings, number, _TRANSACTION_TIMEOUT_MS) for number in range(settings.partitions)
    ]
    async with AsyncExitStack() as stack:
        for writer in writers:
            await writer.start()
            stack.push_async_callback(writer.stop)
        yield writers


class _Restore:
    """One look at a deployment: `look` says what to write, and `write` writes it, partition by partition."""

    def __init__(self, request: RestoreRequest) -> None:
        self._request = request
        self._settings = request.settings
        self._now = manifest_now(request.settings, request.rules)

    async def look(self, start: Start) -> RestoreReport:
        """Return what differs from the log, and is to be written."""
        settings = self._settings
        numbers = range(settings.partitions)
        if not self._request.dry_run:
            # What former owners forwarded is on the log too.
            await await_settled(settings.connection, settings.input_topic, settings.partitions)
        ranges = exact_ranges(await read_bounds(settings, numbers), self._snapshot_offsets())
        found = await asyncio.gather(*map(self._find, numbers))
        self._check_ends(found)
        ends = await self._published_ends()
        # The log is read twice: for what it publishes, then for the rows.
        advance = start(2 * sum(one.end - one.start for one in ranges) + sum(ends.values()))
        run = AuditRun(
            AuditRequest(settings, self._request.rules, self._request.snapshot, limit=1),
            AuditReport(limit=1),
            ends,
            advance,
        )
        for offset_range in ranges:
            await run.expect(offset_range)
        await run.compare()
        await self._check_published(run, ranges)
        report = RestoreReport(notes=_notes(run.report))
        for offset_range, there in zip(ranges, found, strict=True):
            number = offset_range.partition
            sequences = run.sequences(number)
            offset = _offset_of(offset_range, there, sequences, await self._rebuilt(offset_range))
            report.partitions.append(await self._look_at(offset_range, there, sequences, offset, advance))
        return report

    async def write(self, writer: PartitionWriter, restored: Restored) -> None:
        """Write what differs of a partition in one transaction. Raises KafkaError when it was fenced."""
        transaction = writer.new_transaction()
        now = timestamp_ms(clock_of_environment().now())
        for record in restored.records:
            encoded = (record.key, record.value, record.headers)
            transaction.append_to((record.topic, record.partition), encoded, record.timestamp)
        transaction.append_rows(restored.rows.items(), now)
        transaction.append_manifest(self._now, now)
        transaction.append_watermark(restored.offset, restored.counts, now)
        async with transaction.open():
            await transaction.send()
            await transaction.send_offset(restored.offset)

    def _snapshot_offsets(self) -> dict[int, int] | None:
        return snapshot_offsets(
            AuditRequest(self._settings, self._request.rules, self._request.snapshot), self._settings
        )

    async def _find(self, number: int) -> _Found:
        tp = TopicPartition(self._settings.input_topic, number)
        connection = self._settings.connection
        reader = new_reader(connection, group_id=self._settings.app_id)
        await reader.start()
        try:
            committed = await reader.committed(tp)
        finally:
            await reader.stop()
        ends = await high_watermarks(connection, [tp])
        return _Found(await read_state(self._settings, number), committed, ends[tp])

    def _check_ends(self, found: Sequence[_Found]) -> None:
        """Raise RestoreError when a partition has come further than its log goes."""
        for number, there in enumerate(found):
            known = there.state.offset or there.committed or 0
            if known > there.log_end:
                tp = TopicPartition(self._settings.input_topic, number)
                raise RestoreError(made_again(tp, known, there.log_end))

    async def _published_ends(self) -> dict[TopicPartition, int]:
        """Return the ends of everything published.

        Restoring, all that this deployment has written is settled, but may lie behind another one's open
        transaction: reading waits for that. A look alone waits for nobody.
        """
        tps = await partitions_of(self._settings, *self._settings.output_topics)
        if not self._request.dry_run:
            return await high_watermarks(self._settings.connection, tps)
        reader = new_reader(self._settings.connection)
        await reader.start()
        try:
            return dict(await reader.end_offsets(tps))
        finally:
            await reader.stop()

    async def _check_published(self, run: AuditRun, ranges: Sequence[OffsetRange]) -> None:
        """Raise RestoreError when what was published does not follow from the log by these rules."""
        report = run.report
        wrong = {kind: report.totals[kind] for kind in _OF_ANOTHER_LOG if report.totals[kind]}
        if not wrong:
            return
        await run.describe()
        counts = " and ".join(f"{count} {kind}" for kind, count in wrong.items())
        shown = "\n".join(one.text() for one in report.differences if one.kind in _OF_ANOTHER_LOG)
        nothing_fits = not any(
            matching.reached() for one in ranges for matching in run.sequences(one.partition).values()
        )
        why = (
            f"the topic {self._settings.input_topic} was deleted and made again, or these are not the rules"
            if nothing_fits or Kind.DIFFERENT in wrong
            else "these are not the rules that it was published by, or somebody else published it"
        )
        raise RestoreError(
            f"what was published does not follow from the log: {counts}: {why}. Nothing was changed. Give "
            f"the right --ladders, or rate the log under another --app-id and --output-prefix; "
            f"`ladderlog audit` shows every difference\n{shown}".rstrip()
        )

    async def _rebuilt(self, offset_range: OffsetRange) -> int:
        """Return the offset behind the last corrections that a rebuild put into force; 0 without any."""
        place = Place(Homes(self._settings.partitions), offset_range.partition)
        plan = await read_plan(self._settings, self._request.rules, place, offset_range)
        return max((one.offset + 1 for markers in plan.markers.values() for one in markers), default=0)

    async def _look_at(
        self,
        offset_range: OffsetRange,
        there: _Found,
        sequences: Mapping[Target, Matching],
        offset: int,
        advance: Callable[[int], None],
    ) -> Restored:
        """Fold a partition up to an offset, and return what is different there."""
        number = offset_range.partition
        missing = _missing(sequences, offset, self._settings.input_topic)
        restored = Restored(number, offset, there.state.offset, there.committed)

        def keep(record: Published, at: int) -> None:
            key = ((record.topic, record.partition), marks(record).content, at)
            if missing[key] > 0:
                missing[key] -= 1
                restored.records.append(record)

        snapshot = self._request.snapshot
        replay = PartitionReplay(
            self._settings,
            self._request.rules,
            replace(offset_range, end=offset),
            PublishedSink(self._settings, await self._by_key(), keep),
            rows=None if snapshot is None else read_partition(snapshot, number),
            keep_rows=True,
            advance=advance,
        )
        with no_collection():
            await replay.run()
            restored.rows = _different_rows(replay.fold.rows(), there.state.rows)
        restored.counts = replay.fold.counts
        manifest = there.state.manifest
        if manifest is None or not manifest.same_as(self._now):
            restored.manifest = self._now
        return restored

    async def _by_key(self) -> Mapping[str, int]:
        topics = list(map(self._settings.topic, self._settings.fold.by_key))
        return Counter(tp.topic for tp in await partitions_of(self._settings, *topics))


def _offset_of(
    offset_range: OffsetRange, there: _Found, sequences: Mapping[Target, Matching], rebuilt: int
) -> int:
    """Return how far the former owner had come: nothing behind it was published, all before it was applied.

    At least as far as what it published and forwarded, as its last transaction in the changelog says, and
    past the markers of rebuilds, which only the state behind them was written with.
    The group's offset may have been moved; it counts as far as nothing would have been published before it.
    """
    reached = max(
        offset_range.start,
        rebuilt,
        there.state.offset,
        *(matching.reached() for matching in sequences.values()),
    )
    unpublished = [
        first for matching in sequences.values() if (first := matching.first_from(reached)) is not None
    ]
    silent = min(unpublished, default=offset_range.end)
    return max(reached, min(there.committed or 0, silent))


def _missing(
    sequences: Mapping[Target, Matching], offset: int, input_topic: str
) -> Counter[tuple[Target, int, int]]:
    """Return what inputs below an offset publish and the topics lack: where, content, input offset.

    The log is the truth, and nothing is added to it: a copy that is not there yet, another deployment's
    worker will forward.
    """
    return Counter(
        (target, matching.content(position), matching.offset(position))
        for target, matching in sequences.items()
        if target[0] != input_topic
        for position in matching.missing(offset)
    )


def _different_rows(rows: Mapping[str, Any], there: Mapping[str, bytes]) -> dict[str, Any | None]:
    """Return the rows to write for the changelog to have what the fold has; None deletes one."""
    return {key: rows.get(key) for key in different_rows(rows, there)}


def _notes(report: AuditReport) -> list[str]:
    return [
        *report.notes,
        *(
            f"{report.totals[kind]} published records are {kind}; what is in a topic stays there"
            for kind in (Kind.DOUBLE, Kind.DISORDER)
            if report.totals[kind]
        ),
    ]
