"""CSV read row by row, with the line on which each row begins and the columns its fields come from."""

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Protocol, Self

from streams.core.events import MAX_PLAYERS
from streams.files.report import LineError, PassedOverError
from streams.imports.mapping import ImportMapping, MappingError

# The reason of rows that are not asked for.
PASSED_OVER = "skipped"
SOLO = "solo"
_NO_GAMES = {PASSED_OVER, SOLO}
_GUESSED = ",;\t|"
_NUMBERED = re.compile(r"([a-z_]+?)([1-9]\d?)?")
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)
_ID = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,128}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Broken:
    """A line that is no row of the table, or none that is asked for."""

    line: int
    reason: str
    message: str

    def error(self) -> LineError:
        """Return what a record is that is made of it."""
        kind = PassedOverError if self.reason in _NO_GAMES else LineError
        return kind(self.reason, self.message, self.line)


@dataclass(frozen=True, slots=True)
class Column:
    """Where a field comes from: cells by position, and how messages call them."""

    positions: tuple[int, ...]
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `line` is where it begins."""

    line: int
    cells: Sequence[str]
    columns: Mapping[str, Column]
    mapping: ImportMapping
    # Which game it is, where that and not the line tells games apart.
    record: int | None = None

    def text(self, field: str) -> str | None:
        """Return a field's text without surrounding spaces; None when it is empty or has no column."""
        column = self.columns.get(field)
        if column is None:
            return self.mapping.constants.get(field)
        first, *more = column.positions
        text = self.cells[first].strip()
        if more:
            text = " ".join(filter(None, [text, *(self.cells[position].strip() for position in more)]))
        if not text.isascii():
            _check_encoded(text, column.label, self.mapping.encoding, self.line)
        values = self.mapping.values
        if values:
            # What it means in this seat, or else in any.
            for name in (field, base_name(field)):
                if text in values.get(name, ()):
                    text = values[name][text]
                    break
        return text or self.mapping.constants.get(field)

    def required(self, field: str) -> str:
        """Return a field's text, which every event needs. Raises LineError when it is empty."""
        text = self.text(field)
        if text is None:
            raise LineError("missing", f"{self.label(field)} is empty", self.line)
        return text

    def identifier(self, field: str) -> str | None:
        """Return a field's text as an id. Raises LineError when it cannot be one."""
        text = self.text(field)
        if text is not None and _ID.fullmatch(text) is None:
            raise self.error("id", field, f"{text!r} is over 128 characters or has unprintable ones")
        return text

    def number(self, field: str) -> float | None:
        """Return a field's number, written with the mapping's decimal point or comma. Raises LineError."""
        text = self.text(field)
        if text is None:
            return None
        plain = text if self.mapping.decimal == "." else text.replace(".", "x").replace(",", ".")
        if _NUMBER.fullmatch(plain) is None:
            hint = "" if self.mapping.decimal == "," or "," not in text else " (a decimal comma: --decimal ,)"
            raise self.error("number", field, f"{text!r} is not a number{hint}")
        return float(plain)

    def whole(self, field: str) -> int | None:
        """Return a field's whole number; 3.0 is one, as spreadsheets write it. Raises LineError."""
        number = self.number(field)
        if number is not None and not number.is_integer():
            raise self.error("number", field, f"{self.text(field)!r} is not a whole number")
        return None if number is None else int(number)

    def error(self, reason: str, field: str, message: str) -> LineError:
        """Return an error of this row that names the column."""
        return LineError(reason, f"{self.label(field)}: {message}", self.line)

    def label(self, field: str) -> str:
        """Return how messages call a field's column."""
        column = self.columns.get(field)
        return f"set {field}" if column is None else column.label


class GameTable(Protocol):
    """Where the games of a file come from: rows, or the rows of a game together when it is `grouped`."""

    grouped: bool
    columns: dict[str, Column]

    def __iter__(self) -> Iterator["Row | list[Row] | Broken"]:
        """Yield what stands in the file, in its order."""


class Table:
    """A CSV file bound to fields: its rows, and the lines that are none.

    `fields` are the names that columns may have; those ending in `1` may have any number from 1 to 32. There
    are none where the cells alone are looked at. As a context it leaves the file to whoever opened it.
    """

    grouped = False

    def __init__(self, lines: IO[bytes], mapping: ImportMapping, fields: Sequence[str]) -> None:
        self._mapping = mapping
        encoding = "utf-8-sig" if mapping.encoding == "utf-8" else mapping.encoding
        # What cannot be decoded travels on as surrogates, and is refused in the cell where it is needed.
        self._text = io.TextIOWrapper(lines, encoding, errors="surrogateescape", newline="")
        self._before = 0
        self.delimiter, first = self._first_line()
        texts = _chained(first, self._text)
        if mapping.comment is not None:
            texts = _uncommented(texts, mapping.comment)
        self._reader = csv.reader(texts, delimiter=self.delimiter, strict=True)
        self.header = self._read_header(first)
        self.columns = _bind(self.header, mapping, fields) if fields else {}
        self._skip = _conditions("skip", mapping.skip, self.header)
        self._only = _conditions("only", mapping.only, self.header)

    def __iter__(self) -> Iterator[Row | Broken]:
        reader = self._reader
        width = len(self.header)
        while True:
            line = self._before + reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except (csv.Error, UnicodeError) as error:
                yield Broken(line, "csv", self._described(error, line))
                if isinstance(error, UnicodeError):
                    return
                continue
            if not cells:
                continue
            # Spreadsheets write empty cells beyond the last column; without a header no width is promised.
            surplus = cells[width:] if self._mapping.header else []
            if len(cells) < width or any(surplus):
                yield Broken(line, "csv", f"{len(cells)} cells where the header has {width}")
            else:
                yield self._passed_over(line, cells) or Row(line, cells, self.columns, self._mapping)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.detach()

    def _passed_over(self, line: int, cells: Sequence[str]) -> Broken | None:
        """Return a row that is not asked for as what it is; None for one that is."""
        for position, (name, texts) in self._skip.items():
            if cells[position].strip() in texts:
                return Broken(line, PASSED_OVER, f"column {name!r}: {cells[position].strip()!r} (--skip)")
        for position, (name, texts) in self._only.items():
            if cells[position].strip() not in texts:
                return Broken(line, PASSED_OVER, f"column {name!r}: {cells[position].strip()!r} (--only)")
        return None

    def _first_line(self) -> tuple[str, str]:
        try:
            first = self._text.readline()
            named = _SEPARATOR_LINE.fullmatch(first)
            if named is not None:
                self._before = 1
                first = self._text.readline()
            while first and self._mapping.comment is not None and first.startswith(self._mapping.comment):
                self._before += 1
                first = self._text.readline()
        except UnicodeError as error:
            raise MappingError(f"line 1: not text in {self._mapping.encoding}: {error}") from error
        if not first:
            raise MappingError("the file is empty: there is no header line")
        if self._mapping.delimiter is not None:
            return self._mapping.delimiter, first
        return named[1] if named is not None else max(_GUESSED, key=first.count), first

    def _read_header(self, first: str) -> list[str]:
        if not self._mapping.header:
            width = len(next(csv.reader([first], delimiter=self.delimiter)))
            return [f"#{number}" for number in range(1, width + 1)]
        try:
            header = [name.strip() for name in next(self._reader, [])]
        except csv.Error as error:
            raise MappingError(f"line {self._before + 1}: the header is not CSV: {error}") from error
        if not any(header):
            raise MappingError(f"line {self._before + 1}: the header line is empty")
        return header

    def _described(self, error: Exception, line: int) -> str:
        last = self._before + self._reader.line_num
        if isinstance(error, UnicodeError):
            return f"not text in {self._mapping.encoding}; nothing after it can be read: {error}"
        if last == line:
            return f"not CSV: {error}"
        return f"not CSV, and lines {line} to {last} are lost with it (a quote that is not closed?): {error}"


def base_name(field: str) -> str:
    """Return a field's name without its player's number."""
    return field.rstrip("0123456789")


def _chained(first: str, rest: IO[str]) -> Iterator[str]:
    yield first
    yield from rest


def _uncommented(lines: Iterator[str], comment: str) -> Iterator[str]:
    """Yield lines, those that begin so as empty ones, unless they are a part of a quoted cell."""
    in_quotes = False
    for line in lines:
        if not in_quotes and line.startswith(comment):
            yield "\n"
            continue
        yield line
        in_quotes ^= line.count('"') % 2 == 1


def _conditions(
    key: str, given: Mapping[str, tuple[str, ...]], header: list[str]
) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return name and texts of the columns that rows are chosen by, by position. Raises MappingError."""
    return {_position(key, name, header): (name, texts) for name, texts in given.items()}


def _check_encoded(text: str, label: str, encoding: str, line: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LineError(
            "encoding", f"{label}: {text!r} is not text in {encoding} (another one: --encoding)", line
        ) from error


def _bind(header: list[str], mapping: ImportMapping, fields: Sequence[str]) -> dict[str, Column]:
    check_fields(mapping, fields)
    columns: dict[str, Column] = {}
    for field, names in mapping.columns.items():
        if any(names):
            columns[field] = _column(field, names, header)
    for name in dict.fromkeys(header):
        if name not in mapping.columns and is_field(name, fields):
            columns[name] = _column(name, (name,), header)
    return columns


def check_fields(mapping: ImportMapping, fields: Sequence[str]) -> None:
    """Raise MappingError when a mapping names a field that there is not."""
    for field in mapping.columns:
        if not is_field(field, fields):
            raise MappingError(f"columns.{field}: no such field; there are {', '.join(fields)}")
    for key, named in (("values", mapping.values), ("set", mapping.constants)):
        for field in named:
            if field not in map(base_name, fields) and not is_field(field, fields):
                raise MappingError(
                    f"{key}.{field}: no such field; there are {', '.join(map(base_name, fields))}"
                )


def is_field(name: str, fields: Sequence[str]) -> bool:
    """Say whether there is a field of that name, with or without a player's number."""
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return False
    if match[2] is None:
        return name in fields
    return f"{match[1]}1" in fields and int(match[2]) <= MAX_PLAYERS


def _column(field: str, names: tuple[str, ...], header: list[str]) -> Column:
    positions = tuple(_position(field, name, header) for name in names)
    shown = " and ".join(repr(header[position]) for position in positions)
    return Column(positions, f"column {shown}")


def _position(field: str, name: str, header: list[str]) -> int:
    count = header.count(name)
    if count == 1:
        return header.index(name)
    if count > 1:
        places = [f"#{number}" for number, column in enumerate(header, 1) if column == name]
        raise MappingError(
            f"line 1: column {name!r}, read as {field}, is there {count} times; "
            f"say which by its number: {' or '.join(places)}"
        )
    if re.fullmatch(r"#[1-9]\d{0,3}", name) and int(name[1:]) <= len(header):
        return int(name[1:]) - 1
    close = difflib.get_close_matches(name, header, 1)
    hint = f"; is it {close[0]!r}?" if close else ""
    raise MappingError(f"columns.{field}: the file has no column {name!r}{hint} It has {_listed(header)}")


def _listed(header: Sequence[str], limit: int = 40) -> str:
    shown = ", ".join(map(repr, header[:limit]))
    return shown if len(header) <= limit else f"{shown} and {len(header) - limit} more"
