"""The audit: what was published and what the changelog has, compared with a fold of the input.

Workers may run meanwhile and are not disturbed. First the rows are read, each partition's with the offset
they are of, its watermark; then what was published, up to an end taken afterwards. All that follows from
inputs below the watermark has to be there; what follows from later ones may be there, and is compared too.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aiokafka import TopicPartition

from streams.core.events import GAME_REJECTED
from streams.core.outcomes import OUTCOMES, READ, OutcomeCounts
from streams.replay.differences import AuditReport, Difference
from streams.replay.errors import ReplayError
from streams.replay.folding import Rules
from streams.replay.log import PartitionReplay, partition_count, partitions_of, read_bounds
from streams.replay.matching import Kind, Marks, Matching
from streams.replay.offset_ranges import OffsetRange, exact_ranges
from streams.replay.published import (
    REJECTED_FROM,
    Published,
    PublishedSink,
    Target,
    header,
    ladder_of,
    marks,
    shown,
    source_of_copy,
)
from streams.replay.snapshot import read_header, read_offsets, read_partition
from streams.runtime.changelog import PartitionState, different_rows, read_state
from streams.runtime.deployment import manifest_now
from streams.runtime.homes import FORWARDED_HEADER, Homes
from streams.runtime.reader import await_settled, high_watermarks, read_up_to, reading
from streams.runtime.settings import Settings
from streams.wire.encode import ERROR_HEADER


@dataclass(frozen=True)
class AuditRequest:
    """What to audit: a deployment by its rules, from a snapshot's rows if the log has lost its beginning."""

    settings: Settings
    rules: Rules
    snapshot: str | None = None
    limit: int = 20


@dataclass
class _Expected:
    """What follows from the range of one input partition."""

    offset_range: OffsetRange
    due: int
    sequences: dict[Target, Matching] = field(default_factory=dict)
    ladders: set[bytes] = field(default_factory=set)


@dataclass(frozen=True)
class _Wanted:
    """An expected record that is to be shown, once the fold is repeated for it."""

    kind: Kind
    target: Target
    content: int
    offset: int
    found: str = ""


Start = Callable[[int], Callable[[int], None]]


async def audit(request: AuditRequest, start: Start = lambda _: lambda _: None) -> AuditReport:
    """Compare everything; `start` is told how many offsets are to be read, and gives whom to tell progress.

    Raises ReplayError when the log has lost records that an exact fold needs.
    """
    count = await partition_count(request.settings, request.settings.input_topic)
    settings = replace(request.settings, partitions=count)
    states = await asyncio.gather(*(read_state(settings, partition) for partition in range(count)))
    ends = await _published_ends(settings)
    # What these transactions forwarded is on the log too.
    await await_settled(settings.connection, settings.input_topic, count)
    bounds = await read_bounds(settings, range(count))
    ranges = exact_ranges(bounds, snapshot_offsets(request, settings))
    advance = start(sum(s.end - s.start for s in ranges) + sum(ends.values()))
    run = AuditRun(replace(request, settings=settings), AuditReport(request.limit), ends, advance)
    for offset_range, state in zip(ranges, states, strict=True):
        await run.fold(offset_range, state)
    await run.compare()
    await run.describe()
    return run.report


def snapshot_offsets(request: AuditRequest, settings: Settings) -> dict[int, int] | None:
    """Return the offset of each partition in the snapshot, if there is one. Raises ReplayError."""
    if request.snapshot is None:
        return None
    read_header(request.snapshot).check(settings.input_topic, manifest_now(settings, request.rules))
    return read_offsets(request.snapshot)


async def _published_ends(settings: Settings) -> dict[TopicPartition, int]:
    """Return the ends of everything published, records of transactions not committed yet included.

    Reading committed records up to there waits for these transactions: a transaction that the changelog had
    may be committed there some milliseconds later.
    """
    tps = await partitions_of(settings, *settings.output_topics)
    return await high_watermarks(settings.connection, tps)


class AuditRun:
    """One audit under way: `fold` each partition, `compare` what was published, `describe` what differs."""

    def __init__(
        self,
        request: AuditRequest,
        report: AuditReport,
        ends: Mapping[TopicPartition, int],
        advance: Callable[[int], None],
    ) -> None:
        self.report = report
        self._request = request
        self._settings = request.settings
        self._ends = ends
        self._advance = advance
        by_key = set(map(self._settings.topic, self._settings.fold.by_key))
        # Of the topics that records lie in by their key, the number of partitions.
        self._by_key = Counter(tp.topic for tp in ends if tp.topic in by_key)
        self._rejected = self._settings.topic(GAME_REJECTED)
        self._input = self._settings.input_topic
        self._homes = Homes(self._settings.partitions)
        self._expected: dict[int, _Expected] = {}
        self._deleted: set[Target] = set()
        self._others: Counter[str] = Counter()
        self._wanted: dict[int, list[_Wanted]] = {}

    async def fold(self, offset_range: OffsetRange, state: PartitionState) -> None:
        """Fold one partition, compare its rows at the watermark, and keep what it publishes."""
        if state.offset < offset_range.start:
            raise ReplayError(
                f"partition {offset_range.partition}: the snapshot is of offset {offset_range.start}, later "
                f"than the watermark {state.offset}; an audit needs an earlier one"
            )
        if state.offset > offset_range.end:
            self._account(
                offset_range, f"{offset_range.start} to {offset_range.end}", f"watermark {state.offset}"
            )
        due = min(state.offset, offset_range.end)
        self.report.offsets.append(due)
        replay = await self._expecting(offset_range, due)
        await replay.run(due)
        self._compare_rows(offset_range, replay.fold.rows(), state)
        self._compare_counts(offset_range, replay.fold.counts, state.counts)
        await replay.run()

    async def expect(self, offset_range: OffsetRange) -> None:
        """Fold one partition, and keep what it publishes; nothing of it has to be there."""
        replay = await self._expecting(offset_range, offset_range.start)
        await replay.run()

    def sequences(self, partition: int) -> Mapping[Target, Matching]:
        """Return what is expected of an input partition, by where it is published."""
        return self._expected[partition].sequences

    async def compare(self) -> None:
        """Read everything published, and compare it with what was expected."""
        for topic in self._settings.output_topics:
            ends = [(tp, end) for tp, end in self._ends.items() if tp.topic == topic and end]
            await asyncio.gather(*(self._compare_partition(tp, end) for tp, end in ends))
        await self._compare_copies()
        for partition, expected in self._expected.items():
            for target, sequence in expected.sequences.items():
                for index in sequence.missing(expected.due):
                    self._note_expected(Kind.MISSING, partition, target, index)
        self._note_others()

    async def _expecting(self, offset_range: OffsetRange, due: int) -> PartitionReplay:
        await self._find_deleted()
        expected = self._expected[offset_range.partition] = _Expected(offset_range, due)
        return self._replay(
            offset_range, lambda record, offset: self._expect(expected, record, offset), self._advance
        )

    async def _compare_copies(self) -> None:
        """Read what was forwarded, if anything has to be: a copy is published by the partition it is of."""
        targets = {target for expected in self._expected.values() for target in expected.sequences}
        if any(topic == self._input for topic, _ in targets):
            for partition, expected in self._expected.items():
                await self._compare_partition(
                    TopicPartition(self._input, partition), expected.offset_range.end
                )

    async def describe(self) -> None:
        """Fold once more as far as needed to show the expected records, of which only hashes were kept."""
        for partition, wanted in sorted(self._wanted.items()):
            texts = await self._texts(partition, {missed.offset for missed in wanted})
            for missed in wanted:
                topic, number = missed.target
                source = f"{self._settings.input_topic}/{partition}/{missed.offset}"
                text = texts.get((missed.target, missed.content, missed.offset), "")
                where = f"{topic}/{number}, of {source}"
                self.report.differences.append(Difference(missed.kind, where, text, missed.found))

    async def _texts(self, partition: int, offsets: set[int]) -> dict[tuple[Target, int, int], str]:
        texts: dict[tuple[Target, int, int], str] = {}

        def keep(record: Published, offset: int) -> None:
            if offset in offsets:
                target = (record.topic, record.partition)
                texts[target, marks(record).content, offset] = shown(record)

        await self._replay(self._expected[partition].offset_range, keep).run(max(offsets) + 1)
        return texts

    def _replay(
        self,
        offset_range: OffsetRange,
        give: Callable[[Published, int], None],
        advance: Callable[[int], None] = lambda _: None,
    ) -> PartitionReplay:
        snapshot = self._request.snapshot
        return PartitionReplay(
            self._settings,
            self._request.rules,
            offset_range,
            PublishedSink(self._settings, self._by_key, give),
            rows=None if snapshot is None else read_partition(snapshot, offset_range.partition),
            keep_rows=True,
            advance=advance,
        )

    def _expect(self, expected: _Expected, record: Published, offset: int) -> None:
        target = (record.topic, record.partition)
        sequence = expected.sequences.get(target)
        if sequence is None:
            sequence = expected.sequences[target] = self._new_sequence(expected.offset_range, target)
        if record.topic in self._by_key:
            expected.ladders.add(ladder_of(record))
        sequence.expect(marks(record, self._identity(record.topic)), offset)

    def _new_sequence(self, offset_range: OffsetRange, target: Target) -> Matching:
        return Matching(from_start=offset_range.start == 0, whole=target not in self._deleted)

    async def _find_deleted(self) -> None:
        """See once which published partitions have lost their beginning."""
        if self._expected:
            return
        async with reading(self._settings.connection) as reader:
            beginnings = await reader.beginning_offsets(list(self._ends))
        for tp, beginning in beginnings.items():
            if beginning > 0:
                self._deleted.add((tp.topic, tp.partition))
                self.report.notes.append(
                    f"{tp.topic}/{tp.partition} begins at offset {beginning}; what was before is not compared"
                )

    async def _compare_partition(self, tp: TopicPartition, end: int) -> None:
        reached = 0
        async with reading(self._settings.connection) as reader:
            async for records in read_up_to(reader, tp, None, end):
                for record in records:
                    self._compare_record(record)
                self._advance(records[-1].offset + 1 - reached)
                reached = records[-1].offset + 1
        self._advance(max(0, end - reached))

    def _compare_record(self, record: Any) -> None:
        if not self._is_own(record):
            return
        self.report.published += 1
        target = (record.topic, record.partition)
        record_marks = marks(record, self._identity(record.topic))
        partition, sequence = self._sequence_of(record, target, record_marks)
        finding = Kind.UNEXPECTED if sequence is None else sequence.find(record_marks)
        if finding is None:
            return
        where = f"{record.topic}/{record.partition}/{record.offset}"
        if isinstance(finding, Kind) or sequence is None or finding.position < 0:
            self.report.add(Difference(Kind.UNEXPECTED, where, found=shown(record)))
            return
        self._note_expected(finding.kind, partition, target, finding.position, f"{where}: {shown(record)}")

    def _sequence_of(self, record: Any, target: Target, record_marks: Marks) -> tuple[int, Matching | None]:
        """Say which input partition a published record comes from, and what is expected of that one."""
        candidates = [
            (partition, expected.sequences.get(target))
            for partition in self._sources(record)
            if (expected := self._expected.get(partition)) is not None
        ]
        for partition, sequence in candidates:
            if sequence is not None and sequence.is_next(record_marks):
                return partition, sequence
        return candidates[0] if candidates else (-1, None)

    def _is_own(self, record: Any) -> bool:
        """Say whether this deployment published a record; what others publish to its topics is noted."""
        if record.topic == self._rejected:
            return True
        if record.topic == self._input:
            return source_of_copy(record, self._homes) is not None
        source = header(record.headers, "ce_source").decode(errors="backslashreplace")
        if source != self._settings.source:
            self._others[source] += 1
        return source == self._settings.source

    def _identity(self, topic: str) -> str:
        """Return the header that says what a record in a topic follows from."""
        return {self._rejected: REJECTED_FROM, self._input: FORWARDED_HEADER}.get(topic, "ce_id")

    def _sources(self, record: Any) -> list[int]:
        if record.topic == self._input:
            source = source_of_copy(record, self._homes)
            return [] if source is None else [source]
        if record.topic in self._by_key:
            ladder = ladder_of(record)
            return [number for number, expected in self._expected.items() if ladder in expected.ladders]
        if record.topic == self._rejected:
            number = header(record.headers, f"{ERROR_HEADER}partition")
            return [int(number)] if number.isdigit() else []
        return [record.partition]

    def _note_expected(self, kind: Kind, partition: int, target: Target, index: int, found: str = "") -> None:
        if self.report.wants(kind):
            sequence = self._expected[partition].sequences[target]
            content = sequence.content(index)
            wanted = _Wanted(kind, target, content, sequence.offset(index), found)
            self._wanted.setdefault(partition, []).append(wanted)
        self.report.totals[kind] += 1

    def _compare_rows(
        self, offset_range: OffsetRange, rows: Mapping[str, Any], state: PartitionState
    ) -> None:
        self.report.rows += len(rows)
        for key in different_rows(rows, state.rows):
            where = f"{self._settings.changelog_topic}/{offset_range.partition}, row {key!r}"
            expected = repr(rows[key]) if key in rows else "no row"
            found = state.rows[key].decode() if key in state.rows else "no row"
            self.report.add(Difference(Kind.ROW, where, expected, found))

    def _compare_counts(
        self, offset_range: OffsetRange, counts: OutcomeCounts, told: Mapping[str, int]
    ) -> None:
        self.report.counts.add(counts)
        told = {name: told.get(name, 0) for name in (READ, *OUTCOMES)}
        if told != counts.shown():
            self._account(offset_range, str(counts.shown()), str(told))
        if told[READ] != sum(told[name] for name in OUTCOMES):
            self._account(offset_range, f"outcomes of {told[READ]} records", str(told))

    def _account(self, offset_range: OffsetRange, expected: str, found: str) -> None:
        where = f"{self._settings.changelog_topic}/{offset_range.partition}, watermark"
        self.report.add(Difference(Kind.ACCOUNT, where, expected, found))

    def _note_others(self) -> None:
        for source, records in sorted(self._others.items()):
            self.report.notes.append(f"{records} records were published by {source or 'somebody else'}")
        passed = sum(s.passed_over for e in self._expected.values() for s in e.sequences.values())
        if passed:
            self.report.notes.append(f"{passed} records before the stretch compared were passed over")
