"""The games that a ladder remembers, so that one that comes again is not rated again.

Pure: standard library only.
"""

import math
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

_HOUR = 3600

# What `DeduplicationWindow.add` says of a game that may be one it has forgotten; no digest is below 0.
TOO_OLD = -1


class DeduplicationWindow:
    """Which games were seen in the last span of event time, and what they said.

    Event time is that of the ladder: the latest end of a game so far, in whole hours, which the `future` rule
    bounds. A game is kept by the hour of that time at which it was seen (not by its own end: a late game is
    remembered as long as any), so that an hour's games are forgotten together. What has been forgotten had
    ended before the span, and a game that ended before it is `TOO_OLD`: nobody can tell the two apart.
    """

    def __init__(self, span_seconds: int) -> None:
        self._span = span_seconds // _HOUR
        # As little as possible for each game: there may be a million.
        self._digests: dict[str, int] = {}
        self._hours: dict[int, list[str]] = {}
        # The same hours as a heap: the span may have many years of them.
        self._order: list[int] = []
        self._forgotten: list[str] = []
        self._changes: list[tuple[int, list[str]]] = []
        self._hour: int | None = None
        self._next_hour = -math.inf
        self._oldest = -math.inf
        self._seen: list[str] = []
        self._changed: list[str] = []

    def __len__(self) -> int:
        return len(self._digests)

    def digest(self, game_id: str) -> int | None:
        """Return the digest of a game; None when it is not remembered."""
        return self._digests.get(game_id)

    @property
    def oldest_epoch(self) -> float:
        """Return before which end a game may be one that was forgotten, in seconds since 1970."""
        return self._oldest

    def is_too_old(self, ended_epoch: float) -> bool:
        """Say whether a game that ended then may be one that was forgotten."""
        return ended_epoch < self._oldest

    def correct(self, game_id: str, digest: int) -> None:
        """Remember a game that is remembered as its correction has it, as long as before."""
        self._digests[game_id] = digest
        hour = next(hour for hour, seen in self._hours.items() if game_id in seen)
        self._changes.append((hour, [game_id]))

    def add(self, game_id: str, ended_epoch: float, digest: int) -> int | None:
        """Remember a game from now on, and return None.

        Returns its digest, and changes nothing, when it is remembered already; TOO_OLD when it may have been.
        """
        digests = self._digests
        known = digests.get(game_id)
        if known is not None:
            return known
        if ended_epoch < self._oldest:
            return TOO_OLD
        digests[game_id] = digest
        if ended_epoch >= self._next_hour:
            self._advance(int(ended_epoch // _HOUR))
        self._seen.append(game_id)
        self._changed.append(game_id)
        return None

    def load(self, game_id: str, row: Any) -> None:
        """Take back one row, as `changed_rows` gave it out."""
        digest, hour = row
        if self._hour is None or hour > self._hour:
            self._advance(hour)
        self._digests[game_id] = int(digest, 16)
        self._of_hour(hour).append(game_id)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        """Yield (game_id, row) of every game changed since the last call; a None row is deleted."""
        rows: dict[str, Any | None] = dict.fromkeys(self._forgotten)
        digests = self._digests
        for hour, changed in self._changes:
            for game_id in changed:
                digest = digests.get(game_id)
                rows[game_id] = None if digest is None else [f"{digest:016x}", hour]
        self.drop_changes()
        yield from rows.items()

    def drop_changes(self) -> None:
        """Forget which games have changed."""
        self._changes.clear()
        self._forgotten.clear()
        if self._hour is not None:
            self._begin_hour(self._hour)

    def _advance(self, hour: int) -> None:
        """Let event time come to an hour, and forget what lies before the span."""
        self._hour = hour
        self._next_hour = (hour + 1) * _HOUR
        self._oldest = (hour - self._span) * _HOUR
        self._forget(hour - self._span)
        self._begin_hour(hour)

    def _begin_hour(self, hour: int) -> None:
        # Those of the hour, for games to come: all that were seen, and what has changed.
        self._seen = self._of_hour(hour)
        self._changed = []
        self._changes.append((hour, self._changed))

    def _forget(self, before: int) -> None:
        while self._order and self._order[0] < before:
            for game_id in self._hours.pop(heappop(self._order)):
                del self._digests[game_id]
                self._forgotten.append(game_id)

    def _of_hour(self, hour: int) -> list[str]:
        """Return the games that were seen in an hour."""
        games = self._hours.get(hour)
        if games is None:
            games = self._hours[hour] = []
            heappush(self._order, hour)
        return games
