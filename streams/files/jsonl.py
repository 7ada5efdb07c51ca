"""Files of events for reading: plain, .gz and .zst, or standard input."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

import zstandard

# What reading a packed file raises when it is cut short or is none.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


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


def batched(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Yield lists of up to `size` items."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
