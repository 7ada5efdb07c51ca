"""`ladderlog rebuild`: puts voided and corrected games into force, one partition at a time.

1. Read the log beside the running workers, up to some offset: which corrections are pending, then the state
   as it is and as it should be.
2. Take the partition over by its transactional id: the worker is fenced, leaves, and comes back later.
3. Fold the tail, check the state against the rows, and write in one transaction: the markers, the records
   that came in between, the differences, the changed rows, the watermark and the offset.

Killed before the commit, nothing has happened; after it, nothing is pending. Either way, run it again.
"""

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from streams.core.beginnings import Beginnings
from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import CORRECTIONS_APPLIED, CompetitionClosed, Output, RatingChanged, Rejected
from streams.core.ladder import Folded
from streams.core.outcomes import NOTED, OutcomeCounts
from streams.core.row_keys import split_key
from streams.core.rules import LadderRules
from streams.processor import Decoded, decode_all, process
from streams.runtime.changelog import different_rows, encode_row, merge_rows, read_state
from streams.runtime.clock import clock_of_environment, timestamp_ms
from streams.runtime.homes import Homes, Place, at_home
from streams.runtime.layout import PartitionsChangedError, with_partitions
from streams.runtime.partition import Partition
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings
from streams.runtime.transaction import PartitionTransaction
from streams.wire.decode import decode_consumed
from streams.wire.encode import encode_event

log = logging.getLogger(__name__)

# A correction may touch a million players; the transaction must not end before it is written.
_TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000
# Each attempt computes anew: a worker that came back in between has taken the partition from us.
ATTEMPTS = 5


class RebuildError(Exception):
    """The rebuild cannot be done; the message says why and what to do. Nothing was changed."""


@dataclass
class RebuildReport:
    """What one partition's rebuild did, or, tried only, would do: `corrections` counts by ladder."""

    partition: int
    corrections: dict[str, int] = field(default_factory=dict)
    changes: list[RatingChanged] = field(default_factory=list)
    weeks: list[CompetitionClosed] = field(default_factory=list)

    def take(self, outputs: Iterable[Output]) -> None:
        """Add what was put out."""
        for output in outputs:
            if isinstance(output, RatingChanged):
                self.changes.append(output)
            elif isinstance(output, CompetitionClosed):
                self.weeks.append(output)


async def rebuild_partition(
    settings: Settings, rules: Mapping[str, LadderRules], partition: int, progress: Any, *, dry_run: bool
) -> RebuildReport:
    """Apply a partition's pending corrections, or with `dry_run` none, and return what changes by them.

    Raises RebuildError when the log has lost its beginning, when the rows are not those of the log, or when
    a worker took the partition back every time.
    """
    try:
        settings = await with_partitions(settings)
    except PartitionsChangedError as error:
        raise RebuildError(str(error)) from error
    for attempt in range(1, ATTEMPTS + 1):
        rebuild = _Rebuild(settings, rules, partition)
        try:
            return await rebuild.run(progress, dry_run=dry_run)
        except KafkaError as error:
            log.warning("partition %d, attempt %d: %s", partition, attempt, error or type(error).__name__)
        finally:
            await rebuild.close()
    raise RebuildError(
        f"partition {partition}: a worker took it back {ATTEMPTS} times before the corrections were written; "
        "stop the workers and run the rebuild again"
    )


class _Rebuild:
    """One attempt, with the partition that it owns from the moment it takes it over."""

    def __init__(self, settings: Settings, rules: Mapping[str, LadderRules], partition: int) -> None:
        self._settings = settings
        self._rules = rules
        self._partition = Partition(settings, rules, partition, _TRANSACTION_TIMEOUT_MS)
        self._tp = self._partition.tp
        self._place = Place(Homes(settings.partitions), partition)
        self._plan = CorrectionPlan(settings.app_id)
        self._beginnings = Beginnings(rules)
        self._report = RebuildReport(partition)
        # The rows of the log, as far as it was folded.
        self._folded_rows: dict[str, Any] = {}

    async def run(self, progress: Any, *, dry_run: bool) -> RebuildReport:
        """Return what the corrections that are on the log now change, in force unless `dry_run`."""
        # In this order: what the rows are of lies on the log before its end.
        state = await read_state(self._settings, self._tp.partition)
        async with reading(self._settings.connection) as reader:
            known = await end_offset(reader, self._tp)
        await self._plan_corrections(known, progress)
        ladders = [ladder for ladder in self._plan.may_be_pending() if ladder in self._rules]
        if not ladders:
            return self._report
        corrected = CorrectedLadders(self._rules, self._plan)
        for ladder in ladders:
            corrected.expect(ladder, known)
        reached = min(state.offset, known)
        await self._fold_up_to(corrected, None, reached, progress)
        self._check(corrected, ladders, state.rows)
        await self._fold_up_to(corrected, reached, known, progress)
        self._report.corrections = {
            ladder: count for ladder in ladders if (count := corrected.live.pending(ladder))
        }
        if not self._report.corrections:
            return self._report
        if dry_run:
            self._settle(corrected, dict.fromkeys(self._report.corrections, known))
        else:
            await self._take_over(corrected, known)
        return self._report

    async def _fold_up_to(
        self, corrected: CorrectedLadders, start: int | None, end: int, progress: Any
    ) -> None:
        async for records in self._read(start, end):
            self._fold(corrected, records)
            progress.update(len(records))

    async def close(self) -> None:
        """Give the partition back, if it was taken over."""
        await self._partition.close()

    async def _plan_corrections(self, end: int, progress: Any) -> None:
        """Note every correction on the log below `end`. Raises RebuildError when its beginning is lost."""
        first = None
        async for records in self._read(None, end):
            first = records[0].offset if first is None else first
            for record, event in zip(records, decode_all(decode_consumed, records), strict=True):
                if isinstance(event, Rejected) or not self._place.is_home(event):
                    continue
                if self._beginnings.knows(event, record.offset):
                    self._plan.note(event, record.offset)
            progress.update(len(records))
        if first:
            raise RebuildError(
                f"{self._tp.topic} partition {self._tp.partition}: the log begins at offset {first}, so that "
                "what the ratings should be cannot be computed exactly"
            )

    async def _take_over(self, corrected: CorrectedLadders, known: int) -> None:
        partition = self._partition
        await partition.open()
        await self._catch_up(known)
        async for records in self._read(known, partition.next_offset):
            self._fold(corrected, records)
        rows = (await read_state(self._settings, self._tp.partition)).rows
        self._check(corrected, self._report.corrections, rows)
        transaction = partition.new_transaction()
        async with transaction.open():
            now = timestamp_ms(clock_of_environment().now())
            markers = await self._append_markers(transaction, known, now)
            first, last = min(markers.values()), max(markers.values())
            async for records in self._read(partition.next_offset, first):
                partition.fold(records, transaction)
                self._fold(corrected, records)
            position = f"{self._tp.topic}/{self._tp.partition}/{first}"
            transaction.append_published(self._settle(corrected, markers), position, now)
            transaction.append_rows(self._different_rows(corrected, rows), now)
            partition.next_offset = last + 1
            partition.counts.count_all([NOTED] * len(markers))
            transaction.append_watermark(partition.next_offset, partition.counts, now)
            await transaction.send()
            await transaction.send_offset(partition.next_offset)
        log.info("partition %d: corrections in force from offset %d on", self._tp.partition, last + 1)

    async def _catch_up(self, known: int) -> None:
        """Do what the worker had not come to, up to the offset that the corrections were computed for."""
        behind = [
            record async for records in self._read(self._partition.next_offset, known) for record in records
        ]
        if behind:
            await self._partition.apply(behind)

    async def _append_markers(
        self, transaction: PartitionTransaction, known: int, timestamp: int
    ) -> dict[str, int]:
        """Append a marker for each ladder in the open transaction; return their offsets, by ladder."""
        ladders = list(self._report.corrections)
        for ladder in ladders:
            fields = {"ladder": ladder, "app_id": self._settings.app_id, "until": known}
            event_id = f"{ladder}/corrections/{self._settings.app_id}/{known}"
            encoded = encode_event(CORRECTIONS_APPLIED, fields, self._settings.source, event_id)
            transaction.append_input(encoded, timestamp)
        last = (await transaction.send())[self._tp]
        return {ladder: offset for offset, ladder in enumerate(ladders, start=last - len(ladders) + 1)}

    def _settle(self, corrected: CorrectedLadders, markers: Mapping[str, int]) -> list[Output]:
        """Return what the corrections publish when they come into force at these offsets, by ladder."""
        outputs: list[Output] = []
        for ladder, offset in markers.items():
            corrected.settle(ladder, offset, outputs)
        self._report.take(outputs)
        return outputs

    def _check(
        self, corrected: CorrectedLadders, ladders: Collection[str], rows: Mapping[str, bytes]
    ) -> None:
        """Refuse when the rows of these ladders are not those of the log, compared as the audit does."""
        merge_rows(self._folded_rows, corrected.changed_rows())
        for key in different_rows(self._folded_rows, rows):
            if split_key(key, 3)[1] in ladders:
                in_the_log = encode_row(self._folded_rows.get(key))
                raise RebuildError(
                    f"partition {self._tp.partition}: row {key!r} is {rows.get(key)!r} in the changelog, and "
                    f"{in_the_log!r} by the log; `ladderlog audit` says more. Nothing was changed"
                )

    def _different_rows(
        self, corrected: CorrectedLadders, rows: Mapping[str, bytes]
    ) -> Iterator[tuple[str, Any | None]]:
        """Yield the rows to write: of ladders to correct those that differ, of others the changed ones."""
        for key, row in self._partition.ladders.changed_rows():
            if not self._is_corrected(key):
                yield key, row
        for key, row in corrected.changed_rows():
            if self._is_corrected(key) and encode_row(row) != rows.get(key):
                yield key, row

    def _is_corrected(self, key: str) -> bool:
        return split_key(key, 3)[1] in self._report.corrections

    def _fold(self, corrected: CorrectedLadders, records: list[ConsumerRecord]) -> None:
        """Apply records to a fold with corrections.

        What it publishes was published already, and what is rejected has no part in any state; nor has what
        is away from home.
        """

        def fold(records: Sequence[ConsumerRecord], events: Sequence[Decoded]) -> Sequence[Folded]:
            offsets = [record.offset for record in records]
            return corrected.fold(self._beginnings.known(events, offsets), offsets)

        process(at_home(fold, self._place), records, decode_consumed, None, OutcomeCounts())

    async def _read(self, start: int | None, end: int) -> AsyncIterator[list[ConsumerRecord]]:
        """Yield the committed records from an offset (None: the beginning) up to, not with, another.

        Raises RebuildError when a producer's open transaction hides some of them.
        """
        if start is not None and start >= end:
            return
        async with reading(self._settings.connection) as reader:
            readable = await end_offset(reader, self._tp)
            if readable < end:
                raise RebuildError(
                    f"partition {self._tp.partition}: a producer's open transaction hides records from "
                    f"offset {readable} on; try again when it has ended"
                )
            async for records in read_up_to(reader, self._tp, start, end):
                yield records
