"""What `ladderlog rate` does before and after the fold, in processes of their own.

The fold itself is one after the other: a rating depends on the games before. Reading JSON and writing it need
not wait for it, and cost as much together. Batches go from process to process as MessagePack, the cheapest
way for plain values.
"""

import fcntl
import gc
import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Semaphore, Thread
from types import TracebackType
from typing import IO, Any, Self

import msgspec.msgpack

from streams.core.events import Game, Rejected
from streams.core.publications import GameRated, rating_changes
from streams.files.jsonl import batched
from streams.processor import EVENTS_TOGETHER
from streams.wire.decode import decode_checked_line
from streams.wire.decode_fast import decode_plain
from streams.wire.encode import encode_lines

# Batches on their way through the decoding process: enough for it never to wait.
_BATCHES_AHEAD = 64
_END = b""
_NICENESS = 5
_STANDARD_OUTPUT = 1
# For 3,000 games, so that nobody waits while one of the others has the processor.
_PIPE_BYTES = 1024 * 1024

# A game, or None for a line that is none.
Entry = Game | None

_pack = msgspec.msgpack.Encoder().encode
_unpack: Any = msgspec.msgpack.Decoder().decode
_unpack_published = msgspec.msgpack.Decoder(list[bytes | GameRated]).decode
_unpack_batch = msgspec.msgpack.Decoder(tuple[list[Entry], bytes, int]).decode

# Not fork: a copy of a process with threads is asking for trouble.
_spawn = multiprocessing.get_context("spawn")


class StageError(RuntimeError):
    """A process of a stage has ended before its work was done."""


class Decoder:
    """Decodes lines in a process of its own, some batches ahead of who iterates. Use it as a context.

    The lines come from the rest of a file on disk, which the process reads itself, or from an iterator, out
    of which a thread feeds it.
    """

    def __init__(self, lines: IO[bytes] | Iterable[bytes]) -> None:
        self._window = Semaphore(_BATCHES_AHEAD)
        self._error: BaseException | None = None
        self._leaving = False
        self._results, results = _wide_pipe()
        work, self._work = _wide_pipe()
        file = _position(lines)
        # Of a file that the process reads itself this one's own handle stays where it was.
        self.reads_file = file is not None
        self._process = _spawn.Process(target=_decode, args=(work, results, file), daemon=True)
        self._process.start()
        work.close()
        results.close()
        self._feeder: Thread | None = None
        if file is None:
            self._feeder = Thread(target=self._feed, args=(batched(lines, EVENTS_TOGETHER),), daemon=True)

    def __enter__(self) -> Self:
        if self._feeder is not None:
            self._feeder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving = True
        self._window.release()
        if kind is not None:
            self._process.kill()
        self._process.join()
        self._results.close()
        self._work.close()

    def __iter__(self) -> "Iterator[Batch]":
        while True:
            try:
                batch = self._results.recv_bytes()
            except (EOFError, ConnectionError):
                raise StageError("the decoding process has ended") from self._error
            if batch == _END:
                break
            self._window.release()
            yield Batch(*_unpack_batch(batch))
        if self._feeder is not None:
            self._feeder.join()
        if self._error is not None:
            raise self._error

    def _feed(self, batches: Iterator[list[bytes]]) -> None:
        try:
            for batch in batches:
                self._window.acquire()  # released by who reads
                if self._leaving:
                    return
                self._work.send_bytes(_pack(batch))
        except BaseException as error:  # noqa: BLE001 - raised again by who reads
            self._error = error
        try:
            self._work.send_bytes(_END)
        except OSError as error:
            self._error = self._error or error


class Writer:
    """Writes rating-changed lines to standard output, in a process of its own.

    Use it as a context; leaving it waits until everything is written. Raises OSError when it could not be.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        work, self._work = _wide_pipe()
        self._last_word, results = _spawn.Pipe(duplex=False)
        self._process = _spawn.Process(target=_write, args=(work, results), daemon=True)
        self._process.start()
        work.close()
        results.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._send(_END)
            self._settle()
        else:
            self._process.kill()
        self._process.join()
        self._work.close()
        self._last_word.close()

    def write(self, published: list[GameRated | bytes]) -> None:
        """Write what rated games publish, and lines that are encoded already, in order."""
        self._send(_pack(published))

    def _send(self, content: bytes) -> None:
        try:
            self._work.send_bytes(content)
        except OSError:
            self._settle()
            raise

    def _settle(self) -> None:
        """Wait for the process's last word: the number of the error that ended it, 0 for none."""
        try:
            number = int.from_bytes(self._last_word.recv_bytes())
        except (EOFError, ConnectionError):
            raise StageError("the writing process has ended") from None
        if number:
            raise OSError(number, os.strerror(number), "standard output")


@dataclass(frozen=True)
class Batch:
    """Lines, and an entry for each of them: the game, or None when it is none.

    The lines are packed as long as nobody asks for them: few do. `size` is that of the lines, in bytes.
    """

    entries: Sequence[Entry]
    packed: bytes
    size: int = 0

    @cached_property
    def lines(self) -> Sequence[bytes]:
        """Return the lines."""
        lines: Sequence[bytes] = _unpack(self.packed)
        return lines


def decoded(lines: Sequence[bytes]) -> Batch:
    """Decode lines as far as they are games."""
    return Batch(list(map(_entry, lines)), _pack(lines), sum(map(len, lines)))


def _decoded(lines: Sequence[bytes]) -> bytes:
    return _pack((list(map(_entry, lines)), _pack(lines), sum(map(len, lines))))


def lines_of(published: Iterable[GameRated | bytes]) -> bytes:
    """Return what rated games publish, and lines that are encoded already, as JSON lines in order."""
    lines = []
    rated: list[GameRated] = []
    for entry in published:
        if isinstance(entry, bytes):
            lines += [encode_lines(rating_changes(rated)), entry, b"\n"]
            rated.clear()
        else:
            rated.append(entry)
    return b"".join([*lines, encode_lines(rating_changes(rated))])


def several_processors() -> bool:
    """Say whether this process may use more than one processor."""
    allowed = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1 if allowed is None else len(allowed(0))) > 1


def writes_standard_output(file: Any) -> bool:
    """Say whether a file is the process's standard output, which its children write to as well."""
    return file is not None and file is getattr(sys.__stdout__, "buffer", None)


def _entry(line: bytes) -> Entry:
    """Return the game of a line; None for a line that is none."""
    game = decode_plain(line)
    if game is not None:
        return game
    try:
        event = decode_checked_line(line)
    except Rejected:
        return None
    return event if type(event) is Game else None


def _begin() -> None:
    # Ctrl-C reaches the whole group of processes; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # for the whole life of the process; see streams.processor
    # Everybody waits for the fold: where processors are few, it goes first.
    os.nice(_NICENESS)


def _position(lines: Any) -> tuple[str, int] | None:
    """Return the path of a file on disk and how far it was read; None for what is anything else."""
    if not (isinstance(lines, io.BufferedReader) and isinstance(lines.raw, io.FileIO) and lines.seekable()):
        return None
    # Standard input may be such a file, too, but its name is not a path that leads to it.
    name = str(lines.name)
    try:
        there = os.path.samestat(Path(name).stat(), os.fstat(lines.fileno()))
    except OSError:
        return None
    return (name, lines.tell()) if there else None


def _wide_pipe() -> tuple[Connection, Connection]:
    """Return both ends of a pipe, made as wide as the system lets everybody where it can be made wider."""
    reader, writer = _spawn.Pipe(duplex=False)
    if sys.platform == "linux":
        # A user with many pipes may be refused; a narrow one does the same, with more waiting.
        with suppress(PermissionError):
            fcntl.fcntl(writer.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return reader, writer


def _decode(work: Connection, results: Connection, file: tuple[str, int] | None) -> None:
    _begin()
    if file is None:
        while (batch := work.recv_bytes()) != _END:
            results.send_bytes(_decoded(_unpack(batch)))
    else:
        path, position = file
        with Path(path).open("rb") as lines:
            lines.seek(position)
            for read in batched(lines, EVENTS_TOGETHER):
                results.send_bytes(_decoded(read))
    results.send_bytes(_END)


def _write(work: Connection, results: Connection) -> None:
    _begin()
    number = 0
    try:
        with open(_STANDARD_OUTPUT, "wb", closefd=False) as output:
            while (batch := work.recv_bytes()) != _END:
                output.write(lines_of(_unpack_published(batch)))
    except EOFError:
        return
    except OSError as error:
        number = error.errno or 1
    results.send_bytes(number.to_bytes(4))
