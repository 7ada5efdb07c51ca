"""The worker that `ladderlog run` shows: a process of its own, as `ladderlog worker` starts it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from streams.embedded.errors import ShowError
from streams.runtime.clock import CLOCK_FILE
from streams.runtime.connection import Secret, Security
from streams.runtime.settings import Settings

POLL = 0.25
# A worker that does not finish within this is broken, on any machine.
PATIENCE = 300.0
_STOP_PATIENCE = 30.0
_SHOWN_LINES = 15


class WorkerEndedError(Exception):
    """The worker ended by itself."""


class WorkerProcess:
    """A worker at work."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def check(self) -> None:
        """Raise WorkerEndedError when it has ended."""
        if self._process.poll() is not None:
            raise WorkerEndedError(f"the worker ended with status {self._process.returncode}:")

    def await_owner(self, log: Path, partitions: int) -> None:
        """Wait until the worker's log says that it owns all its partitions."""
        deadline = time.monotonic() + PATIENCE
        while log.read_text(errors="replace").count("owner from offset") < partitions:
            self.check()
            if time.monotonic() > deadline:
                raise ShowError(f"the worker does not own its partitions after {PATIENCE:.0f} seconds")
            time.sleep(POLL)

    def stop(self) -> None:
        """Stop the worker in order, or else with SIGKILL."""
        process = self._process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin is not None:
            process.stdin.close()


@contextmanager
def worker_of(settings: Settings, ladder_file: Path) -> Iterator[WorkerProcess]:
    """Yield a worker that owns every partition, and stop it at the end.

    Raises ShowError when it does not come to own them. WorkerEndedError, from within as well, becomes a
    ShowError with its last words.
    """
    with (
        tempfile.NamedTemporaryFile(prefix="ladderlog-worker-", suffix=".log") as log,
        # Not a variable nor an option: others would see a password there.
        tempfile.NamedTemporaryFile(
            prefix="ladderlog-worker-", suffix=".properties", mode="w", encoding="utf-8"
        ) as properties,
    ):
        properties.write(properties_of(settings.security))
        properties.flush()
        process = subprocess.Popen(  # noqa: S603 - our own command
            _command(settings, properties.name),
            env=_environment(settings, ladder_file),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        worker = WorkerProcess(process)
        try:
            worker.await_owner(Path(log.name), settings.partitions)
            yield worker
        except WorkerEndedError as error:
            lines = Path(log.name).read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
            raise ShowError("\n  ".join([str(error), *lines])) from error
        finally:
            worker.stop()


def properties_of(security: Security) -> str:
    """Return how the broker is reached as the lines of a file for --command-config, secrets included."""
    lines = []
    for field in fields(security):
        value = getattr(security, field.name)
        if value is not None:
            name = "security.protocol" if field.name == "protocol" else field.name.replace("_", ".")
            text = str(value.value if isinstance(value, Secret) else value)
            escaped = text.replace("\\", "\\\\")
            lines.append(f"{name}={escaped}\n")
    return "".join(lines)


def _command(settings: Settings, properties: str) -> list[str]:
    """Return the command of the worker.

    Said in options, so that variables set for another deployment do not lead the worker there.
    """
    return [
        *(sys.executable, "-m", "streams", "worker", "--until-stdin-ends"),
        *("--command-config", properties),
        *("--app-id", settings.app_id, "--partitions", str(settings.partitions)),
        *("--topic-prefix", settings.topic_prefix, "--output-prefix", settings.topic_prefix),
    ]


def _environment(settings: Settings, ladder_file: Path) -> dict[str, str]:
    """Return the environment of the worker: nothing in it is of another deployment."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")}
    return {
        **others,
        **({CLOCK_FILE: os.environ[CLOCK_FILE]} if CLOCK_FILE in os.environ else {}),
        "LADDERLOG_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
        "LADDERLOG_LADDERS": str(ladder_file.resolve()),
    }
