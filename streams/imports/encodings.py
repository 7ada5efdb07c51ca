"""In which encoding a file is, when nobody says: UTF-8 or UTF-16, else one of the West.

UTF-8 and UTF-16 are told from the bytes. Of the others one cannot be told from another by them: the usual one
is taken, and said, with a line as it was read, so that a reader sees at once whether it was the right one.
"""

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

UTF_8 = "utf-8"
_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BAD = re.compile(r"[\udc80-\udcff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Bytes that Windows' Western code page leaves free; Latin-1 has control characters there.
_NOT_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
# Of text in UTF-16 that is mostly ASCII, every other byte is 0.
_LOOKED_AT = 4096
_SHOWN = 60
# How much is read at once, and looked at of what can be read once only, in bytes.
_PIECE_BYTES = 1 << 18
_ONCE_BYTES = 1 << 20


@dataclass(frozen=True)
class Encoding:
    """An encoding, what is to be said of it, if anything, and of which line."""

    name: str
    note: str | None = None
    line: int | None = None


def find_encoding(pieces: Iterable[bytes]) -> Encoding:
    """Return the encoding of a file in pieces."""
    scan = _Scan()
    for piece in pieces:
        if scan.first:
            marked = _marked(piece)
            if marked is not None:
                return marked
        scan.take(piece)
    return scan.result()


def recoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield a file's pieces in UTF-8. What is no text becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode()
    yield decoder.decode(b"", final=True).encode()


def pieces_of(lines: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file, some at a time."""
    yield from iter(partial(lines.read, _PIECE_BYTES), b"")


def plain_pieces(lines: IO[bytes], encoding: str) -> tuple[Iterator[bytes], str]:
    """Return a file in pieces, and its encoding, which writes ASCII as ASCII does; else it becomes UTF-8."""
    pieces = pieces_of(lines)
    return (pieces, encoding) if _writes_ascii(encoding) else (recoded(pieces, encoding), UTF_8)


def looked_at(lines: IO[bytes]) -> tuple[Encoding, IO[bytes]]:
    """Return the encoding of a stream that can be read once, by its beginning, and the whole of it."""
    first = lines.read(_ONCE_BYTES)
    return find_encoding([first]), io.BufferedReader(Again(first, lines))


def _writes_ascii(encoding: str) -> bool:
    """Say whether an encoding has ASCII's characters in the same bytes."""
    try:
        return "\n[{,".encode(encoding) == b"\n[{,"
    except UnicodeError:
        return False


class _Scan:
    """Counts the bytes of a file that are no UTF-8, and those of characters beyond ASCII that are."""

    def __init__(self) -> None:
        self.first = True
        self._decoder = codecs.getincrementaldecoder(UTF_8)(errors="surrogateescape")
        self._line = 1
        self._good = self._bad = 0
        self._example = b""
        self._example_line = 0
        self._free = False

    def take(self, piece: bytes) -> None:
        """Look at one more piece."""
        self.first = False
        text = self._decoder.decode(piece)
        if not text.isascii():
            self._count(text)
        self._line += piece.count(b"\n")

    def result(self) -> Encoding:
        """Return what the file is read as."""
        text = self._decoder.decode(b"", final=True)
        if text:
            self._count(text)
        if not self._bad:
            return Encoding(UTF_8)
        if self._good > self._bad:
            return Encoding(UTF_8, "bytes that are not UTF-8, as the rest of the file is", self._example_line)
        name = "latin-1" if self._free else "cp1252"
        shown = _shown(self._example.decode(name))
        return Encoding(
            name,
            f"read as {name}, for it is not UTF-8 (--encoding to say otherwise); so there stands {shown!r}",
            self._example_line,
        )

    def _count(self, text: str) -> None:
        bad = len(_BAD.findall(text))
        self._good += len(_NOT_ASCII.findall(text)) - bad
        self._bad += bad
        if bad:
            raw = text.encode(errors="surrogateescape")
            self._free = self._free or _NOT_CP1252.search(raw) is not None
            if not self._example:
                self._keep_example(text)

    def _keep_example(self, text: str) -> None:
        match = _BAD.search(text)
        if match is not None:
            begin = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.start())
            line = text[begin : end if end >= 0 else len(text)]
            before = max(0, match.start() - begin - _SHOWN // 2)
            self._example = line[before : before + _SHOWN].encode(errors="surrogateescape")
            self._example_line = self._line + text.count("\n", 0, match.start())


def _marked(piece: bytes) -> Encoding | None:
    """Return the encoding that a file's first bytes tell; None when they tell none."""
    for mark, name in _MARKS:
        if piece.startswith(mark):
            return None if name == UTF_8 else Encoding(name, f"read as {name}, by its first bytes")
    begin = piece[:_LOOKED_AT]
    for position, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(begin) > 1 and begin[position::2].count(0) > len(begin) // 4 > begin[1 - position :: 2].count(
            0
        ):
            return Encoding(name, f"read as {name}, for every other byte is 0 (--encoding to say otherwise)")
    return None


def _shown(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text).strip()


class Again(io.RawIOBase):
    """A stream that can be read once, with its first bytes, which were read already, before it."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first = memoryview(first)
        self._rest = rest

    def readable(self) -> bool:
        """Say that it is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and return how many bytes came."""
        if self._first:
            count = min(len(buffer), len(self._first))
            buffer[:count] = self._first[:count]
            self._first = self._first[count:]
            return count
        piece = self._rest.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)
