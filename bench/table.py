"""Tables of figures: as text for the terminal, as Markdown between the markers of a document."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Table:
    """What one part of the benchmark found; `name` is also that of its markers in a document."""

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Give the table for a terminal: the first column to the left, figures to the right."""
        if not self.header:
            return "\n".join([self.title, *self.notes, ""])
        lines = [self.header, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.header))]
        shown = [_aligned(line, widths) for line in lines]
        rule = "-" * len(shown[0])
        return "\n".join([self.title, rule, shown[0], rule, *shown[1:], *self.notes, ""])

    def markdown(self) -> str:
        """Give the table as Markdown."""
        if not self.header:
            return "\n".join(self.notes)
        rule = ["---", *["---:"] * (len(self.header) - 1)]
        lines = ["| " + " | ".join(line) + " |" for line in (self.header, rule, *self.rows)]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])


def fill(path: Path, tables: Iterable[Table]) -> None:
    """Write tables between their markers `<!-- begin: NAME -->` and `<!-- end: NAME -->` in a document.

    A table without markers is added at the end, and a document that is not there is begun.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for table in tables:
        block = f"<!-- begin: {table.name} -->\n{table.markdown()}\n<!-- end: {table.name} -->"
        pattern = f"<!-- begin: {table.name} -->.*?<!-- end: {table.name} -->"
        found = re.search(pattern, text, flags=re.DOTALL)
        if found is not None:
            text = text[: found.start()] + block + text[found.end() :]
        else:
            text = f"{text.rstrip()}\n\n## {table.title}\n\n{block}\n".lstrip()
    path.write_text(text, encoding="utf-8")


def whole(value: float) -> str:
    """Show a large figure: 92,400 rather than 92371.3, as more digits would only be noise."""
    digits = len(str(int(abs(value))))
    return f"{round(value, -max(0, digits - 3)):,.0f}"


def spread(values: Sequence[float]) -> str:
    """Show the median of a few runs, with the lowest and the highest."""
    if len(values) == 1:
        return whole(values[0])
    return f"{whole(median(values))} ({whole(min(values))} to {whole(max(values))})"


def verdict(value: float, target: float, *, below: bool = False) -> str:
    """Say whether a figure reaches what was set out to reach."""
    reached = value < target if below else value >= target
    return "reached" if reached else "missed"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(line, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)])
