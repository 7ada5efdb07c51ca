"""A deployment on the test broker: its worker through the command line, its topics through aiokafka."""

import asyncio
import hashlib
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import ConsumerRecord
from club import PARTITIONS, Record
from transcripts import PROGRAM, environment

# Much longer than anything here takes, in seconds.
PATIENCE = 300.0
_POLL = 0.1
# What the tests produce has timestamps before 2026; what the program stamps has the machine's, which cannot
# be compared.
_CLOCK_FROM_MS = 1_767_225_600_000
_LONG_VALUE = 4_000

OUTPUTS = ("competition-closed", "game-ignored", "game-rejected")
Topic = dict[int, list[ConsumerRecord]]


class Deployment:
    """Topics with a prefix and an application id that are the same in every test session."""

    def __init__(self, servers: str, folder: Path, name: str, ladders: str = "ladders.toml") -> None:
        self.folder = folder
        self.name = name
        self.servers = servers
        self.clock = folder / "clock"
        self.settings = {
            "LADDERLOG_BOOTSTRAP_SERVERS": servers,
            "LADDERLOG_TOPIC_PREFIX": f"{name}.",
            "LADDERLOG_APP_ID": name,
            "LADDERLOG_LADDERS": ladders,
            "LADDERLOG_CLOCK_FILE": str(self.clock),
        }

    def topic(self, name: str) -> str:
        """Return the full name of a topic."""
        return f"{self.name}.{name}"

    def produce(self, records: Sequence[Record]) -> None:
        """Send records in order, each with its own timestamp."""
        asyncio.run(_produce(self.servers, self.topic("game-finished"), records))

    def read(self, name: str) -> Topic:
        """Return the committed records of a topic, by partition."""
        return asyncio.run(_read(self.servers, self.topic(name)))

    def set_clock(self, moment: str) -> None:
        """Set the worker's clock, which stands still."""
        new = self.clock.with_suffix(".new")
        new.write_text(moment, encoding="ascii")
        new.replace(self.clock)

    def wait_for_weeks(self, count: int) -> None:
        """Wait until the worker has appended so many week-ended records."""
        deadline = time.monotonic() + PATIENCE
        while (appended := self._weeks_appended()) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{appended} weeks have ended, not {count}")
            time.sleep(_POLL)

    @contextmanager
    def worker(self) -> Iterator[list[str]]:
        """Run a worker, and add to the list, at the end, its exit status and what it said was rejected."""
        said: list[str] = []
        log = self.folder / "worker.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*PROGRAM, "worker"],
                cwd=self.folder,
                env=environment(self.settings),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
            try:
                yield said
                process.send_signal(signal.SIGTERM)
                status = process.wait(PATIENCE)
            finally:
                process.kill()
                process.wait()
        text = log.read_text(errors="backslashreplace")
        rejected = [
            line.partition("rejected ")[2].rstrip() for line in text.split("\n") if "rejected " in line
        ]
        said += ["$ ladderlog worker", f"--- exit status {status}", "--- rejected", *sorted(rejected), ""]

    def _weeks_appended(self) -> int:
        source = ("ce_source", f"ladderlog/{self.name}".encode())
        week = ("ce_type", b"week-ended.v1")
        return sum(
            source in record.headers and week in record.headers
            for records in self.read("game-finished").values()
            for record in records
        )


def shown_topics(deployment: Deployment) -> dict[str, list[str]]:
    """Return every topic as text, line by line.

    Partition by partition in order; in rating-changed, whose partitions several input partitions write to,
    each of these by itself, for how their transactions interleave is chance.
    """
    source = {
        record.key: record.partition
        for records in deployment.read("game-finished").values()
        for record in records
        if record.key
    }
    shown = {
        name: list(_shown(deployment.read(name), lambda record: ""))  # noqa: ARG005 - all in one order
        for name in ("game-finished", *OUTPUTS)
    }
    shown["rating-changed"] = list(
        _shown(
            deployment.read("rating-changed"),
            lambda record: f" from partition {source[orjson.loads(record.value)['ladder'].encode()]}",
        )
    )
    shown["changelog"] = list(_compacted(deployment.read(f"{deployment.name}-ladders-tables")))
    return shown


def _shown(topic: Topic, group: Callable[[ConsumerRecord], str]) -> Iterator[str]:
    for partition, records in sorted(topic.items()):
        groups: dict[str, list[ConsumerRecord]] = defaultdict(list)
        for record in records:
            groups[group(record)].append(record)
        if not groups:
            yield f"--- partition {partition}: no records"
        for name, members in sorted(groups.items()):
            yield f"--- partition {partition}{name}: {len(members)} records"
            for record in members:
                yield _line(record)


def _line(record: ConsumerRecord) -> str:
    stamp = "clock" if record.timestamp >= _CLOCK_FROM_MS else str(record.timestamp)
    headers = " ".join(f"{name}={_text(content)}" for name, content in record.headers)
    return f"{stamp} {_text(record.key)} {_text(record.value)} {headers}"


def _compacted(topic: Topic) -> Iterator[str]:
    """Yield the last value of every key, as after compaction; rows that were deleted are left out."""
    for partition, records in sorted(topic.items()):
        last = {record.key: record for record in records}
        rows = {key: record for key, record in last.items() if record.value is not None}
        yield f"--- partition {partition}: {len(rows)} rows"
        for key, record in sorted(rows.items()):
            yield f"{_text(key)} {_text(record.value)} {record.headers or ''}".rstrip()


def _text(content: bytes | None) -> str:
    if content is None:
        return "(none)"
    if len(content) > _LONG_VALUE:
        return f"({len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()})"
    # One record, one line.
    return content.decode(errors="backslashreplace").replace("\n", "\\n")


async def _produce(servers: str, topic: str, records: Sequence[Record]) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=servers, acks="all", enable_idempotence=True, max_request_size=4 * 1024 * 1024
    ) as producer:
        sent = [await producer.send(topic, **record.arguments()) for record in records]
        await asyncio.gather(*sent)


async def _read(servers: str, topic: str) -> Topic:
    tps = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    read: Topic = {tp.partition: [] for tp in tps}
    options: dict[str, Any] = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
    async with AIOKafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False, **options) as consumer:
        ends = await consumer.end_offsets(tps)
        consumer.assign(tps)
        for tp in tps:
            while await consumer.position(tp) < ends[tp]:
                for other, records in (await consumer.getmany(timeout_ms=100)).items():
                    read[other.partition] += records
    return read
