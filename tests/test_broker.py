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
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.runtime.broker import BrokerError, EmbeddedBroker, kafka_jars, provided, run_forever

pytestmark = pytest.mark.kafka

PARENT = """
import json, sys, time
from streams.runtime.broker import EmbeddedBroker
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
    """Whether the fact becomes true in time; what it waits for happens in another process."""
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


def test_a_broker_starts_while_an_event_loop_runs() -> None:
    async def inside() -> set[str]:
        with EmbeddedBroker() as broker:
            return await topics(broker.bootstrap_servers)

    assert asyncio.run(inside()) == set()


def test_a_broker_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        told = json.loads(parent.stdout.readline())

        assert lives(told["pid"])

        parent.send_signal(signal.SIGKILL)

    assert eventually(lambda: not lives(told["pid"]))
    assert eventually(lambda: not Path(told["data"]).exists())


def test_a_killed_broker_starts_again_with_its_records(tmp_path: Path) -> None:
    values = [b"first", b"second"]
    with EmbeddedBroker(tmp_path) as broker:
        servers = broker.bootstrap_servers
        asyncio.run(create(servers, "games"))
        asyncio.run(produce(servers, "games", values))
        broker.kill()

        assert tmp_path.exists()

        broker.start()

        assert broker.bootstrap_servers == servers
        assert asyncio.run(topics(servers)) == {"games"}
        assert asyncio.run(consume(servers, "games", 2)) == values


def test_kept_data_is_there_for_another_broker(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as first:
        asyncio.run(create(first.bootstrap_servers, "games"))
    with EmbeddedBroker(tmp_path) as second:
        assert asyncio.run(topics(second.bootstrap_servers)) == {"games"}


def test_two_brokers_live_side_by_side() -> None:
    with EmbeddedBroker() as one, EmbeddedBroker() as other:
        asyncio.run(create(one.bootstrap_servers, "games"))

        assert asyncio.run(topics(one.bootstrap_servers)) == {"games"}
        assert asyncio.run(topics(other.bootstrap_servers)) == set()


def test_waiting_for_a_broker_that_crashes_is_an_error() -> None:
    with EmbeddedBroker() as broker:
        os.kill(broker.pid, signal.SIGKILL)

        with pytest.raises(BrokerError, match="Kafka ended by itself"):
            broker.wait()


def test_a_taken_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(BrokerError, match=f"Port {port} is in use"):
            EmbeddedBroker(port=port).start()


def test_a_second_broker_on_the_same_data_is_an_error(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as first:
        with pytest.raises(BrokerError, match="Another broker is running on the data"):
            EmbeddedBroker(tmp_path).start()

        assert asyncio.run(topics(first.bootstrap_servers)) == set()


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


def test_the_embedded_broker_is_provided_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LADDERLOG_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.delenv("LADDERLOG_BROKER", raising=False)

    with provided(None) as servers:
        assert asyncio.run(topics(servers)) == set()


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
