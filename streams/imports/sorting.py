"""Games in the order of their ends, whatever the file's: kept on disk until all are there."""

import re
import sqlite3
from contextlib import closing
from datetime import datetime

import orjson

from streams.files.report import FileReport
from streams.imports.event_sink import LineSink, note_players
from streams.imports.simultaneous import Simultaneous

_NUMBER = re.compile(r"\d+")


class SortedLines:
    """Takes lines as a file does and hands them on by `ended_at` when finished.

    Games that ended at one moment come by their ids, which do not depend on the file's order, and are noted.
    """

    def __init__(self, out: LineSink, report: FileReport) -> None:
        self._out = out
        self._report = report
        # An empty name is a temporary file of SQLite's own, gone with the connection.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE lines (ended REAL, id TEXT, line BLOB)")
        self._database.execute("BEGIN")

    def write(self, line: bytes, /) -> None:
        """Keep a line; one without an end, such as a starting figure, comes before all others."""
        event = orjson.loads(line)
        ended = _ended(event.get("ended_at"))
        self._database.execute(
            "INSERT INTO lines VALUES (?, ?, ?)", (ended, _key(event.get("game_id")), line)
        )

    def finish(self) -> None:
        """Write everything out."""
        simultaneous = Simultaneous()
        with closing(self._database):
            for ended, line in self._database.execute(
                "SELECT ended, line FROM lines ORDER BY ended, id, rowid"
            ):
                self._out.write(line)
                event = orjson.loads(line)
                if "players" in event:
                    players = [seat["player_id"] for seat in event["players"]]
                    simultaneous.take(event["ladder"], ended, players)
        simultaneous.close()
        if simultaneous.games:
            count = simultaneous.games
            self._report.note(
                f"games that ended at the moment of another one, in the order of their ids: {count}"
            )
        note_players(simultaneous, self._report)


def _ended(ended_at: str | None) -> float:
    return 0.0 if ended_at is None else datetime.fromisoformat(ended_at.upper()).timestamp()


def _key(game_id: str | None) -> str:
    """Return what ids are compared by: game-9 comes before game-10."""
    return "" if game_id is None else f"{_NUMBER.sub(_comparable, game_id)} {game_id}"


def _comparable(digits: re.Match[str]) -> str:
    """Return a number with how long it is before it, so that shorter ones come first."""
    plain = digits[0].lstrip("0")
    return f"{len(plain):03}{plain}"
