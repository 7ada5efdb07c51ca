"""A real Apache Kafka that needs neither Docker nor an installed Java, and ends with its parent.

`streams.embedded.jars` has Java and Kafka, `streams.embedded.guard` says how the broker ends with its parent.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from streams.embedded import guard
from streams.embedded.configuration import HOST, Setup, cluster_id, free_port, is_free, prepare
from streams.embedded.errors import BrokerError, PortTakenError
from streams.embedded.jars import KAFKA_VERSION, java, kafka_jars
from streams.embedded.readiness import await_kafka

_PORT_ATTEMPTS = 5
_USUAL = Setup()
# The broker of a parent that was killed a moment ago may still be stopping.
LOCK_PATIENCE = 5.0


class EmbeddedBroker:
    """A single-node Kafka on 127.0.0.1 that lives no longer than this process.

    Without `data` it works in a temporary directory that is removed with it. With `data` everything is kept
    there, and the same object, or another one with the same `port`, can be started on it again. The port is
    chosen at the first start when none is given, and then stays the same. `setup` has what is unusual.
    """

    def __init__(self, data: Path | None = None, port: int | None = None, setup: Setup = _USUAL) -> None:
        self._setup = setup
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
        return int(guard.pid_file(self.data).read_text(encoding="ascii"))

    def start(self, timeout: float = 60) -> None:
        """Start Kafka and return once it answers; `timeout` seconds do not count the first download."""
        if self._guard is not None:
            raise BrokerError("The broker is already running.")
        kafka = (java(), kafka_jars())
        deadline = time.monotonic() + timeout
        attempts = _PORT_ATTEMPTS if self._port is None else 1
        for attempt in range(1, attempts + 1):
            port = self._port or free_port()
            try:
                self._launch(*kafka, port, deadline)
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
        running, data = self._guard, self._data
        self._guard = self._data = None
        if running is not None:
            guard.end(running)
        if data is not None and self._kept is None:
            shutil.rmtree(data, ignore_errors=True)  # for a guard that was killed

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the broker's process: SIGSTOP makes it silent, SIGCONT goes on."""
        os.kill(self.pid, number)

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

    def _launch(self, java_path: Path, jars: list[Path], port: int, deadline: float) -> None:
        address = f"{HOST}:{port}"
        self._data = data = _directory(self._kept)
        try:
            with _held(data) as lock:
                if not is_free(port):
                    raise PortTakenError(
                        f"Port {port} is in use: stop what listens there, or choose another."
                    )
                commands = prepare(data, java_path, jars, port, self._setup)
                self._guard = guard.start(commands, data, lock, temporary=self._kept is None)
            await_kafka(address, deadline, self._check, cluster=lambda: cluster_id(data))
        except TimeoutError as error:
            words = guard.last_words(data)
            raise BrokerError(
                f"Kafka did not answer on {address} in time. Its last words:\n{words}"
            ) from error

    def _check(self) -> None:
        if self._guard is not None and self._guard.poll() is not None:
            raise self._ended(self._guard)

    def _ended(self, running: subprocess.Popen[bytes]) -> BrokerError:
        """Return the error, with the log's last lines from the guard: temporary data is gone by now."""
        words = "" if running.stdout is None else running.stdout.read().decode(errors="replace").strip()
        self.stop()
        if "Address already in use" in words:
            return PortTakenError(f"Kafka found its port in use. Its last words:\n{words}")
        return BrokerError(f"Kafka ended by itself. Its last words:\n{words}")


def run_forever(data: Path | None, port: int | None, echo: Callable[[str], None]) -> None:
    """Run a broker until SIGINT or SIGTERM, and tell its address in one line once it answers."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, guard.interrupt) for number in signals}
    try:
        with suppress(KeyboardInterrupt), EmbeddedBroker(data, port) as broker:
            echo(f"Kafka {KAFKA_VERSION} is ready: LADDERLOG_BOOTSTRAP_SERVERS={broker.bootstrap_servers}")
            broker.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _directory(kept: Path | None) -> Path:
    """Return the directory to work in: the kept one, else a new one that is temporary."""
    if kept is None:
        return Path(tempfile.mkdtemp(prefix="ladderlog-kafka-"))
    kept.mkdir(parents=True, exist_ok=True)
    return kept.resolve()


@contextmanager
def _held(data: Path) -> Iterator[int]:
    """Lock the data directory, and yield the lock's descriptor, which the guard holds until Java has ended.

    Raises BrokerError when another broker holds it.
    """
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
