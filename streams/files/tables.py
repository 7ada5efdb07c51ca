"""History as tables: rating-changed events as JSON lines, CSV or Parquet, by the ending of the file.

Columns and their order are fixed, statistics flattened among them. An absent field is an empty cell in CSV
and null in Parquet, where `ended_at` is a timestamp in UTC; CSV has the producer's own text. A file is
written beside its name, with `.part`, and gets its name when it is whole.
"""

import csv
import gzip
import io
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Protocol, Self, cast, get_args, get_type_hints

import msgspec
import orjson
import zstandard

from streams.core.events import RATING_CHANGED, Counts, RatingChanged
from streams.core.publications import GameRated, rating_changes
from streams.files.report import FileReport
from streams.wire.encode import encode_lines
from streams.wire.schemas import first_error, validator

STATISTICS = Counts.__struct_fields__
_KINDS = {int: "int64", float: "double", str: "string"}
# Where readers know them: these were the last columns from the beginning on, whatever stands before them.
_LAST = ("week", "level", "level_before")


def _columns() -> dict[str, str]:
    """Return each column and its type: the fields of a rating-changed, its statistics among them."""
    columns: dict[str, str] = {}
    for name, kind in get_type_hints(RatingChanged).items():
        if kind is Counts:
            columns |= dict.fromkeys(STATISTICS, "int64")
        elif name in RatingChanged.__struct_fields__:
            columns[name] = _KINDS[next(part for part in (*get_args(kind), kind) if part in _KINDS)]
    columns["ended_at"] = "timestamp"
    return {name: columns[name] for name in (*(name for name in columns if name not in _LAST), *_LAST)}


COLUMNS = _columns()
# Some 10 MB of rows in memory, and groups large enough for readers to skip by.
ROW_GROUP = 65_536
_TEXT_AT_ONCE = 1 << 16
ENDINGS = ".jsonl, .csv (both also .gz, .zst) or .parquet"


class ExportError(Exception):
    """A file that cannot be written as asked."""


class EventWriter(Protocol):
    """Takes rating-changed events, one at a time. In a `with`, it closes; after an exception, it discards."""

    def write(self, event: Mapping[str, Any]) -> None:
        """Write an event that fits its schema. Raises ExportError when the format cannot hold it."""

    def write_rated(self, rated: GameRated) -> None:
        """Write what a rated game publishes, but for the standings of a closed week."""

    def close(self) -> None:
        """Finish the file: only then it has its name."""

    def discard(self) -> None:
        """Leave nothing of the file."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


def open_writer(path: str, form: str | None = None) -> EventWriter:
    """Return a writer of events to a file, in the format of its ending or `form`; `-` is standard output.

    Raises ExportError when the format is none of jsonl, csv, parquet, or needs a package that is missing.
    """
    if form is None:
        form = (
            "jsonl" if path == "-" else Path(path.removesuffix(".gz").removesuffix(".zst")).suffix[1:].lower()
        )
    if form in {"jsonl", "ndjson", "json"}:
        return JsonLinesWriter(_Target(path))
    if form == "csv":
        return CsvWriter(_Target(path))
    if form != "parquet":
        raise ExportError(f"{path}: the ending is none of {ENDINGS}")
    if path == "-" or path.endswith((".gz", ".zst")):
        raise ExportError(f"{path}: Parquet needs a file of its own, and is packed already")
    _import_arrow()
    return ParquetWriter(_Target(path))


def flattened(event: Mapping[str, Any]) -> list[Any]:
    """Return an event's values in the order of COLUMNS; None for those it does not have."""
    statistics = event["statistics"]
    return [(statistics if column in STATISTICS else event).get(column) for column in COLUMNS]


class _Target:
    """A file under its `.part` name, packed by its ending, that gets its name when it is whole."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._part: Path | None = None
        self._opened = ExitStack()
        self.stream = self._open(path)

    def close(self) -> None:
        self.stream.flush()
        self._opened.close()
        if self._part is not None:
            self._part.replace(self._path)

    def discard(self) -> None:
        self._opened.close()
        if self._part is not None:
            self._part.unlink(missing_ok=True)

    def _open(self, path: str) -> IO[bytes]:
        if path == "-":
            return sys.stdout.buffer
        file = self._path
        if not _is_special(file):
            file = self._part = self._path.with_name(self._path.name + ".part")
        try:
            plain = self._opened.enter_context(file.open("wb"))
        except OSError as error:
            raise ExportError(f"{path}: {error.strerror}") from error
        if path.endswith(".gz"):
            # No time and no name in it: equal events, equal bytes.
            return self._opened.enter_context(
                cast("IO[bytes]", gzip.GzipFile("", "wb", fileobj=plain, mtime=0))
            )
        if path.endswith(".zst"):
            packer = zstandard.ZstdCompressor().stream_writer(plain, closefd=False)
            return self._opened.enter_context(cast("IO[bytes]", packer))
        return plain


def _is_special(file: Path) -> bool:
    """Say whether it is a device or pipe, which cannot be replaced by another file."""
    return file.exists() and not stat.S_ISREG(file.stat().st_mode)


class _Writer(ABC):
    """A writer on a target of its own."""

    def __init__(self, target: _Target) -> None:
        self._target = target

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    @abstractmethod
    def write(self, event: Mapping[str, Any]) -> None:
        """Write an event that fits its schema."""

    def write_rated(self, rated: GameRated) -> None:
        """Write what a rated game publishes, but for the standings of a closed week."""
        for change in rating_changes((rated,)):
            self.write(msgspec.to_builtins(change))

    @abstractmethod
    def finish(self) -> None:
        """Hand the target what is still held back."""

    def close(self) -> None:
        """Finish the file: only then it has its name."""
        try:
            self.finish()
        except BaseException:
            self.discard()
            raise
        self._target.close()

    def discard(self) -> None:
        """Leave nothing of the file."""
        self._target.discard()


class JsonLinesWriter(_Writer):
    """Writes events as they are, one a line."""

    def write(self, event: Mapping[str, Any]) -> None:
        """Write an event."""
        self._target.stream.write(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))

    def write_rated(self, rated: GameRated) -> None:
        """Write what a rated game publishes, in a third of the time."""
        self._target.stream.write(encode_lines(rating_changes((rated,))))

    def finish(self) -> None:
        """Hold nothing back."""


class CsvWriter(_Writer):
    """Writes events as rows of CSV (RFC 4180, UTF-8), below a header."""

    def __init__(self, target: _Target) -> None:
        super().__init__(target)
        self._text = io.StringIO(newline="")
        self._rows = csv.writer(self._text, lineterminator="\n")
        self._rows.writerow(COLUMNS)

    def write(self, event: Mapping[str, Any]) -> None:
        """Write an event."""
        self._rows.writerow(flattened(event))
        if self._text.tell() > _TEXT_AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Hand over the text so far."""
        self._target.stream.write(self._text.getvalue().encode())
        self._text.seek(0)
        self._text.truncate()


class ParquetWriter(_Writer):
    """Writes events as Parquet, in groups of rows, so that memory does not grow."""

    def __init__(self, target: _Target) -> None:
        super().__init__(target)
        self._arrow, parquet = _import_arrow()
        types = {
            "timestamp": self._arrow.timestamp("us", "UTC"),
            "double": self._arrow.float64(),
            "int64": self._arrow.int64(),
            "string": self._arrow.string(),
        }
        self._schema = self._arrow.schema([(column, types[kind]) for column, kind in COLUMNS.items()])
        self._file = parquet.ParquetWriter(target.stream, self._schema, compression="zstd")
        self._rows: list[list[Any]] = []

    def write(self, event: Mapping[str, Any]) -> None:
        """Write an event."""
        row = flattened(event)
        row[_ENDED_AT] = None if row[_ENDED_AT] is None else datetime.fromisoformat(row[_ENDED_AT].upper())
        self._rows.append(row)
        if len(self._rows) == ROW_GROUP:
            self._write_group()

    def finish(self) -> None:
        """Write the last group and the footer."""
        if self._rows:
            self._write_group()
        self._file.close()

    def discard(self) -> None:
        """Leave nothing of the file."""
        self._file.close()
        super().discard()

    def _write_group(self) -> None:
        columns = zip(*self._rows, strict=True)
        try:
            arrays = [
                self._arrow.array(values, field.type)
                for values, field in zip(columns, self._schema, strict=True)
            ]
        except (OverflowError, ValueError) as error:
            raise ExportError(f"a value does not fit its column: {error}") from error
        self._file.write_batch(self._arrow.record_batch(arrays, schema=self._schema))
        self._rows.clear()


def _import_arrow() -> tuple[Any, Any]:
    """Return the packages that write Parquet. Raises ExportError when they are not installed."""
    try:
        import pyarrow.parquet  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise ExportError("Parquet needs another package: pip install 'ladderlog[parquet]'") from error
    return pyarrow, pyarrow.parquet


_ENDED_AT = list(COLUMNS).index("ended_at")


def export_lines(lines: IO[bytes], writer: EventWriter, bar: Any, report: FileReport) -> None:
    """Write the rating-changed events of JSON lines; another line is left out and told to the report."""
    fits = validator(RATING_CHANGED).is_valid
    number = 0
    for number, line in enumerate(lines, 1):
        if number % _PROGRESS_STEP == 0:
            bar.update(_PROGRESS_STEP)
        if line.isspace():
            continue
        report.read += 1
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            report.leave_out(number, "not-json", f"not JSON: {error}")
            continue
        if not fits(event):
            report.leave_out(number, "schema", f"not a rating-changed: {first_error(RATING_CHANGED, event)}")
            continue
        writer.write(event)
        report.written += 1
    bar.update(number % _PROGRESS_STEP)


_PROGRESS_STEP = 1_000
