"""Files of events for reading: plain, .gz and .zst, or standard input."""

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import zstandard

# What reading a packed file raises when it is cut short or is none.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


class PackedLines(io.BufferedReader):
    """The lines of a packed file; `packed` is the file itself."""

    def __init__(self, unpacked: Any, packed: IO[bytes]) -> None:
        super().__init__(unpacked)
        self.packed = packed


@contextmanager
def open_lines(path: str) -> Iterator[IO[bytes]]:
    """Open a file of JSON lines for reading, unpacked by its ending; `-` is standard input."""
    if path == "-":
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as file:
        if path.endswith(".gz"):
            with gzip.open(file) as lines:
                yield PackedLines(lines, file)
        elif path.endswith(".zst"):
            with zstandard.ZstdDecompressor().stream_reader(file) as lines:
                yield PackedLines(lines, file)
        else:
            yield file


def packed_size(lines: IO[bytes]) -> int | None:
    """Return the bytes of an open file as it lies on disk; None for what is no file, such as a pipe."""
    try:
        status = os.fstat(_packed(lines).fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def packed_position(lines: IO[bytes]) -> int:
    """Return how many of these bytes were read."""
    return _packed(lines).tell()


def _packed(lines: IO[bytes]) -> IO[bytes]:
    return lines.packed if isinstance(lines, PackedLines) else lines


def batched(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Yield lists of up to `size` items."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
