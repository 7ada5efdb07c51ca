"""One partition and its one writer: rows from the changelog, then a transaction for every batch.

The law (docs/decisions.md): rows, published events and the batch's end offset are written in one Kafka
transaction by a producer whose transactional id names the partition. Starting that producer fences a former
owner. A watermark row, written in every transaction, must equal the group's committed offset.
"""

import asyncio
import gc
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.events import GAME_REJECTED, RATING_CHANGED, WEEK_ENDED, Game, Rejected, WeekEnded
from streams.core.ladders import Ladders
from streams.core.outcomes import OutcomeCounts
from streams.core.publications import Publication
from streams.processor import EVENTS_TOGETHER, decode_all, no_collection
from streams.runtime.batches import Batches, partition_of
from streams.runtime.changelog import WATERMARK, PartitionState, encode_row, encode_watermark, read_changelog
from streams.runtime.reader import end_offset, first_offset, high_watermarks, new_reader
from streams.runtime.rejections import rejected_record
from streams.runtime.settings import Settings
from streams.wire.decode import decode_consumed
from streams.wire.encode import encode_event, encode_published

log = logging.getLogger(__name__)

_MAX_BATCH_BYTES = 900_000
_MAX_REQUEST_BYTES = 8 * 1024 * 1024
# Right after a commit the broker may answer CONCURRENT_TRANSACTIONS for a moment; the default of 100 ms
# would make every transaction wait that long.
_RETRY_BACKOFF_MS = 5
# An open transaction of a worker that died holds up every read_committed reader until the next owner's
# producer starts, at most this long. A transaction of 30,000 games takes well under two seconds.
_TRANSACTION_TIMEOUT_MS = 20_000
# A transaction's end is marked in every partition it wrote to; the marker takes an offset.
_TXN_MARKER_OFFSETS = 1
# Week-ended records appended in one go: about 10 ms. The rest follows a second later.
_MAX_WEEKS_AT_ONCE = 2_000
# A partition whose last game ended this shortly ago by the clock has come up to the present.
_LIVE_SECONDS = 3_600

# What a week-ended record says: ladder, week, final.
_Ending = tuple[str, str, bool]


class RefusedError(Exception):
    """The partition's state is not what its committed offset says, or not of these rules: do not run."""


class Partition:
    """The owner of one input partition: `open` it, `apply` batches in order, `close` it.

    Not safe for concurrent use: one task owns it.
    """

    transaction_timeout_ms = _TRANSACTION_TIMEOUT_MS

    def __init__(self, settings: Settings, new_fold: Callable[[], Ladders], partition: int) -> None:
        self.settings = settings
        self.tp = TopicPartition(settings.input_topic, partition)
        self.next_offset = 0
        self.is_open = False
        self.games = 0
        self.counts = OutcomeCounts()
        self._new_fold = new_fold
        self._fold = new_fold()
        self._changelog = TopicPartition(settings.changelog_topic, partition)
        self._changelog_end = -1
        self._end_at_open = 0
        # Week-ended records appended since then that the fold has not applied yet.
        self._appended_weeks: set[_Ending] = set()
        self._last_game_ended = -math.inf
        self._source = settings.source.encode()
        self._producer: AIOKafkaProducer | None = None
        self._reader: AIOKafkaConsumer | None = None
        self._rating_changed = settings.topic(RATING_CHANGED)
        self._rating_changed_partitions = 1

    async def open(self) -> None:
        """Fence a former owner, load the rows, and compare the watermark with the committed offset.

        Rows still held from an earlier time as owner are kept when nobody has written since. Raises
        RefusedError when the state must not be used.
        """
        started = time.monotonic()
        producer = AIOKafkaProducer(
            bootstrap_servers=self.settings.bootstrap_servers,
            transactional_id=self.settings.transactional_id(self.tp.partition),
            transaction_timeout_ms=self.transaction_timeout_ms,
            acks="all",
            max_batch_size=_MAX_BATCH_BYTES,
            max_request_size=_MAX_REQUEST_BYTES,
            retry_backoff_ms=_RETRY_BACKOFF_MS,
        )
        await producer.start()
        self._producer = producer
        self._rating_changed_partitions = len(await producer.partitions_for(self._rating_changed))
        loaded = await self._load()
        log.info(
            "partition %d: owner from offset %d on, %s in %.2f s",
            self.tp.partition,
            self.next_offset,
            "rows kept" if loaded is None else f"{loaded} rows loaded",
            time.monotonic() - started,
        )
        self.is_open = True

    async def apply(self, records: Sequence[ConsumerRecord]) -> None:
        """Apply records in log order and commit what follows from them in one transaction.

        The first record is the one at `next_offset`, or the first behind a gap that was found to be real.
        """
        producer = self._started_producer()
        batches = Batches(producer)
        for start in range(0, len(records), EVENTS_TOGETHER):
            self._apply_few(records[start : start + EVENTS_TOGETHER], batches)
            # A pause for heartbeats and other partitions, after about 5 ms.
            await asyncio.sleep(0)
        self.next_offset = records[-1].offset + 1
        self._append_rows(batches, records[-1].timestamp)
        async with producer.transaction():
            written = await batches.send()
            await producer.send_offsets_to_transaction({self.tp: self.next_offset}, self.settings.app_id)
        self._changelog_end = written[self._changelog] + 1 + _TXN_MARKER_OFFSETS
        self.games += len(records)

    async def end_weeks(self, now: datetime) -> None:
        """Append the week-ended records that are due to the log, each once, in a transaction of their own.

        A record appended by a former owner lies before the end that the log had when this one opened; until
        the fold has come that far, nothing is appended. A fenced owner's transaction fails, so that two
        never append the same. Records lie behind all games that are on the log by then, however late it is.
        """
        due = [ended for ended in self._fold.weeks_due(now) if _ending(ended) not in self._appended_weeks]
        if not due or not await self._is_up_to(now):
            return
        del due[_MAX_WEEKS_AT_ONCE:]
        batches = Batches(self._started_producer())
        timestamp = timestamp_ms(now)
        for ended in due:
            event_id = f"{ended.ladder}/{ended.week}/{'final' if ended.final else 'midnight'}"
            fields = {"ladder": ended.ladder, "week": ended.week, "final": ended.final}
            key, value, headers = encode_event(WEEK_ENDED, fields, self.settings.source, event_id)
            batches.append(self.tp, timestamp, key, value, headers)
        async with self._started_producer().transaction():
            await batches.send()
        self._appended_weeks.update(map(_ending, due))
        first = "/".join(map(str, _ending(due[0])[:2]))
        log.info("partition %d: %d weeks ended, %s first", self.tp.partition, len(due), first)

    async def close(self) -> None:
        """Stop the producer; rows stay in memory for the case that the partition comes back."""
        self.is_open = False
        producer, self._producer = self._producer, None
        reader, self._reader = self._reader, None
        if producer is not None:
            await producer.stop()
        if reader is not None:
            await reader.stop()

    async def first_offset_from(self, offset: int) -> int | None:
        """Ask the broker which record comes first from an offset on; None when there is none yet."""
        return await first_offset(await self._started_reader(), self.tp, offset)

    async def _is_up_to(self, now: datetime) -> bool:
        """Say whether the fold knows all that former owners appended, and has come up to the present.

        Up to the present: its last game ended a short while ago, or there is nothing left to read. While
        games of the past are being produced, their weeks seem to be long over; ended at once, they would
        turn the rest of their games into late ones.
        """
        live = now.timestamp() - self._last_game_ended < _LIVE_SECONDS
        if live and self.next_offset >= self._end_at_open:
            return True
        # Asked in this order: what becomes readable in between is seen by the second question.
        readable = await end_offset(await self._started_reader(), self.tp)
        first = await self.first_offset_from(self.next_offset)
        if first is None:
            # Only transaction markers are left, unless a producer's open transaction hides more.
            return readable >= self._end_at_open
        return live and first >= self._end_at_open

    async def _started_reader(self) -> AIOKafkaConsumer:
        if self._reader is None:
            self._reader = new_reader(self.settings.bootstrap_servers)
            await self._reader.start()
        return self._reader

    def _apply_few(self, records: Sequence[ConsumerRecord], batches: Batches) -> None:
        events = decode_all(decode_consumed, records)
        folded = self._fold.fold(events)
        for record, event, (_, published, rejected) in zip(records, events, folded, strict=True):
            if rejected is not None:
                self._reject(record, rejected, batches)
                continue
            if type(event) is Game:
                self._last_game_ended = event.ended_epoch
            elif isinstance(event, WeekEnded):
                self._appended_weeks.discard(_ending(event))
            position = f"{record.topic}/{record.partition}/{record.offset}"
            self._append_published(published, position, record.timestamp, batches)
        self.counts.count_all([outcome for outcome, _, _ in folded])

    def _append_published(
        self, publications: Iterable[Publication], position: str, timestamp: int, batches: Batches
    ) -> None:
        for topic, (key, value, headers) in encode_published(publications, self._source, position):
            if topic == RATING_CHANGED:
                target = (self._rating_changed, partition_of(key, self._rating_changed_partitions))
            else:
                target = (self.settings.topic(topic), self.tp.partition)
            batches.append(target, timestamp, key, value, headers)

    def _reject(self, record: ConsumerRecord, rejected: Rejected, batches: Batches) -> None:
        log.warning(
            "rejected %s/%d/%d (%s): %s",
            record.topic,
            record.partition,
            record.offset,
            rejected.reason,
            rejected,
        )
        target = (self.settings.topic(GAME_REJECTED), self.tp.partition)
        batches.append(target, record.timestamp, *rejected_record(rejected, record))

    def _append_rows(self, batches: Batches, timestamp: int) -> None:
        for key, row in self._fold.changed_rows():
            self._append_row(batches, timestamp, key, row)
        self._append_watermark(batches, timestamp)

    def _append_row(self, batches: Batches, timestamp: int, key: str, row: Any | None) -> None:
        batches.append(self._changelog, timestamp, key.encode(), encode_row(row))

    def _append_watermark(self, batches: Batches, timestamp: int) -> None:
        watermark = encode_watermark(self.next_offset, self.counts)
        batches.append(self._changelog, timestamp, WATERMARK.encode(), watermark)

    async def _load(self) -> int | None:
        """Load the rows and check them; return their number, or None when those held are still right."""
        reader = new_reader(self.settings.bootstrap_servers, group_id=self.settings.app_id)
        await reader.start()
        try:
            self._end_at_open = (await high_watermarks(self.settings.bootstrap_servers, [self.tp]))[self.tp]
            self._appended_weeks = set()
            end = await end_offset(reader, self._changelog)
            committed = await reader.committed(self.tp)
            if end == self._changelog_end and (committed or 0) == self.next_offset:
                return None
            state = await read_changelog(reader, self._changelog)
            loaded = len(state.rows)
            self._fold = self._load_rows(state.rows)
        except (Rejected, ValueError) as error:
            raise RefusedError(f"partition {self.tp.partition}: {error}") from error
        finally:
            await reader.stop()
        self._changelog_end = state.end
        self._check_watermark(state, committed)
        return loaded

    def _load_rows(self, rows: dict[str, bytes]) -> Ladders:
        """Return a fold with these rows, which are taken out of the dictionary one by one to save memory."""
        fold = self._new_fold()
        # Nothing of this is garbage, and looking at all of it again and again takes a seventh of the time.
        with no_collection():
            while rows:
                key, value = rows.popitem()
                fold.load(key, orjson.loads(value))
        # A million rows: no garbage collection needs to look at them again.
        gc.freeze()
        return fold

    def _check_watermark(self, state: PartitionState, committed: int | None) -> None:
        if state.offset != (committed or 0):
            group = self.settings.app_id
            raise RefusedError(
                f"{self.tp.topic} partition {self.tp.partition}: the rows are those of offset "
                f"{state.offset}, but group {group!r} has committed offset {committed}. Somebody moved the "
                f"group's offset, it expired, or the changelog {self._changelog.topic} was changed. To go on "
                f"from the rows, stop the workers and set the group's offset back to {state.offset} "
                f"(kafka-consumer-groups.sh --reset-offsets --to-offset {state.offset}); to rebuild the rows "
                f"from the log, start under another --app-id."
            )
        self.next_offset = state.offset
        self.counts = OutcomeCounts(**state.counts)

    def _started_producer(self) -> AIOKafkaProducer:
        if self._producer is None:
            raise RuntimeError(f"partition {self.tp.partition} is not open")
        return self._producer


def _ending(ended: WeekEnded) -> _Ending:
    return ended.ladder, ended.week, ended.final
