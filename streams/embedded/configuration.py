"""How a single node is set up: Kafka's settings, its ports, and the commands that run it."""

import base64
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streams.runtime.clock import CLOCK_FILE

HOST = "127.0.0.1"
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
# Below the ephemeral ports of Linux (32768) and macOS (49152): no outgoing connection can take the port
# while a killed broker is away, and a client that keeps trying cannot connect to itself on it.
_PORTS = range(20_000, 32_000)

# Measured on 2 cores with 1.2 GB in batches of 256 KiB: the first compiler tier with the serial collector was
# up in 4.2 s and used 12 s of CPU, the whole compiler 5 s or more and 14 to 18 s (parallel, serial), for no
# more MB/s. Kafka passes batches through unchanged, so an optimiser has little to win back.
_JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
)


def kafka_settings(listen: str, host: str, port: int, controller: int) -> dict[str, str]:
    """Return Kafka's settings of a single node that listens on one address and is known by another."""
    # Kafka refuses records from more than an hour ahead of its own clock, the machine's. Where a clock is set
    # from outside, its moments are what records carry, and it may stand ahead of the machine's.
    ahead = {"log.message.timestamp.after.max.ms": str(2**63 - 1)} if CLOCK_FILE in os.environ else {}
    return {
        **ahead,
        "process.roles": "broker,controller",
        "node.id": "1",
        # Named voters rather than a dynamic quorum: the controller's port may change between two starts.
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{listen}:{port},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{host}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        # A misspelt topic is an error, not a new topic with one partition.
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        # Ten years: after the default, a week, kept data has lost the offset that its rows are those of.
        "offsets.retention.minutes": "5256000",
        # There is one broker, and 50 partitions of each internal topic would only cost start time.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        # After a crash the controller holds the place of the dead broker, which is itself, for this long: a
        # restart took 13 s with the default of 9 s.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
        # 128 MiB by default, a quarter of the heap; 32 MiB still compacts 1.2 million keys in one pass.
        "log.cleaner.dedupe.buffer.size": str(32 * 1024 * 1024),
    }


def free_port() -> int:
    """Return a port that nobody listens on."""
    return next(port for port in iter(lambda: _PORTS[secrets.randbelow(len(_PORTS))], None) if is_free(port))


def is_free(port: int) -> bool:
    """Say whether nobody listens on a port."""
    with socket.socket() as probe:
        # As Java binds: connections of an earlier broker that linger in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def controller_port(port: int) -> int:
    """Return a free port for the controller, another one than the broker's."""
    while (controller := free_port()) == port:
        pass
    return controller


@dataclass(frozen=True)
class Setup:
    """What a broker has beside the usual settings: `amend` returns what they become.

    `scram_users` are the name and password of each user that there is from the beginning.
    """

    amend: Callable[[dict[str, str]], dict[str, str]] = dict
    scram_users: Mapping[str, str] = field(default_factory=dict)

    def format_options(self) -> list[str]:
        """Return the options that format data with its users."""
        return [
            option
            for mechanism in SCRAM_MECHANISMS
            for name, password in self.scram_users.items()
            for option in ("--add-scram", f"{mechanism}=[name={name},password={password}]")
        ]


def prepare(data: Path, java: Path, jars: list[Path], port: int, setup: Setup) -> list[list[str]]:
    """Write the settings, and return the commands that format new data and run the broker."""
    settings = setup.amend(kafka_settings(HOST, HOST, port, controller_port(port)))
    settings["log.dirs"] = str(_logs(data))
    file = data / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    base = [str(java), *_JAVA_OPTIONS, "-cp", os.pathsep.join(map(str, jars))]
    run = [*base, "kafka.Kafka", str(file)]
    if cluster_id(data):
        return [run]
    # A first byte of 0 keeps the id from beginning with a dash, which would read as an option.
    cluster = base64.urlsafe_b64encode(b"\0" + secrets.token_bytes(15)).decode().rstrip("=")
    return [
        [*base, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file), *setup.format_options()],
        run,
    ]


def cluster_id(data: Path) -> str | None:
    """Return the id that formatted data carries; None when it is not formatted yet."""
    try:
        lines = (_logs(data) / "meta.properties").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    return next((line.partition("=")[2] for line in lines if line.startswith("cluster.id=")), None)


def _logs(data: Path) -> Path:
    return data / "logs"
