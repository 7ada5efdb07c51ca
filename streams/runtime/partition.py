"""One partition and its one writer: rows from the changelog, then a transaction for every batch.

The law (docs/explanation/decisions.md): rows, published events and the batch's end offset are written in one
Kafka transaction by a producer whose transactional id names the partition. Starting that producer fences a
former owner. A watermark row, written in every transaction, must equal the group's committed offset.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import orjson
from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.events import CorrectionsApplied, Event, Rejected
from streams.core.ladder import Folded
from streams.core.ladders import Ladders
from streams.core.manifest import Manifest
from streams.core.outcomes import OutcomeCounts
from streams.core.publications import Publication
from streams.core.rules import LadderRules
from streams.processor import EVENTS_TOGETHER, Decoded, Fold, no_collection, process
from streams.runtime import metrics
from streams.runtime.changelog import MANIFEST, WATERMARK, decode_manifest, decode_watermark, read_changelog
from streams.runtime.clock import clock_of_environment, timestamp_ms
from streams.runtime.deployment import manifest_now
from streams.runtime.folds import kind_of
from streams.runtime.group_progress import GroupProgress
from streams.runtime.homes import Place, at_home
from streams.runtime.layout import PartitionsChangedError
from streams.runtime.logs import about
from streams.runtime.metrics import BatchAccount
from streams.runtime.reader import LogProbe, end_offset, high_watermarks, new_reader
from streams.runtime.refusals import ManifestRow, RefusedError, check_marker, check_offset, settle_manifest
from streams.runtime.rejections import named_game
from streams.runtime.settings import Settings
from streams.runtime.transaction import (
    TRANSACTION_TIMEOUT_MS,
    TXN_MARKER_OFFSETS,
    PartitionTransaction,
    PartitionWriter,
)
from streams.runtime.week_timer import WeekTimer, week_ended_record
from streams.wire.timestamps import NO_TIMESTAMP, published_timestamp

log = logging.getLogger(__name__)


class Partition:
    """The owner of one input partition: `open` it, `apply` batches in order, `close` it.

    `ladders` is the fold of all records before `next_offset`, and `counts` says what became of these. Without
    `forwards` another deployment on the same input forwards what is away from home. Not safe for concurrent
    use: one task owns it.
    """

    def __init__(
        self,
        settings: Settings,
        rules: Mapping[str, LadderRules],
        partition: int,
        transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS,
        *,
        forwards: bool = True,
    ) -> None:
        self.settings = settings
        self._clock = clock_of_environment()
        self.tp = TopicPartition(settings.input_topic, partition)
        self.next_offset = 0
        self.is_open = False
        self.games = 0
        self.counts = OutcomeCounts()
        # For who watches: when the last transaction was committed, in seconds since 1970, and what it ended
        # with.
        self.last_transaction = 0.0
        self.last_record: ConsumerRecord | None = None
        self.ladders = Ladders(rules)
        self._rules = rules
        self._kind = kind_of(settings)
        self._changelog = TopicPartition(settings.changelog_topic, partition)
        # Behind the marker of our last transaction; -1 while nothing was loaded.
        self._changelog_end = -1
        # What the changelog does not say yet of the rules it is made by.
        self._manifest: Manifest | None = None
        self._writer = PartitionWriter(settings, partition, transaction_timeout_ms)
        self._log_probe = LogProbe(settings.connection, self.tp)
        self._week_timer = WeekTimer(self._log_probe, GroupProgress(settings))
        self._forwards = forwards
        self._account = BatchAccount()
        self._fold_here = self._accounted(at_home(self._fold, self.place))

    @property
    def number(self) -> int:
        """Return the number of the partition."""
        return int(self.tp.partition)

    async def open(self) -> None:
        """Fence a former owner, load the rows, and compare the watermark with the committed offset.

        Rows still held from an earlier time as owner are kept when nobody has written since. Raises
        RefusedError when the state must not be used.
        """
        started = time.monotonic()
        try:
            await self._writer.start()
        except PartitionsChangedError as error:
            raise RefusedError(str(error)) from error
        self._fold_here = self._accounted(at_home(self._fold, self.place))
        loaded = await self._load()
        if self._manifest is not None:
            await self._write_manifest(self._manifest)
        log.info(
            "partition %d: owner from offset %d on, %s in %.2f s",
            self.tp.partition,
            self.next_offset,
            "rows kept" if loaded is None else f"{loaded} rows loaded",
            time.monotonic() - started,
        )
        metrics.LOADING_SECONDS.observe(time.monotonic() - started)
        self.last_transaction = self._clock.now().timestamp()
        self.is_open = True

    async def apply(self, records: Sequence[ConsumerRecord]) -> None:
        """Apply records in log order and commit what follows from them in one transaction.

        The first record is the one at `next_offset`, or the first behind a gap that is known to be real.
        Raises RefusedError at corrections of this deployment that the rows are of before.
        """
        started = time.monotonic()
        self._account = BatchAccount()
        before = replace(self.counts)
        transaction = self.new_transaction()
        for start in range(0, len(records), EVENTS_TOGETHER):
            try:
                self.fold(records[start : start + EVENTS_TOGETHER], transaction)
            except RefusedError:
                # A rebuild may have taken the partition over a moment ago; then its rows are not lost.
                await self._check_owner()
                raise
            # A pause for heartbeats and other partitions, after about 5 ms.
            await asyncio.sleep(0)
        self.next_offset = records[-1].offset + 1
        timestamp = published_timestamp(records[-1].timestamp)
        transaction.append_rows(self.ladders.changed_rows(), timestamp)
        transaction.append_watermark(self.next_offset, self.counts, timestamp)
        async with transaction.open():
            last_offsets = await transaction.send()
            await transaction.send_offset(self.next_offset)
        self._changelog_end = last_offsets[self._changelog] + 1 + TXN_MARKER_OFFSETS
        self.games += len(records)
        self.last_transaction = self._clock.now().timestamp()
        self.last_record = records[-1]
        self._account.commit(self.counts.since(before), time.monotonic() - started)

    def fold(self, records: Sequence[ConsumerRecord], transaction: PartitionTransaction) -> None:
        """Apply a few records to the ladders; what they publish goes to the transaction, no rows yet.

        Raises RefusedError at corrections that a rebuild of this deployment has put into force.
        """
        sink = _Sink(self.settings, transaction, self._week_timer, forwards=self._forwards)
        process(self._fold_here, records, self._kind.decode, sink, self.counts)

    async def _check_owner(self) -> None:
        """Raise KafkaError when somebody else has taken the partition over."""
        transaction = self.new_transaction()
        async with transaction.open():
            await transaction.send_offset(self.next_offset)

    async def end_weeks(self, now: datetime) -> None:
        """Append the week-ended records that are due to the log, each once, in a transaction of their own.

        They end weeks, or publish those once more that late games have amended.

        A fenced owner's transaction fails, so that two never append the same. The records lie behind all
        games that are on the log by then, however late it is.
        """
        due = await self._week_timer.due(self.ladders, self.next_offset, now)
        if not due:
            return
        transaction = self.new_transaction()
        timestamp = timestamp_ms(now)
        for week in due:
            transaction.append_input(week_ended_record(week, self.settings.source), timestamp)
        async with transaction.open():
            await transaction.send()
        self._week_timer.note_appended(due, now)
        log.info(
            "partition %d: %d weeks ended or amended, %s first", self.tp.partition, len(due), due[0].event_id
        )

    async def close(self) -> None:
        """Stop the producer; rows stay in memory for the case that the partition comes back."""
        self.is_open = False
        await self._writer.stop()
        await self._log_probe.close()
        await self._week_timer.close()

    def new_transaction(self) -> PartitionTransaction:
        """Return an empty transaction of this partition. Raises RuntimeError when it is not open."""
        return self._writer.new_transaction()

    @property
    def place(self) -> Place:
        """Return which ladders are at home here; known once the partition was opened."""
        return Place(self._writer.homes, self.tp.partition, self._kind.subject)

    async def first_offset_from(self, offset: int) -> int | None:
        """Return the offset of the first record on the log from an offset on; None when there is none yet."""
        return await self._log_probe.first_offset(offset)

    def _fold(self, _records: Sequence[ConsumerRecord], events: Sequence[Decoded]) -> Sequence[Folded]:
        return self.ladders.fold(events)

    def _accounted(self, fold: Fold[ConsumerRecord]) -> Fold[ConsumerRecord]:
        def fold_and_note(records: Sequence[ConsumerRecord], events: Sequence[Decoded]) -> Sequence[Folded]:
            folded = fold(records, events)
            self._account.note(folded)
            return folded

        return fold_and_note

    async def _load(self) -> int | None:
        """Load the rows and check them; return their number, or None when those held are still right."""
        reader = new_reader(self.settings.connection, group_id=self.settings.app_id)
        await reader.start()
        try:
            log_ends = await high_watermarks(self.settings.connection, [self.tp])
            self._week_timer.start(log_ends[self.tp], self._writer.homes.partitions)
            end = await end_offset(reader, self._changelog)
            committed = await reader.committed(self.tp)
            if end == self._changelog_end and (committed or 0) == self.next_offset:
                return None
            rows, end = await read_changelog(reader, self._changelog)
        finally:
            await reader.stop()
        offset, counts = decode_watermark(rows.pop(WATERMARK, None))
        check_offset(self.settings, self.tp, offset, committed, log_ends[self.tp])
        self._settle_manifest(rows, offset)
        loaded = len(rows)
        try:
            self.ladders = self._load_rows(rows)
        except (Rejected, ValueError, TypeError, KeyError) as error:
            raise RefusedError(
                f"partition {self.tp.partition}: the changelog {self._changelog.topic} is damaged: "
                f"{error!r}. Stop the workers and run `ladderlog restore`"
            ) from error
        self._changelog_end = end
        self.next_offset = offset
        self.counts = OutcomeCounts(**counts)
        return loaded

    def _settle_manifest(self, rows: dict[bytes, bytes], offset: int) -> None:
        """Take the manifest out of the rows, and see that they are of these rules. Raises RefusedError."""
        there = ManifestRow(decode_manifest(rows.pop(MANIFEST, None)), offset)
        now = manifest_now(self.settings, self._rules)
        self._manifest = settle_manifest(self.settings, self.tp.partition, there, now, rows)

    async def _write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest before anything follows from its rules: whoever looks knows the deployment."""
        transaction = self.new_transaction()
        # Without a timestamp: a clock that is far ahead of the broker's must not keep a worker from starting.
        transaction.append_manifest(manifest, NO_TIMESTAMP)
        async with transaction.open():
            last_offsets = await transaction.send()
        self._changelog_end = last_offsets[self._changelog] + 1 + TXN_MARKER_OFFSETS
        self._manifest = None

    def _load_rows(self, rows: dict[bytes, bytes]) -> Ladders:
        """Return ladders with these rows, which are taken out of the dictionary one by one to save memory."""
        ladders = Ladders(self._rules)
        # Nothing of this is garbage, and looking at all of it again and again takes a seventh of the time.
        with no_collection():
            while rows:
                key, value = rows.popitem()
                ladders.load(key.decode(), orjson.loads(value))
        # A million rows: no garbage collection needs to look at them again.
        gc.freeze()
        return ladders


class _Sink:
    """Takes what the fold of a partition puts out: into a transaction, and past the timer of its weeks."""

    def __init__(
        self,
        settings: Settings,
        transaction: PartitionTransaction,
        week_timer: WeekTimer,
        *,
        forwards: bool,
    ) -> None:
        self._settings = settings
        self._transaction = transaction
        self._week_timer = week_timer
        self._forwards = forwards

    def publish(self, item: ConsumerRecord, event: Event, published: Sequence[Publication]) -> None:
        """Append what follows from a record, and let the timer know of it.

        Raises RefusedError at corrections that a rebuild of this deployment has put into force.
        """
        if isinstance(event, CorrectionsApplied):
            check_marker(self._settings, item, event)
        self._week_timer.note(event)
        self._transaction.publish(item, event, published)

    def reject(self, item: ConsumerRecord, rejected: Rejected) -> None:
        """Append a rejected record, and log it."""
        position = (item.topic, item.partition, item.offset)
        game_id = named_game(item.value)
        game = "" if game_id is None else f", game {game_id!r}"
        extra = about(*position, reason=rejected.reason, game_id=game_id)
        log.warning("rejected %s/%d/%d%s (%s): %s", *position, game, rejected.reason, rejected, extra=extra)
        self._transaction.reject(item, rejected)

    def forward(self, item: ConsumerRecord, event: Event) -> None:
        """Append a copy of a record to its home, unless another deployment does so."""
        if self._forwards:
            self._transaction.forward(item, event)
