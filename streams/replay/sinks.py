"""Where a replay's outcomes go: files of events, by topic, and one of rows."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import msgspec

from streams.core.events import (
    COMPETITION_CLOSED,
    GAME_IGNORED,
    GAME_REJECTED,
    RATING_CHANGED,
    Event,
    Output,
    Rejected,
)
from streams.core.publications import GameRated, Publication
from streams.files.tables import EventWriter, open_writer

TABLES = "tables"
_LINES = "jsonl"


@dataclass(frozen=True)
class ReplayFiles:
    """The files wanted; the format of `changed` is that of its ending, the others are JSON lines."""

    changed: str | None = None
    closed: str | None = None
    ignored: str | None = None
    rejected: str | None = None
    tables: str | None = None

    def by_content(self) -> dict[str, str]:
        """Return the files that are wanted, by topic, and of rows as `tables`."""
        paths = {
            RATING_CHANGED: self.changed,
            COMPETITION_CLOSED: self.closed,
            GAME_IGNORED: self.ignored,
            GAME_REJECTED: self.rejected,
            TABLES: self.tables,
        }
        return {content: path for content, path in paths.items() if path is not None}


# Says which item was rejected, and why.
Describe = Callable[[Any, Rejected], Mapping[str, Any]]


class FileSink:
    """Writes what folds put out to the files that are wanted. Leaves nothing of them after an exception."""

    def __init__(self, files: Mapping[str, str], describe: Describe) -> None:
        self._files = files
        self._describe = describe
        self._writers: dict[str, EventWriter] = {}
        self._changed: EventWriter | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            for content, path in self._files.items():
                writer = open_writer(path, None if content == RATING_CHANGED else _LINES)
                self._writers[content] = opening.enter_context(writer)
            self._changed = self._writers.get(RATING_CHANGED)
            self._opened = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def publish(self, item: Any, event: Event, published: Sequence[Publication]) -> None:  # noqa: ARG002 - a Sink
        """Write what follows from one event."""
        for publication in published:
            if not isinstance(publication, GameRated):
                self._write(publication)
            elif self._changed is not None:
                self._changed.write_rated(publication)

    def _write(self, event: Output) -> None:
        writer = self._writers.get(event.topic)
        if writer is not None:
            writer.write(msgspec.to_builtins(event))

    def reject(self, item: Any, rejected: Rejected) -> None:
        """Write one rejection."""
        writer = self._writers.get(GAME_REJECTED)
        if writer is not None:
            writer.write(self._describe(item, rejected))

    def forward(self, item: Any, event: Event) -> None:
        """Write nothing: what follows from the record follows from its copy."""

    def write(self, content: str, body: Mapping[str, Any]) -> None:
        """Write one line that another sink has written."""
        self._writers[content].write(body)

    def write_rows(self, rows: Mapping[str, Any]) -> None:
        """Write a partition's rows by key, so that equal rows make equal files."""
        writer = self._writers.get(TABLES)
        if writer is not None:
            for key in sorted(rows):
                writer.write({"key": key, "row": rows[key]})


def describe_record(record: Any, rejected: Rejected) -> Mapping[str, Any]:
    """Return which record was rejected, and why."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "reason": rejected.reason,
        "message": rejected.message,
        "value": None if record.value is None else record.value.decode(errors="backslashreplace"),
    }


def describe_line(numbered: tuple[int, bytes], rejected: Rejected) -> Mapping[str, Any]:
    """Return which line was rejected, and why; lines count from 1."""
    number, line = numbered
    return {
        "line": number + 1,
        "reason": rejected.reason,
        "message": rejected.message,
        "value": line.rstrip(b"\r\n").decode(errors="backslashreplace"),
    }
