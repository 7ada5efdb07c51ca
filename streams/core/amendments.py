"""What was said of a ladder's games beside the games: which were taken back, which reported again.

All of it is remembered for ever: it may come before its game, and long after the game was forgotten.

Pure: standard library and msgspec only.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from streams.core.events import Game

# The key of the row that counts what no rebuild has put into force.
_COUNT = "count"


class Amendment(msgspec.Struct, frozen=True, gc=False):
    """The last word on one game: its highest `version` so far, and whether it was taken back after that.

    `digest` is that of the version's content; None when no report of the game is known.
    """

    version: int
    digest: int | None
    voided: bool


class Amendments:
    """The last word on every game of a ladder on which there was one beside its first report."""

    def __init__(self) -> None:
        self._last: dict[str, Amendment] = {}
        self._changed: dict[str, None] = {}
        self._pending = 0
        self._pending_changed = False

    def __contains__(self, game_id: str) -> bool:
        return game_id in self._last

    def __bool__(self) -> bool:
        return bool(self._last)

    @property
    def pending(self) -> int:
        """Return how many voids and versions no rebuild has put into force."""
        return self._pending

    def last(self, game_id: str) -> Amendment | None:
        """Return the last word on a game; None when there was none."""
        return self._last.get(game_id)

    def void(self, game_id: str, digest: int | None) -> None:
        """Take a game back; `digest` is that of the report that is remembered, if one is."""
        last = self._last.get(game_id)
        if last is None:
            self._set(game_id, Amendment(1, digest, voided=True))
        else:
            self._set(game_id, Amendment(last.version, last.digest or digest, voided=True))

    def note_report(self, game: Game) -> None:
        """Take in that a report has come of a game that is taken back."""
        last = self._last[game.game_id]
        if last.digest is None:
            self._set(game.game_id, Amendment(last.version, game.digest, voided=True))

    def correct(self, game: Game) -> None:
        """Let a version of a game be the last word."""
        self._set(game.game_id, Amendment(game.version, game.digest, voided=False))

    def count_pending(self) -> None:
        """Count one more that waits for a rebuild."""
        self._pending += 1
        self._pending_changed = True

    def put_in_force(self, words: Mapping[str, Amendment]) -> None:
        """Begin with the last words of a log up to some offset."""
        for game_id, amendment in words.items():
            self._set(game_id, amendment)
        self._pending_changed = bool(words)

    def load(self, key: str, row: Any) -> None:
        """Take back one row, as `changed_rows` gave it out."""
        version, digest, voided = row
        self._last[key] = Amendment(version, None if digest is None else int(digest, 16), voided)

    def load_pending(self, row: Any) -> None:
        """Take back the count of what is pending."""
        (self._pending,) = row

    def changed_rows(self) -> Iterator[tuple[str, Any]]:
        """Yield (game_id, row) of every word that is new since the last call."""
        for game_id in self._changed:
            amendment = self._last[game_id]
            digest = None if amendment.digest is None else f"{amendment.digest:016x}"
            yield game_id, [amendment.version, digest, amendment.voided]
        self._changed.clear()

    def changed_pending(self) -> Iterator[tuple[str, Any]]:
        """Yield (key, row) of the count of what is pending, when it has changed."""
        if self._pending_changed:
            yield _COUNT, [self._pending]
        self._pending_changed = False

    def drop_changes(self) -> None:
        """Forget what has changed, for a fold that stores no rows."""
        self._changed.clear()
        self._pending_changed = False

    def _set(self, game_id: str, amendment: Amendment) -> None:
        self._last[game_id] = amendment
        self._changed[game_id] = None
