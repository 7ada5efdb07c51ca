"""What a file's conversion read, wrote and left out, and what it took for granted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple


class LineError(Exception):
    """Something that cannot be made into an event; `line` only when it is not where the record begins."""

    def __init__(self, reason: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.line = line


class PassedOverError(LineError):
    """Something that is no game, or none that was asked for: it is named, and no fault of the file."""


REASONS = {
    "csv": "the line is not CSV as the header promises",
    "json": "the line is not JSON",
    "pgn": "a tag is not PGN",
    "encoding": "the bytes are not text in the given encoding",
    "missing": "a cell or tag that every event needs is empty",
    "time": "not a time, or not in the given format",
    "number": "not a number",
    "value": "a word that is none of those known",
    "id": "an id is over 128 characters or has unprintable ones",
    "players": "the game's players cannot be told",
    "result": "the result is none this program knows",
    "unfinished": "the game has no result yet",
    "no-result": "no player has a rank or points: nobody knows who won (--without-result keep)",
    "partial-date": "the date has unknown parts (--partial-dates start or end takes it)",
    "bye": "there was no opponent: no game",
    "solo": "there was one player: no game",
    "unplayed": "the game was not played",
    "forfeit": "the game was decided by forfeit, and these are not asked for, or nobody says who won",
    "skipped": "the row is not one of those asked for (--skip, --only)",
    "mixed": "rows of one game contradict each other, or stand beside a line that cannot be read",
    "twice": "the same game or player was on an earlier line",
}


class LeftOut(NamedTuple):
    """A record that was not written, and why; `line` counts from 1."""

    line: int
    reason: str
    message: str


@dataclass
class Note:
    """How often something was taken for granted, and on which line first (None: it is about the file)."""

    count: int
    line: int | None


def _tell_nobody(_: LeftOut) -> None:
    pass


@dataclass
class FileReport:
    """What became of the records read: `read` is `written` and all of `passed_over` and `left_out` together.

    Every record not written goes to `tell` as it is found; only counts are kept. `passed_over` (no games, or
    none that were asked for) and `left_out` count by reason (those of `REASONS`, or of
    `streams.core.events.REJECTIONS`), `notes` by text. Notes made while a record is `trying` count when it is
    written.
    """

    tell: Callable[[LeftOut], None] = _tell_nobody
    read: int = 0
    written: int = 0
    passed_over: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)
    _tried: list[tuple[str, int | None]] | None = field(default=None, repr=False)

    @property
    def passed_over_total(self) -> int:
        """How many records were passed over."""
        return sum(self.passed_over.values())

    @property
    def left_out_total(self) -> int:
        """How many records were left out."""
        return sum(self.left_out.values())

    def leave_out(self, line: int, reason: str, message: str) -> None:
        """Count a record that is not written, and tell why."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.tell(LeftOut(line, reason, message))

    def pass_over(self, line: int, reason: str, message: str) -> None:
        """Count a record that is no game, or none that was asked for, and tell why."""
        self.passed_over[reason] = self.passed_over.get(reason, 0) + 1
        self.tell(LeftOut(line, reason, message))

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Keep what is noted in the block; it counts when no exception leaves it."""
        tried: list[tuple[str, int | None]] = []
        self._tried = tried
        try:
            yield
        finally:
            self._tried = None
        for text, line in tried:
            self.note(text, line)

    def note(self, text: str, line: int | None = None) -> None:
        """Count something that was taken for granted."""
        if self._tried is not None:
            self._tried.append((text, line))
            return
        known = self.notes.get(text)
        if known is None:
            self.notes[text] = Note(1, line)
        else:
            known.count += 1

    def summary(self) -> str:
        """Return the counts and notes in lines for people."""
        passed_over = f", {self.passed_over_total} passed over" if self.passed_over else ""
        lines = [f"{self.read} read: {self.written} written{passed_over}, {self.left_out_total} left out"]
        lines += [f"  passed over, {reason}: {count}" for reason, count in sorted(self.passed_over.items())]
        lines += [f"  left out, {reason}: {count}" for reason, count in sorted(self.left_out.items())]
        for text, note in self.notes.items():
            lines.append(
                f"  {text}" if note.line is None else f"  {text}: {note.count}, first on line {note.line}"
            )
        return "\n".join(lines)
