"""A deployment of its own on the test broker: its topics, what goes in, and what came out of it."""

import asyncio
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.structs import ConsumerRecord
from expected import unfinished
from season import LADDER_FILE, START

from streams.core.events import RATING_CHANGED
from streams.core.rules import parse_ladders
from streams.replay.audit import AuditRequest, audit
from streams.runtime.changelog import WATERMARK, decode_watermark
from streams.runtime.produce import Sender, produce_events
from streams.runtime.reader import await_settled
from streams.runtime.settings import Settings
from streams.runtime.topics import ensure_topics
from streams.testing import problems
from streams.testing.topics import Records, read_topic

PARTITIONS = 4
# Much longer than anything here takes; a test that waits so long has failed.
PATIENCE = 120.0
_POLL = 0.1

__all__ = ["read_topic"]


@dataclass
class Watermark:
    """What the last transaction of a partition says of itself."""

    offset: int
    counts: dict[str, int]


class NoBar:
    """A progress bar for nobody."""

    def update(self, _steps: int) -> None:
        """Show nothing."""


class Site:
    """One deployment: topics with its own prefix and application id, and a ladder file."""

    def __init__(self, servers: str, folder: Path, name: str) -> None:
        self.folder = folder
        self.settings = Settings(servers, app_id=name, topic_prefix=f"{name}.", partitions=PARTITIONS)
        self.ladder_file = folder / "ladders.toml"
        self.ladder_file.write_text(LADDER_FILE)
        self.rules = parse_ladders(tomllib.loads(LADDER_FILE))
        self.clock_file = folder / "clock"
        self.set_clock(START)
        asyncio.run(ensure_topics(self.settings))

    def set_clock(self, moment: datetime) -> None:
        """Set the workers' clock, which stands still: weeks end by the records of the season, unless set."""
        new = self.clock_file.with_suffix(".new")
        new.write_text(moment.isoformat())
        new.replace(self.clock_file)

    def wait_for_weeks(self, wanted: list[bytes]) -> None:
        """Wait until the workers have appended these week-ended records."""
        deadline = time.monotonic() + PATIENCE
        while not set(wanted) <= set(self.weeks_ended()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"only {self.weeks_ended()} have ended")
            time.sleep(_POLL)

    def weeks_ended(self) -> list[bytes]:
        """Give the ids of the week-ended records that workers have appended to the log."""
        headers = [
            dict(found.headers)
            for records in self.read(self.settings.input_topic).values()
            for found in records
        ]
        source = self.settings.source.encode()
        return [found["ce_id"] for found in headers if found.get("ce_source") == source]

    def produce(self, events: Iterable[dict[str, Any]]) -> None:
        """Send events to the input topic; every one must be taken."""
        report = asyncio.run(
            produce_events(self.settings, (dict(event) for event in events), "test", NoBar())
        )
        assert report.failed == []

    def produce_records(
        self, records: Iterable[dict[str, Any]], topic: str | None = None, **options: Any
    ) -> None:
        """Send records as they are: the arguments of aiokafka's `send`, without the topic."""
        asyncio.run(self._produce_records(records, topic or self.settings.input_topic, options))

    def read(self, topic: str) -> Records:
        """Read all committed records of a topic (its full name), by partition."""
        return asyncio.run(read_topic(self.settings.connection, topic))

    def read_output(self, name: str) -> list[ConsumerRecord]:
        """Read what was published to a topic of this deployment, partition after partition."""
        return [record for records in self.read(self.settings.topic(name)).values() for record in records]

    def committed(self) -> dict[int, int]:
        """Give the group's committed offsets; 0 where there is none yet."""
        return asyncio.run(self._committed())

    def commit(self, offsets: dict[int, int]) -> None:
        """Move the group's offsets, as an operator's tool would."""
        asyncio.run(self._commit(offsets))

    def wait_for_progress(self, games: int = 1, interval: float = _POLL) -> int:
        """Wait until so many records more are done, and give the number of all that are done."""
        return asyncio.run(self._wait(games, interval))

    def wait_until_done(self) -> None:
        """Wait until the group has committed the end of what is in the input topic now."""
        asyncio.run(self._wait_until_done())

    def forget_members(self) -> None:
        """Let the members of the group leave it: what the session timeout does, without the waiting."""
        asyncio.run(self._forget_members())

    def members(self) -> int:
        """Count the members of the group, dead ones included."""
        return len(asyncio.run(self._members()))

    def watermarks(self) -> dict[int, Watermark]:
        """Read the watermark row of every partition that has one."""
        return {
            partition: Watermark(*decode_watermark(rows[WATERMARK.decode()]))
            for partition, rows in self._rows().items()
            if WATERMARK.decode() in rows
        }

    def differences(self) -> list[str]:
        """Say what in Kafka differs from the fold of the input topic as it is there; nothing is expected."""
        report = asyncio.run(audit(AuditRequest(self.settings, self.rules, limit=3)))
        marks = {partition: mark.offset for partition, mark in self.watermarks().items()}
        return [
            *(difference.text() for difference in report.differences),
            *report.notes,
            *unfinished(self.read(self.settings.input_topic), self.committed(), marks),
            *problems(self.read_output(RATING_CHANGED)),
        ]

    def _rows(self) -> dict[int, dict[str, bytes]]:
        rows: dict[int, dict[str, bytes]] = {}
        for partition, records in self.read(self.settings.changelog_topic).items():
            last = {record.key.decode(): record.value for record in records}
            rows[partition] = {key: value for key, value in last.items() if value is not None}
        return rows

    async def _produce_records(
        self, records: Iterable[dict[str, Any]], topic: str, options: dict[str, Any]
    ) -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=self.settings.bootstrap_servers,
            acks="all",
            max_request_size=32 * 1024 * 1024,
            **options,
        ) as producer:
            # One after the other: the order is part of what is tested.
            for record in records:
                await producer.send_and_wait(topic, **record)

    async def _group(self, use: Callable[[AIOKafkaConsumer, list[TopicPartition]], Any]) -> Any:
        topic = self.settings.input_topic
        tps = [TopicPartition(topic, partition) for partition in range(self.settings.partitions)]
        async with AIOKafkaConsumer(
            bootstrap_servers=self.settings.bootstrap_servers,
            group_id=self.settings.app_id,
            enable_auto_commit=False,
        ) as consumer:
            return await use(consumer, tps)

    async def _committed(self) -> dict[int, int]:
        return await self._group(_committed)

    async def _commit(self, offsets: dict[int, int]) -> None:
        async def commit(consumer: AIOKafkaConsumer, tps: list[TopicPartition]) -> None:
            consumer.assign(tps)
            await consumer.commit({tp: offsets[tp.partition] for tp in tps if tp.partition in offsets})

        await self._group(commit)

    async def _wait(self, games: int, interval: float) -> int:
        async def wait(consumer: AIOKafkaConsumer, tps: list[TopicPartition]) -> int:
            wanted = sum((await _committed(consumer, tps)).values()) + games
            deadline = time.monotonic() + PATIENCE
            while (done := sum((await _committed(consumer, tps)).values())) < wanted:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{done} records done, not {wanted}")
                await asyncio.sleep(interval)
            return done

        return await self._group(wait)

    async def _wait_until_done(self) -> None:
        wanted, done = await self._wanted(), {}
        # What was done may have forwarded records, which are to be done too.
        while wanted != done:
            await self._wait_for_offsets(wanted)
            wanted, done = await self._wanted(), wanted

    async def _wanted(self) -> dict[int, int]:
        """Give the offset behind the last record of each partition, when all that is there is committed."""
        connection, topic = self.settings.connection, self.settings.input_topic
        await await_settled(connection, topic, self.settings.partitions)
        records = await read_topic(connection, topic)
        return {partition: found[-1].offset + 1 for partition, found in records.items() if found}

    async def _wait_for_offsets(self, wanted: dict[int, int]) -> None:
        async def wait(consumer: AIOKafkaConsumer, tps: list[TopicPartition]) -> None:
            deadline = time.monotonic() + PATIENCE
            while True:
                done = await _committed(consumer, tps)
                if all(done[partition] >= offset for partition, offset in wanted.items()):
                    return
                if time.monotonic() > deadline:
                    raise TimeoutError(f"offsets {done} are committed, not {wanted}")
                await asyncio.sleep(_POLL)

        await self._group(wait)

    async def _members(self) -> list[str]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.settings.bootstrap_servers)
        await admin.start()
        try:
            (response,) = await admin.describe_consumer_groups([self.settings.app_id])
            return [member[0] for group in response.groups for member in group[5]]
        finally:
            await admin.close()

    async def _forget_members(self) -> None:
        members = await self._members()
        admin = AIOKafkaAdminClient(bootstrap_servers=self.settings.bootstrap_servers)
        await admin.start()
        try:
            coordinator = await admin.find_coordinator(self.settings.app_id)
            for member in members:
                # The admin client has no call of its own for it.
                await admin._send_request(  # noqa: SLF001 - as said above
                    LeaveGroupRequest(self.settings.app_id, member), coordinator
                )
        finally:
            await admin.close()


class Load:
    """Produces events at a steady rate, in a thread of its own, from entering the block to leaving it."""

    def __init__(self, site: Site, source: Iterator[dict[str, Any]], rate: int) -> None:
        self._site = site
        self._source = source
        self._rate = rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._produce()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(PATIENCE)

    async def _produce(self) -> None:
        async with Sender(self._site.settings, "test") as sender:
            while not self._ended.is_set():
                for event in islice(self._source, self._rate // 10):
                    await sender.send(dict(event))
                await asyncio.sleep(0.1)


async def _committed(consumer: AIOKafkaConsumer, tps: list[TopicPartition]) -> dict[int, int]:
    return {tp.partition: await consumer.committed(tp) or 0 for tp in tps}
