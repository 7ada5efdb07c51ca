"""The embedded broker: a real Kafka that starts, answers, survives a crash and never outlives its parent."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.embedded.broker import EmbeddedBroker, run_forever
from streams.embedded.errors import BrokerError
from streams.embedded.jars import kafka_jars
from streams.embedded.providers import provided

pytestmark = pytest.mark.kafka

VALUES = [b"first", b"second"]
PARENT = """
import json, sys, time
from streams.embedded.broker import EmbeddedBroker
broker = EmbeddedBroker()
broker.start()
print(json.dumps({"pid": broker.pid, "data": str(broker.data)}), flush=True)
time.sleep(600)
"""


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(fact: Callable[[], bool], seconds: float = 15) -> bool:
    """Say whether the fact becomes true in time; what it waits for happens in another process."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


async def topics(servers: str) -> set[str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        return set(await admin.list_topics())
    finally:
        await admin.close()


async def create(servers: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    finally:
        await admin.close()


async def produce(servers: str, topic: str, values: list[bytes]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=servers, acks="all") as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def consume(servers: str, topic: str, count: int) -> list[bytes]:
    async with AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        return [(await asyncio.wait_for(consumer.getone(), 30)).value for _ in range(count)]


@pytest.fixture(scope="module")
def kept_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """Yield a broker that keeps its data, with records in it."""
    with EmbeddedBroker(tmp_path_factory.mktemp("kept")) as started:
        asyncio.run(create(started.bootstrap_servers, "games"))
        asyncio.run(produce(started.bootstrap_servers, "games", VALUES))
        yield started


@pytest.fixture
def kept(kept_broker: EmbeddedBroker) -> EmbeddedBroker:
    """Return the broker that keeps its data, running whatever the test before did to it."""
    with suppress(BrokerError):
        if kept_broker.pid:
            return kept_broker
    kept_broker.start()
    return kept_broker


def test_a_broker_answers_and_is_gone_after_stop() -> None:
    broker = EmbeddedBroker()
    broker.start()
    pid, data = broker.pid, broker.data

    assert broker.bootstrap_servers.startswith("127.0.0.1:")
    assert lives(pid)
    assert asyncio.run(topics(broker.bootstrap_servers)) == set()

    broker.stop()
    broker.stop()

    assert not lives(pid)
    assert not data.exists()


def test_a_broker_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        told = json.loads(parent.stdout.readline())

        assert lives(told["pid"])

        parent.send_signal(signal.SIGKILL)

    assert eventually(lambda: not lives(told["pid"]))
    assert eventually(lambda: not Path(told["data"]).exists())


def test_a_second_broker_on_the_same_data_is_an_error(
    kept: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.embedded.broker.LOCK_PATIENCE", 0.2)
    with pytest.raises(BrokerError, match="Another broker is running on the data"):
        EmbeddedBroker(kept.data).start()

    assert asyncio.run(topics(kept.bootstrap_servers)) == {"games"}


def test_two_brokers_live_side_by_side(broker: EmbeddedBroker, kept: EmbeddedBroker) -> None:
    assert "games" in asyncio.run(topics(kept.bootstrap_servers))
    assert "games" not in asyncio.run(topics(broker.bootstrap_servers))


def test_a_broker_that_crashes_ends_the_waiting_and_starts_again_with_its_records(
    kept: EmbeddedBroker,
) -> None:
    data, servers = kept.data, kept.bootstrap_servers
    os.kill(kept.pid, signal.SIGKILL)

    with pytest.raises(BrokerError, match="Kafka ended by itself"):
        kept.wait()
    assert data.exists()

    kept.start()

    assert kept.bootstrap_servers == servers
    assert asyncio.run(topics(servers)) == {"games"}
    assert asyncio.run(consume(servers, "games", 2)) == VALUES


def test_kept_data_is_there_for_another_broker(kept: EmbeddedBroker) -> None:
    data = kept.data
    kept.stop()
    with EmbeddedBroker(data) as other:
        assert asyncio.run(topics(other.bootstrap_servers)) == {"games"}


def test_a_taken_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(BrokerError, match=f"Port {port} is in use"):
            EmbeddedBroker(port=port).start()


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "meta.properties").write_text("version=1\ncluster.id=another\nnode.id=7\n")

    with pytest.raises(BrokerError, match=r"(?s)Kafka ended by itself.*node"):
        EmbeddedBroker(tmp_path).start()


def test_a_broker_that_is_too_slow_is_gone_again() -> None:
    broker = EmbeddedBroker()

    with pytest.raises(BrokerError, match="did not answer"):
        broker.start(timeout=0.3)
    with pytest.raises(BrokerError, match="not running"):
        _ = broker.data


def test_a_failed_download_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LADDERLOG_MAVEN_REPOSITORY", f"http://127.0.0.1:{port}")

    with pytest.raises(BrokerError) as caught:
        EmbeddedBroker().start()

    assert "could not be downloaded (" in str(caught.value)
    assert "Connection refused): check the network" in str(caught.value)
    assert "LADDERLOG_BOOTSTRAP_SERVERS" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("*.jar"))


def test_cached_jars_need_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    jars = kafka_jars()
    monkeypatch.setenv("LADDERLOG_MAVEN_REPOSITORY", "http://127.0.0.1:1")

    assert kafka_jars() == jars
    assert len(jars) > 20


def test_given_servers_come_before_an_embedded_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LADDERLOG_BOOTSTRAP_SERVERS", "environment:9092")

    with provided(None) as servers:
        assert servers == "environment:9092"
    with provided("argument:9092") as servers:
        assert servers == "argument:9092"


def test_the_embedded_broker_is_provided_by_default_also_while_an_event_loop_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LADDERLOG_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.delenv("LADDERLOG_BROKER", raising=False)

    async def inside() -> set[str]:
        with provided(None) as servers:
            return await topics(servers)

    assert asyncio.run(inside()) == set()


def test_containers_without_an_engine_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LADDERLOG_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setenv("LADDERLOG_BROKER", "testcontainers")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")

    with pytest.raises(BrokerError, match="no container engine answers"), provided(None):
        pass


def test_an_unknown_kind_of_broker_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LADDERLOG_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setenv("LADDERLOG_BROKER", "zookeeper")

    with pytest.raises(BrokerError, match="'zookeeper'"), provided(None):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_run_forever(number: signal.Signals) -> None:
    told: list[str] = []

    def echo(line: str) -> None:
        told.append(line)
        threading.Timer(0.2, os.kill, (os.getpid(), number)).start()

    before = signal.getsignal(number)
    run_forever(None, None, echo)

    assert len(told) == 1
    assert "127.0.0.1:" in told[0]
    assert signal.getsignal(number) == before
