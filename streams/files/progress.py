"""Progress on standard error: a bar on a terminal, a plain line now and then elsewhere."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

# Where there is no terminal, a plain line every so often instead of a bar.
_LINE_INTERVAL = 10.0


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "games") -> Iterator[Any]:
    """Yield a bar that is shown meanwhile; its `update(n)` moves it on by n units, of `total` if known."""
    terminal = sys.stderr.isatty()
    with tqdm(
        desc=what,
        total=total,
        unit=f" {unit}",
        mininterval=0.1 if terminal else _LINE_INTERVAL,
        miniters=1,
        dynamic_ncols=terminal,
        file=sys.stderr if terminal else _PlainLines(),
        leave=True,
    ) as bar:
        yield bar


class _PlainLines(io.StringIO):
    """A text file for a progress bar that writes each of its redrawings as a line."""

    def write(self, text: str) -> int:
        line = text.strip("\r\n ")
        if line:
            sys.stderr.write(line + "\n")
        return len(text)
