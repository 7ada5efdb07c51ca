"""An operator's afternoon: a secured cluster, topics, two watched workers, a site's producer, a crash."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import producer_confluent
import pytest
import yaml
from deployed import load
from project import PROJECT
from promql import STALE, Rules, Series
from scraping import Port, by_label, samples
from secured import PASSWORD, USER, SecuredBroker, ladderlog, secured_broker

from streams.runtime.clock import SystemClock
from streams.runtime.rights import Right, rights_of
from streams.runtime.settings import Settings
from streams.testing import CLUB_LADDERS, club_games

pytestmark = pytest.mark.kafka

GAMES = list(club_games(600))
# Prometheus looks once in a minute; here a minute is over as soon as everybody has answered.
MINUTE = 60.0
PATIENCE = 120.0
# Longer than a worker of this machine takes to answer, and no worker that is gone keeps anybody waiting.
SOON = 20.0


class Cluster:
    """A secured cluster with its users' files, and the workers that were started on it."""

    def __init__(self, broker: SecuredBroker, folder: Path) -> None:
        self.broker = broker
        self.folder = folder
        self.config = str(broker.properties(folder))
        self.servers = broker.servers("SASL_SSL")
        self.workers: dict[Port, subprocess.Popen[bytes]] = {}

    def run(self, command: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as an operator would."""
        given = ("--bootstrap-servers", self.servers, "--command-config", self.config)
        return ladderlog(command, *given, *arguments, timeout=PATIENCE)

    def start_worker(self) -> Port:
        """Start a worker that shows its metrics."""
        port = Port.free()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")}
        with (self.folder / f"worker-{port.number}.log").open("wb") as log:
            self.workers[port] = subprocess.Popen(
                [
                    *(sys.executable, "-m", "streams", "worker", "--bootstrap-servers", self.servers),
                    *("--command-config", self.config, "--ladders", str(CLUB_LADDERS)),
                    *(*port.options, "--log-format", "json"),
                ],
                env={**inherited, "PYTHONPATH": str(PROJECT)},
                stdout=log,
                stderr=log,
            )
        return port

    def send(self, games: list[object]) -> int:
        """Send games as a site does, by the producer of the examples."""
        file = self.folder / "games.jsonl"
        file.write_bytes(b"\n".join(map(msgspec.json.encode, games)) + b"\n")
        properties = self.folder / "producer.properties"
        ca = self.broker.certificates.ca
        properties.write_text(
            f"bootstrap.servers={self.servers}\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
            f"sasl.username={USER}\nsasl.password={PASSWORD}\nssl.ca.location={ca}\n"
        )
        return producer_confluent.main([str(properties), str(file)])


class Prometheus:
    """What asks the workers and reads the audit's file, and judges what it has seen by the alert rules."""

    def __init__(self, ports: list[Port], audit: Path) -> None:
        self.series = Series()
        self._rules = Rules(load("prometheus/rules/ladderlog.yaml")["groups"], self.series)
        self._ports = ports
        self._audit = audit
        self._now = SystemClock().now().timestamp()

    def look(self, minutes: int) -> dict[str, list[dict[str, str]]]:
        """Look once a minute, and give the alerts that fire at the end, each with its labels."""
        for _ in range(minutes):
            self._now += MINUTE
            for port in self._ports:
                self._scrape(port)
            if self._audit.exists():
                self._add("ladderlog-audit", "node", self._audit.read_text(encoding="utf-8"))
            self._rules.evaluate(self._now)
        return {alert: [dict(labels) for labels in found] for alert, found in self._rules.firing.items()}

    def _scrape(self, port: Port) -> None:
        instance = str(port.number)
        try:
            _, text = port.text("/metrics", SOON)
        except OSError:
            self._mark_stale(instance)
            text = "up 0\n"
        else:
            text += "up 1\n"
        self._add("ladderlog", instance, text)

    def _add(self, job: str, instance: str, text: str) -> None:
        for (name, labels), value in samples(text).items():
            target = {("job", job), ("instance", instance)}
            self.series.add(name, labels | target, self._now, value)

    def _mark_stale(self, instance: str) -> None:
        for by_labels in self.series.samples.values():
            for labels, known in by_labels.items():
                if ("instance", instance) in labels and known[-1][1] is not STALE:
                    known.append((self._now, STALE))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with secured_broker(tmp_path) as broker:
        cluster = Cluster(broker, tmp_path)
        yield cluster
        for worker in cluster.workers.values():
            worker.kill()
            worker.wait()


def await_partitions(ports: list[Port], partitions: int) -> None:
    """Wait until workers are ready and own so many partitions together."""
    deadline = time.monotonic() + PATIENCE
    while True:
        owned = [port.scrape()["ladderlog_partitions_owned", frozenset()] for port in ports if answers(port)]
        if sum(owned) == partitions and all(port.ready()[0] == 200 for port in ports):
            return
        assert time.monotonic() < deadline, owned
        time.sleep(0.2)


def answers(port: Port) -> bool:
    try:
        return port.text("/livez")[0] == 200
    except OSError:
        return False


def test_a_secured_deployment_that_loses_a_worker_is_watched_and_loses_nothing(cluster: Cluster) -> None:
    settings = Settings(cluster.servers)
    create = {Right("CREATE", "topic", topic) for topic in settings.all_topics}
    asked = {
        right
        for command in ("topics", "worker", "produce", "status", "audit")
        for right in rights_of(settings, command)
    }
    cluster.broker.grant(create | asked)
    made = cluster.run("topics")
    assert made.returncode == 0, made.stderr
    cluster.broker.grant(asked)
    one, other = cluster.start_worker(), cluster.start_worker()
    await_partitions([one, other], 4)
    audit = cluster.folder / "audit.prom"
    prometheus = Prometheus([one, other], audit)

    # A usual evening.
    assert cluster.send(GAMES[:400]) == 0
    done = cluster.run("status", "--wait", "60")
    assert done.returncode == 0, done.stdout + done.stderr
    checked = cluster.run("audit", "--textfile", str(audit))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert prometheus.look(15) == {}

    # A worker dies. Before the group has noticed, nobody has its partitions.
    cluster.workers[one].kill()
    cluster.workers[one].wait()
    firing = prometheus.look(7)
    assert firing["LadderlogWorkerMissing"] == [
        {"job": "ladderlog", "instance": str(one.number), "severity": "critical"}
    ]
    assert firing["LadderlogPartitionWithoutWorker"] == [{"job": "ladderlog", "severity": "critical"}]

    # The other takes them over, and goes on.
    assert cluster.send(GAMES[400:]) == 0
    await_partitions([other], 4)
    done = cluster.run("status", "--wait", "60")
    assert done.returncode == 0, done.stdout + done.stderr
    firing = prometheus.look(12)
    assert firing.keys() == {"LadderlogWorkerMissing", "LadderlogFewerWorkers"}

    checked = cluster.run("audit", "--textfile", str(audit))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert samples(audit.read_text())["ladderlog_audit_differences", frozenset()] == 0
    assert yaml.safe_load(cluster.run("status", "--json").stdout)["behind"] == 0
    assert by_label(other.scrape(), "ladderlog_lag_records", "partition") == {}
