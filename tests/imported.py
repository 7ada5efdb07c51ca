"""What an import makes of a file's text, for the tests of every format."""

import io
from collections.abc import Callable
from typing import Any

import orjson

from streams.imports import Conversion, FileReport, LeftOut, parse_mapping


class Imported:
    """What came out of an import: events, what was left out, and the notes."""

    def __init__(self) -> None:
        self.out = io.BytesIO()
        self.left_out: list[LeftOut] = []
        self.report = FileReport(self.left_out.append)

    @property
    def events(self) -> list[Any]:
        """What was written."""
        return [orjson.loads(line) for line in self.out.getvalue().splitlines()]

    @property
    def lines(self) -> list[tuple[int, str]]:
        """Line and reason of what was left out."""
        return [(left_out.line, left_out.reason) for left_out in self.left_out]

    @property
    def notes(self) -> dict[str, tuple[int, int | None]]:
        """How often something was noted, and where first."""
        return {text.split(",")[0]: (note.count, note.line) for text, note in self.report.notes.items()}


class NoProgress:
    """A bar that nobody sees."""

    def update(self, count: int) -> None:
        """Show nothing."""


def imported_by(
    importer: Callable[[Conversion], FileReport], text: str | bytes, name: str, mapping: dict[str, Any]
) -> Imported:
    """Import a file's text; the ladder need not be given."""
    content = text.encode() if isinstance(text, str) else text
    result = Imported()
    document = parse_mapping({"ladder": "chess", **mapping})
    importer(Conversion(io.BytesIO(content), document, result.out, NoProgress(), result.report, name))
    report = result.report
    assert report.read == report.written + report.passed_over_total + report.left_out_total
    assert report.passed_over_total + report.left_out_total == len(result.left_out)
    return result
