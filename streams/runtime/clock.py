"""The one clock of the shell: when weeks are over, and what time records carry. The folds have none."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

CLOCK_FILE = "LADDERLOG_CLOCK_FILE"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the present moment, in UTC."""


class SystemClock:
    """The machine's clock, in UTC: the machine's own time zone has no effect."""

    def now(self) -> datetime:
        """Return the present moment."""
        return datetime.now(UTC)


class FileClock:
    """A clock set from outside: the moment that stands in a file, such as 2026-11-29T23:59:59.9+01:00.

    For tests of what happens at midnight and over years, with real processes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def now(self) -> datetime:
        """Return the moment in the file, in UTC. Raises ValueError when there is none with an offset."""
        text = self._path.read_text(encoding="ascii").strip()
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError(
                f"{CLOCK_FILE}: {text!r} in {self._path} has no UTC offset; write one, such as {text}Z"
            )
        return moment.astimezone(UTC)


def clock_of_environment() -> Clock:
    """Return the clock that this process runs by: the machine's, or LADDERLOG_CLOCK_FILE."""
    path = os.environ.get(CLOCK_FILE)
    return SystemClock() if path is None else FileClock(Path(path))


def timestamp_ms(moment: datetime) -> int:
    """Return a moment as the timestamp of a record: whole milliseconds since 1970."""
    return (moment - _EPOCH) // _MILLISECOND
