"""`ladderlog rebuild`: puts voided and corrected games into force, one partition at a time.

1. Read the log beside the running workers, up to some offset: which corrections are pending, then the state
   as it is and as it should be.
2. Take the partition over by its transactional id: the worker is fenced, leaves, and comes back later.
3. Fold the tail, check the state against the rows, and write in one transaction: the markers, the records
   that came in between, the differences, the changed rows, the watermark and the offset.

Killed before the commit, nothing has happened; after it, nothing is pending. Either way, run it again.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import (
    CORRECTIONS_APPLIED,
    CompetitionClosed,
    Event,
    Output,
    RatingChanged,
    Rejected,
)
from streams.core.ladders import Ladders
from streams.core.row_keys import split_key
from streams.core.rules import LadderRules
from streams.runtime.batches import Batches
from streams.runtime.changelog import encode_row, read_state
from streams.runtime.partition import Partition
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings
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
    """What one partition's rebuild did, or, tried only, would do."""

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
    """Apply a partition's pending corrections; with `dry_run` only say what they would change.

    Raises RebuildError when the log has lost its beginning, when the rows are not those of the log, or when
    a worker took the partition back every time.
    """
    for attempt in range(1, ATTEMPTS + 1):
        correcting = _Correcting(settings, rules, partition)
        try:
            return await correcting.run(progress, dry_run=dry_run)
        except KafkaError as error:
            log.warning("partition %d, attempt %d: %s", partition, attempt, error or type(error).__name__)
        finally:
            await correcting.close()
    raise RebuildError(
        f"partition {partition}: a worker took it back {ATTEMPTS} times before the corrections were written; "
        "stop the workers and run the rebuild again"
    )


class _Correcting(Partition):
    """The owner of a partition for the time of a rebuild."""

    transaction_timeout_ms = _TRANSACTION_TIMEOUT_MS

    def __init__(self, settings: Settings, rules: Mapping[str, LadderRules], partition: int) -> None:
        super().__init__(settings, lambda: Ladders(rules), partition)
        self._rules = rules
        self._plan = CorrectionPlan(settings.app_id)
        self._report = RebuildReport(partition)

    async def run(self, progress: Any, *, dry_run: bool) -> RebuildReport:
        async with reading(self.settings.bootstrap_servers) as reader:
            known = await end_offset(reader, self.tp)
        await self._plan_corrections(known, progress)
        pending = self._report.corrections = self._plan.pending()
        if not pending:
            return self._report
        fold = CorrectedLadders(self._rules, self._plan)
        for ladder in pending:
            fold.expect(ladder, known)
        async for record in self._records(None, known):
            progress.update(1)
            _fold_record(fold, record)
        if dry_run:
            self._settle(fold, dict.fromkeys(pending, known))
        else:
            await self._take_over(fold, known)
        return self._report

    async def _plan_corrections(self, end: int, progress: Any) -> None:
        first = None
        async for record in self._records(None, end):
            first = record.offset if first is None else first
            progress.update(1)
            event = _decoded(record)
            if event is not None:
                self._plan.note(event, record.offset)
        if first:
            raise RebuildError(
                f"{self.tp.topic} partition {self.tp.partition}: the log begins at offset {first}, so that "
                "what the ratings should be cannot be computed exactly"
            )

    async def _take_over(self, fold: CorrectedLadders, known: int) -> None:
        await self.open()
        await self._catch_up(known)
        async for record in self._records(known, self.next_offset):
            _fold_record(fold, record)
        rows = (await read_state(self.settings, self.tp.partition)).rows
        self._check(fold, rows)
        producer = self._started_producer()
        async with producer.transaction():
            now = timestamp_ms(clock_of_environment().now())
            offsets = await self._append_markers(known, now)
            batches = Batches(producer)
            between = [record async for record in self._records(self.next_offset, min(offsets.values()))]
            self._apply_few(between, batches)
            for record in between:
                _fold_record(fold, record)
            position = f"{self.tp.topic}/{self.tp.partition}/{min(offsets.values())}"
            self._append_published(self._settle(fold, offsets), position, now, batches)
            self._append_corrected_rows(fold, rows, now, batches)
            self.next_offset = max(offsets.values()) + 1
            self.counts.read += len(offsets)
            self.counts.noted += len(offsets)
            self._append_watermark(batches, now)
            await batches.send()
            await producer.send_offsets_to_transaction({self.tp: self.next_offset}, self.settings.app_id)
        log.info("partition %d: corrections in force from offset %d on", self.tp.partition, self.next_offset)

    async def _catch_up(self, known: int) -> None:
        """Do what the worker had not come to, up to the offset that the corrections were computed for."""
        behind: list[ConsumerRecord] = [record async for record in self._records(self.next_offset, known)]
        if behind:
            await self.apply(behind)

    async def _append_markers(self, known: int, timestamp: int) -> dict[str, int]:
        """Append a marker for each ladder in the open transaction; give their offsets."""
        batches = Batches(self._started_producer())
        for ladder in self._report.corrections:
            fields = {"ladder": ladder, "app_id": self.settings.app_id, "until": known}
            event_id = f"{ladder}/corrections/{self.settings.app_id}/{known}"
            key, value, headers = encode_event(CORRECTIONS_APPLIED, fields, self.settings.source, event_id)
            batches.append(self.tp, timestamp, key, value, headers)
        last = (await batches.send())[self.tp]
        ladders = list(self._report.corrections)
        return {ladder: last - len(ladders) + 1 + place for place, ladder in enumerate(ladders)}

    def _settle(self, fold: CorrectedLadders, offsets: Mapping[str, int]) -> list[Output]:
        out: list[Output] = []
        for ladder, offset in offsets.items():
            fold.settle(ladder, offset, out)
        self._report.take(out)
        return out

    def _check(self, fold: CorrectedLadders, rows: Mapping[str, bytes]) -> None:
        """Refuse when the rows of the ladders to correct are not those of the log."""
        folded = {key: orjson.dumps(row) for key, row in fold.changed_rows() if row is not None}
        for key in sorted(folded.keys() | rows.keys()):
            if split_key(key, 3)[1] not in self._report.corrections:
                continue
            if folded.get(key) != rows.get(key):
                raise RebuildError(
                    f"partition {self.tp.partition}: row {key!r} is {rows.get(key)!r} in the changelog, and "
                    f"{folded.get(key)!r} by the log; `ladderlog audit` says more. Nothing was changed"
                )

    def _append_corrected_rows(
        self, fold: CorrectedLadders, rows: Mapping[str, bytes], timestamp: int, batches: Batches
    ) -> None:
        corrected = self._report.corrections
        for key, row in self._fold.changed_rows():
            if split_key(key, 3)[1] not in corrected:
                self._append_row(batches, timestamp, key, row)
        for key, row in fold.changed_rows():
            known = rows.get(key)
            if split_key(key, 3)[1] in corrected and encode_row(row) != known:
                self._append_row(batches, timestamp, key, row)

    async def _records(self, start: int | None, end: int) -> AsyncIterator[ConsumerRecord]:
        if start is not None and start >= end:
            return
        async with reading(self.settings.bootstrap_servers) as reader:
            readable = await end_offset(reader, self.tp)
            if readable < end:
                raise RebuildError(
                    f"partition {self.tp.partition}: a producer's open transaction hides records from offset "
                    f"{readable} on; try again when it has ended"
                )
            async for records in read_up_to(reader, self.tp, start, end):
                for record in records:
                    yield record


def _decoded(record: ConsumerRecord) -> Event | None:
    with suppress(Rejected):
        return decode_consumed(record)
    return None


def _fold_record(fold: CorrectedLadders, record: ConsumerRecord) -> None:
    event = _decoded(record)
    if event is not None:
        # What is rejected has no part in any state; it was published as rejected when it came.
        with suppress(Rejected):
            fold.apply(event, record.offset, [])
