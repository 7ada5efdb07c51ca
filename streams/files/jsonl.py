"""Files of events, and progress on them: plain, .gz and .zst, or standard input."""

import gzip
import io
import sys
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import zstandard
from tqdm import tqdm

from streams.core.ratings.parameters import LadderFileError
from streams.core.rules import LadderRules, parse_ladders

# What reading a packed file raises when it is cut short or is none.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)

# Where there is no terminal, a plain line every so often instead of a bar.
_LINE_INTERVAL = 10.0


def example_ladder_file() -> Path:
    """Give the ladder file of the package's example club."""
    return Path(__file__).parent.parent / "ladders.toml"


def read_ladders(path: Path) -> dict[str, LadderRules]:
    """Read a ladder file. Raises LadderFileError, which names the file and the key."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LadderFileError(f"{path}: {error}") from error
    try:
        return parse_ladders(document)
    except LadderFileError as error:
        raise LadderFileError(f"{path}: {error}") from error


@contextmanager
def open_lines(path: str) -> Iterator[IO[bytes]]:
    """Open a file of JSON lines for reading, unpacked by its ending; `-` is standard input."""
    if path == "-":
        yield sys.stdin.buffer
    elif path.endswith(".gz"):
        with gzip.open(path) as lines:
            yield io.BufferedReader(lines)
    elif path.endswith(".zst"):
        with Path(path).open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as lines:
            yield io.BufferedReader(lines)
    else:
        with Path(path).open("rb") as lines:
            yield lines


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "games") -> Iterator[Any]:
    """Show progress on standard error: a bar on a terminal, a plain line now and then elsewhere.

    Call `.update(n)` on what it yields.
    """
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


def batched(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Yield lists of up to `size` items."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


class _PlainLines(io.StringIO):
    """Turns a progress bar's redrawing into lines."""

    def write(self, text: str) -> int:
        line = text.strip("\r\n ")
        if line:
            sys.stderr.write(line + "\n")
        return len(text)
