"""The games that a ladder remembers, so that one that comes again is not rated again.

Pure: standard library only.
"""

from collections.abc import Iterator
from typing import Any

from streams.core.events import Game

_HOUR = 3600


class DeduplicationWindow:
    """Which games were seen in the last span of event time, and what they said.

    Event time is that of the ladder: the latest end of a game so far, which the `future` rule bounds. A game
    is kept by the hour of that time at which it was seen (not by its own end: a late game is remembered as
    long as any), so that an hour's games are forgotten together.
    """

    def __init__(self, span_seconds: int) -> None:
        self._span = span_seconds // _HOUR
        # As little as possible for each game: there may be a million.
        self._digests: dict[str, int] = {}
        self._versions: dict[str, int] = {}
        self._hours: dict[int, list[str]] = {}
        self._forgotten: list[str] = []
        self._changes: list[tuple[int, list[str]]] = []
        # All games that ended before 1970 are of one hour.
        self._advance(-1)

    def digest(self, game_id: str) -> int | None:
        """Return the digest of a game; None when it is not remembered."""
        return self._digests.get(game_id)

    def version(self, game_id: str) -> int:
        """Return the version of a game that is remembered."""
        return self._versions.get(game_id, 1)

    def set_version(self, game_id: str, version: int) -> None:
        """Remember a game as that version, which `add` takes for the first."""
        self._versions[game_id] = version

    def correct(self, game: Game) -> None:
        """Remember a game as its correction has it, as long as before."""
        self._digests[game.game_id] = game.digest
        self.set_version(game.game_id, game.version)
        hour = next(hour for hour, seen in self._hours.items() if game.game_id in seen)
        self._changes.append((hour, [game.game_id]))

    def add(self, game_id: str, ended_epoch: float, digest: int) -> int | None:
        """Remember a game from now on. Return its digest, and change nothing, when it is already."""
        digests = self._digests
        count = len(digests)
        known = digests.setdefault(game_id, digest)
        if len(digests) == count:
            return known
        if ended_epoch >= self._next_hour:
            self._advance(int(ended_epoch // _HOUR))
            self._forget(self._hour - self._span)
        self._seen.append(game_id)
        self._changed.append(game_id)
        return None

    def load(self, game_id: str, row: Any) -> None:
        """Take back one row, as `changed_rows` gave it out."""
        digest, hour, version = row
        if hour > self._hour:
            self._advance(hour)
        self._digests[game_id] = int(digest, 16)
        if version > 1:
            self._versions[game_id] = version
        self._hours.setdefault(hour, []).append(game_id)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        """Yield (game_id, row) of every game changed since the last call; a None row is deleted."""
        rows: dict[str, Any | None] = dict.fromkeys(self._forgotten)
        digests, versions = self._digests, self._versions
        for hour, changed in self._changes:
            for game_id in changed:
                digest = digests.get(game_id)
                row = None if digest is None else [f"{digest:016x}", hour, versions.get(game_id, 1)]
                rows[game_id] = row
        self.drop_changes()
        yield from rows.items()

    def drop_changes(self) -> None:
        """Forget which games have changed."""
        self._changes.clear()
        self._forgotten.clear()
        self._advance(self._hour)

    def _advance(self, hour: int) -> None:
        self._hour = hour
        self._next_hour = (hour + 1) * _HOUR
        # Those of the hour, for games to come: all that were seen, and what has changed.
        self._seen = self._hours.setdefault(hour, [])
        self._changed: list[str] = []
        self._changes.append((hour, self._changed))

    def _forget(self, before: int) -> None:
        for hour in [hour for hour in self._hours if hour < before]:
            for game_id in self._hours.pop(hour):
                del self._digests[game_id]
                self._versions.pop(game_id, None)
                self._forgotten.append(game_id)
