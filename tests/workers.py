"""Worker processes, started as a user would start them and, on request, again as a service manager would."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from project import PROJECT
from sites import PATIENCE, Site

from streams.runtime.clock import CLOCK_FILE

# What a service manager does not start again: an orderly end, and a refusal that needs an operator.
ENDED, REFUSED = 0, 78
OWNER = "owner from offset"


class Worker:
    """One `ladderlog worker`, in an empty folder of its own, with its log beside it."""

    def __init__(
        self,
        site: Site,
        name: str,
        *,
        restarted: bool = False,
        program: Sequence[str] = ("-m", "streams"),
        options: Sequence[str] = (),
    ) -> None:
        self.home = site.folder / name
        self.home.mkdir()
        self.log_file = site.folder / f"{name}.log"
        self.statuses: list[int] = []
        self._site = site
        self._restarted = restarted
        self._program = program
        self._options = options
        self._ended = False
        self._start()
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self._thread.start()

    @property
    def log(self) -> str:
        """The log of this worker, of all its processes."""
        return self.log_file.read_text(errors="replace")

    def found(self, pattern: str) -> list[str]:
        """Give the log lines in which a pattern is."""
        return [line for line in self.log.splitlines() if re.search(pattern, line)]

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Wait until a pattern is in so many lines of the log."""
        deadline = time.monotonic() + PATIENCE
        while len(self.found(pattern)) < times:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise TimeoutError(f"{pattern!r} is not {times} times in the log:\n{self.log[-5_000:]}")
            time.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process that runs now."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until the worker has ended for good, and give its last exit status."""
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            raise TimeoutError(f"still running:\n{self.log[-5_000:]}")
        return self.statuses[-1]

    def stop(self) -> int:
        """Stop the worker in order, and give its exit status."""
        self._ended = True
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End the process with SIGKILL and do not start it again."""
        self._ended = True
        self.signal(signal.SIGKILL)
        self.wait()

    def _start(self) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": str(PROJECT),
            "LADDERLOG_BOOTSTRAP_SERVERS": self._site.settings.bootstrap_servers,
            "LADDERLOG_LADDERS": str(self._site.ladder_file),
            "LADDERLOG_APP_ID": self._site.settings.app_id,
            CLOCK_FILE: str(self._site.clock_file),
            "LADDERLOG_TOPIC_PREFIX": self._site.settings.topic_prefix,
        }
        if self._site.settings.output_prefix is not None:
            environment["LADDERLOG_OUTPUT_PREFIX"] = self._site.settings.output_prefix
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._program, "worker", *self._options],
                cwd=self.home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _supervise(self) -> None:
        while True:
            self.statuses.append(self._process.wait())
            if self._ended or not self._restarted or self.statuses[-1] in (ENDED, REFUSED):
                return
            self._start()
