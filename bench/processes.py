"""Processes that are measured: started, watched by their log, and asked for their CPU and memory."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import streams
from streams.runtime.settings import Settings

BENCH = Path(__file__).parent
_POLL = 0.02
_STOP_PATIENCE = 20.0
_SHOWN_LINES = 15


class BenchError(Exception):
    """A measurement could not be taken; the message says why."""


class Process:
    """A process under measurement, its output in a log file."""

    def __init__(self, popen: "subprocess.Popen[bytes]", log: Path) -> None:
        self._popen = popen
        self._log = log

    def check(self) -> None:
        """Raise BenchError with the last lines of the log when the process has ended."""
        if self._popen.poll() is not None:
            raise BenchError(
                f"{self._popen.args!r} ended with status {self._popen.returncode}:\n{self._tail()}"
            )

    def wait_for(self, pattern: str, patience: float) -> "re.Match[str]":
        """Wait until a line of the log matches."""
        deadline = time.monotonic() + patience
        while True:
            found = re.search(pattern, self._log.read_text(errors="replace"))
            if found is not None:
                return found
            self.check()
            if time.monotonic() > deadline:
                raise BenchError(f"no line {pattern!r} within {patience:.0f} s:\n{self._tail()}")
            time.sleep(_POLL)

    def cpu_seconds(self) -> float | None:
        """Give the CPU time used so far, of all threads; None where there is no /proc."""
        try:
            fields = (
                Path(f"/proc/{self._popen.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            )
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Give the largest resident memory so far; where there is no /proc, end the process to learn it."""
        with suppress(OSError):
            status = Path(f"/proc/{self._popen.pid}/status").read_text(encoding="ascii")
            found = re.search(r"VmHWM:\s+(\d+) kB", status)
            if found is not None:
                return int(found[1]) * 1024
        self._popen.send_signal(signal.SIGTERM)
        _, status_word, usage = os.wait4(self._popen.pid, 0)
        self._popen.returncode = os.waitstatus_to_exitcode(status_word)
        return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)

    def stop(self) -> None:
        """Stop the process with SIGTERM, or SIGKILL when that is not heard."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)
        try:
            self._popen.wait(_STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:])


@contextmanager
def started(
    command: Sequence[str], log: Path, variables: Mapping[str, str] | None = None
) -> Iterator[Process]:
    """Run a command of this Python as long as the block, with more environment variables if given."""
    with log.open("wb") as output:
        popen = subprocess.Popen(
            [sys.executable, *command],
            env={**environment(), **(variables or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    process = Process(popen, log)
    try:
        yield process
    finally:
        process.stop()


def environment() -> dict[str, str]:
    """Give the environment in which a child finds the same Ladderlog as this process."""
    return {**os.environ, "PYTHONPATH": str(Path(streams.__file__).parent.parent), "PYTHONUNBUFFERED": "1"}


def output_of(command: Sequence[str]) -> bytes:
    """Run a command of this Python and give its standard output."""
    done = subprocess.run([sys.executable, *command], env=environment(), capture_output=True, check=False)
    if done.returncode:
        raise BenchError(
            f"{command} ended with status {done.returncode}:\n{done.stderr.decode(errors='replace')}"
        )
    return done.stdout


def worker_command(settings: Settings, ladders: Path) -> list[str]:
    """Give the arguments of `ladderlog worker` for a deployment."""
    return ["-m", "streams", "worker", *kafka_options(settings), "--ladders", str(ladders)]


def kafka_options(settings: Settings) -> list[str]:
    """Give a deployment's settings as options of the command line."""
    return [
        f"--bootstrap-servers={settings.bootstrap_servers}",
        f"--app-id={settings.app_id}",
        f"--topic-prefix={settings.topic_prefix}",
        f"--partitions={settings.partitions}",
    ]
