"""Games in the order of their ends, whatever the file's: kept on disk until all are there."""

import sqlite3
from contextlib import closing
from datetime import datetime

import orjson

from streams.imports.event_sink import LineSink


class SortedLines:
    """Takes lines as a file does and hands them on by `ended_at`, equal ones as they came, when finished."""

    def __init__(self, out: LineSink) -> None:
        self._out = out
        # An empty name is a temporary file of SQLite's own, gone with the connection.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE lines (ended REAL, line BLOB)")
        self._database.execute("BEGIN")

    def write(self, line: bytes, /) -> None:
        """Keep a line; one without an end, such as a starting figure, comes before all others."""
        ended_at = orjson.loads(line).get("ended_at")
        ended = 0.0 if ended_at is None else datetime.fromisoformat(ended_at.upper()).timestamp()
        self._database.execute("INSERT INTO lines VALUES (?, ?)", (ended, line))

    def finish(self) -> None:
        """Write everything out."""
        with closing(self._database):
            for (line,) in self._database.execute("SELECT line FROM lines ORDER BY ended, rowid"):
                self._out.write(line)
