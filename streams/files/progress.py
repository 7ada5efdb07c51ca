"""Progress on standard error: a bar on a terminal, a plain line now and then elsewhere."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from tqdm import tqdm

from streams.files.jsonl import packed_position, packed_size

# Where there is no terminal, a plain line every so often instead of a bar.
_LINE_INTERVAL = 10.0


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "games", delay: float = 0.0) -> Iterator[Any]:
    """Yield a bar that is shown meanwhile; its `update(n)` moves it on by n units, of `total` if known.

    It is shown once `delay` seconds are over.
    """
    terminal = sys.stderr.isatty()
    with tqdm(
        desc=what,
        total=total,
        unit=f" {unit}",
        mininterval=0.1 if terminal else _LINE_INTERVAL,
        miniters=1,
        delay=delay,
        dynamic_ncols=terminal,
        file=sys.stderr if terminal else _PlainLines(),
        leave=True,
    ) as bar:
        yield bar


@contextmanager
def file_progress(what: str, lines: IO[bytes], unit: str = "games") -> Iterator[Any]:
    """Yield a bar as above that, on a terminal, tells how much of an open file was read, and the time left.

    It goes by the bytes of the file as it lies on disk. For what is no file nobody knows how much is left.
    """
    size = packed_size(lines)
    if size is None or not sys.stderr.isatty():
        with progress(what, unit=unit) as bar:
            yield bar
        return
    with tqdm(
        desc=what, total=size, unit="B", unit_scale=True, mininterval=0.1, miniters=1, dynamic_ncols=True
    ) as bar:
        read = _FileBar(bar, lines, unit)
        yield read
        read.update(0)


class _FileBar:
    """Moves a bar of bytes on, and shows the units counted beside it."""

    def __init__(self, bar: Any, lines: IO[bytes], unit: str) -> None:
        self._bar = bar
        self._lines = lines
        self._unit = unit
        self._count = 0

    def update(self, count: int) -> None:
        """Count so many units more, and look how far the file was read."""
        self._count += count
        self._bar.set_postfix_str(f"{self._count:,} {self._unit}", refresh=False)
        self._bar.update(packed_position(self._lines) - self._bar.n)


class _PlainLines(io.StringIO):
    """A text file for a progress bar that writes each of its redrawings as a line."""

    def write(self, text: str) -> int:
        line = text.strip("\r\n ")
        if line:
            sys.stderr.write(line + "\n")
        return len(text)
