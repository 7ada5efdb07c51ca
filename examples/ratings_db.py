"""What a site keeps of what Ladderlog publishes: ratings, their changes and standings, in SQLite.

A batch of records and the offset behind it go into the database in one transaction. So it holds whatever
happens: killed at any point, a subscriber goes on where its data ends. What it is given again, it knows by
its change_id.
"""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]

_TABLES = """
CREATE TABLE IF NOT EXISTS offsets (
    topic TEXT, partition INTEGER, next INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    change_id TEXT PRIMARY KEY, ladder TEXT NOT NULL, system TEXT NOT NULL, week TEXT NOT NULL,
    player_id TEXT NOT NULL, sequence INTEGER NOT NULL, before REAL NOT NULL, after REAL NOT NULL,
    game_id TEXT, reason TEXT, ended_at TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ratings (
    ladder TEXT, system TEXT, week TEXT, player_id TEXT, sequence INTEGER NOT NULL, rating REAL NOT NULL,
    games INTEGER NOT NULL, PRIMARY KEY (ladder, system, week, player_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS closings (
    ladder TEXT, week TEXT, revision INTEGER, part INTEGER, parts INTEGER NOT NULL, final INTEGER NOT NULL,
    standings TEXT NOT NULL, PRIMARY KEY (ladder, week, revision, part)
) WITHOUT ROWID;
"""


class OtherHistoryError(Exception):
    """What is read does not go on from what is kept: begin again with an empty file."""


class TakenOverError(Exception):
    """Another subscriber on this file reads the partition now: begin again from its offset."""


class RatingsDb:
    """The database, and how far it has come in each partition."""

    def __init__(self, path: Path) -> None:
        # Transactions are begun by hand; others who write wait for their turn.
        self._db = sqlite3.connect(path, isolation_level=None, timeout=60)
        self._db.executescript(f"PRAGMA journal_mode = WAL; {_TABLES}")
        self._next: dict[tuple[str, int], int | None] = {}

    def begin(self, topic: str, partition: int) -> int:
        """Return the offset from which on a partition is to be read, which was assigned a moment ago."""
        sql = "SELECT next FROM offsets WHERE topic = ? AND partition = ?"
        row = self._db.execute(sql, (topic, partition)).fetchone()
        self._next[topic, partition] = None if row is None else row[0]
        return 0 if row is None else int(row[0])

    def apply(self, topic: str, partition: int, values: Iterable[bytes], next_offset: int) -> None:
        """Keep what records say, and that `next_offset` is the next, both or neither.

        Raises OtherHistoryError and TakenOverError.
        """
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for value in values:
                event = json.loads(value)
                if "change_id" in event:
                    self._change(event)
                else:
                    self._close(event)
            self._go_on(topic, partition, next_offset)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        self._next[topic, partition] = next_offset

    def ratings(self, ladder: str, system: str, week: str = "") -> dict[str, float]:
        """Return the rating of every player, the best first."""
        sql = "SELECT player_id, rating FROM ratings WHERE ladder = ? AND system = ? AND week = ?"
        order = " ORDER BY rating DESC, player_id"
        return dict(self._db.execute(sql + order, (ladder, system, week)).fetchall())

    def standings(self, ladder: str, week: str) -> list[Event]:
        """Return the rows of the last revision that has all of its parts; empty when there is none."""
        sql = """
            SELECT revision FROM closings WHERE ladder = ? AND week = ? GROUP BY revision
            HAVING count(*) = max(parts) ORDER BY revision DESC LIMIT 1
        """
        last = self._db.execute(sql, (ladder, week)).fetchone()
        if last is None:
            return []
        sql = "SELECT standings FROM closings WHERE ladder = ? AND week = ? AND revision = ? ORDER BY part"
        parts = self._db.execute(sql, (ladder, week, *last)).fetchall()
        return [row for (part,) in parts for row in json.loads(part)]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _change(self, change: Event) -> None:
        """Take in a change of a rating; corrections and imports are changes like any other."""
        place = (change["ladder"], change["system"], change.get("week", ""), change["player_id"])
        if self._is_known(change["change_id"]):
            return
        sql = "SELECT sequence FROM ratings WHERE ladder = ? AND system = ? AND week = ? AND player_id = ?"
        row = self._db.execute(sql, place).fetchone()
        last = 0 if row is None else row[0]
        if change["sequence"] != last + 1 and not (row is None and change.get("reason") == "import"):
            raise OtherHistoryError(
                f"{change['change_id']}: sequence {change['sequence']} follows {last}; begin again with an "
                "empty file"
            )
        self._db.execute(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                change["change_id"],
                *place,
                *(change[name] for name in ("sequence", "before", "after")),
                *(change.get(name) for name in ("game_id", "reason", "ended_at")),
            ),
        )
        self._db.execute(
            "INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*place, change["sequence"], change["after"], change["statistics"]["games"]),
        )

    def _is_known(self, change_id: str) -> bool:
        return bool(self._db.execute("SELECT 1 FROM changes WHERE change_id = ?", (change_id,)).fetchone())

    def _close(self, closed: Event) -> None:
        """Take in the standings of a week, or a part of them; those of older revisions stay."""
        self._db.execute(
            "INSERT OR REPLACE INTO closings VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(closed[name] for name in ("ladder", "week", "revision")),
                closed.get("part", 1),
                closed.get("parts", 1),
                closed["final"],
                json.dumps(closed["standings"]),
            ),
        )

    def _go_on(self, topic: str, partition: int, next_offset: int) -> None:
        """Store an offset, unless somebody else has gone on in this partition meanwhile."""
        known = self._next[topic, partition]
        if known is None:
            sql = "INSERT OR IGNORE INTO offsets VALUES (?, ?, ?)"
            done = self._db.execute(sql, (topic, partition, next_offset))
        else:
            sql = "UPDATE offsets SET next = ? WHERE topic = ? AND partition = ? AND next = ?"
            done = self._db.execute(sql, (next_offset, topic, partition, known))
        if not done.rowcount:
            raise TakenOverError(f"{topic}/{partition}: offset {known} is not the last any more")
