"""One import: what it reads, how, and where its events go; the same for every format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import IO, Any

from streams.files.report import FileReport
from streams.imports.event_sink import EventSink, LineSink
from streams.imports.mapping import ImportMapping

_NO_ID = "games without an id; theirs is the file's name and their {}, so keep both"


@dataclass(frozen=True)
class Conversion:
    """A file to be made into lines of events.

    `progress` is a bar, whose `update(n)` moves it on. `name` begins the ids of games without one. `ordered`:
    `out` sorts, so that the order need not be noted. `now` is in seconds since 1970.
    """

    lines: IO[bytes]
    mapping: ImportMapping
    out: LineSink
    progress: Any
    report: FileReport = field(default_factory=FileReport)
    name: str = "import"
    ordered: bool = False
    now: float = inf

    def sink(self) -> EventSink:
        """Return what writes the events."""
        return EventSink(self.out, self.progress, self.report, ordered=self.ordered, now=self.now)

    def made_id(self, line: int, number: int | None = None) -> str:
        """Return the id of a game that has none, and note that; its number, where games share a line."""
        self.report.note(_NO_ID.format("line" if number is None else "number"), line)
        return f"{self.name}-{line if number is None else number}"


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}
