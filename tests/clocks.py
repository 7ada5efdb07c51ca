"""Clocks of the project's own kind, for processes: one that stands still, and one that goes on."""

import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

_STEP = 0.05

# Days on which something differs, with a time zone of the machine: the week's last, the year's last, and two
# on which clocks change, each ten seconds before it happens.
MOMENTS = {
    "a-tuesday": ("2026-12-08T12:00:00Z", "Pacific/Kiritimati"),
    "the-end-of-a-week": ("2026-11-29T23:59:50Z", "America/New_York"),
    "the-end-of-a-week-in-paris": ("2026-11-29T22:59:50Z", "Europe/Paris"),
    "the-end-of-a-year": ("2026-12-31T23:59:50Z", "Pacific/Kiritimati"),
    "clocks-go-forward": ("2027-03-28T00:59:50Z", "Europe/Paris"),
    "clocks-go-back": ("2027-10-31T00:59:50Z", "Europe/Paris"),
}


def standing(folder: Path, moment: str) -> Path:
    """Return the file of a clock that stands still."""
    file = folder / "clock"
    file.write_text(moment, encoding="ascii")
    return file


class RunningClock:
    """A clock that goes on from a moment as long as the block, as fast as the machine's."""

    def __init__(self, folder: Path, moment: str) -> None:
        self.file = standing(folder, moment)
        self._moment = datetime.fromisoformat(moment)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        started = time.monotonic()
        new = self.file.with_suffix(".new")
        while not self._ended.wait(_STEP):
            now = self._moment + timedelta(seconds=time.monotonic() - started)
            new.write_text(now.isoformat(), encoding="ascii")
            new.replace(self.file)
