"""Keeps the log readable while the broker is away, and free of errors while it only starts.

The transactional producer tries again every 5 ms, and aiokafka logs each time: 6,300 lines were measured in
15 seconds without a broker. What it calls an error of a group's coordinator is the first answer of every new
broker, which it asks again.
"""

import logging
import time
from collections.abc import Callable

_LOGGERS = (
    "aiokafka",
    "aiokafka.conn",
    "aiokafka.consumer.fetcher",
    "aiokafka.consumer.group_coordinator",
    "aiokafka.producer.sender",
)
# Seconds.
INTERVAL = 10.0
# What a broker answers as long as it is not ready: the client tries again by itself.
_PASSING = ("CoordinatorNotAvailable", "CoordinatorLoadInProgress", "NotCoordinator")


class OncePerInterval(logging.Filter):
    """Lets a kind of message through once in `INTERVAL` seconds, with the number of those left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last: dict[tuple[str, int], float] = {}
        self._left_out: dict[tuple[str, int], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is logged: all below warning are, of the others one in an interval."""
        if record.levelno < logging.WARNING:
            return True
        kind = (record.name, record.lineno)
        now = self._clock()
        if now - self._last.get(kind, -INTERVAL) < INTERVAL:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return False
        self._last[kind] = now
        left_out = self._left_out.pop(kind, 0)
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more of these were not logged)"
            record.args = ()
        return True


class Passing(logging.Filter):
    """Lets what the client calls an error and gets over by asking again through for whoever debugs alone.

    When it does not get over it, our own watch over the broker says so.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is logged: such a one only when its logger logs what is below a warning."""
        if record.levelno == logging.ERROR and any(word in record.getMessage() for word in _PASSING):
            record.levelno, record.levelname = logging.DEBUG, "DEBUG"
            return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)
        return True


def quieten() -> None:
    """Let the Kafka client repeat itself less, and cry less."""
    filters = (Passing(), OncePerInterval())
    for name in _LOGGERS:
        for one in filters:
            logging.getLogger(name).addFilter(one)
