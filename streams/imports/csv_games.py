"""Finished games from CSV, one row per game or one row per player and game.

The numbered fields `player1`, `points1`, `player2` … make it one row per game; `player`, `points` … one row
per player, whose rows of a game stand together and share a `game_id`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from streams.files.report import FileReport, LineError
from streams.imports.csv_rows import Broken, Row, Table, base_name
from streams.imports.event_sink import EventSink, LineSink
from streams.imports.mapping import ImportMapping, MappingError
from streams.imports.moments import Moments
from streams.imports.results import read_result

GAME_FIELDS = ("game_id", "ladder", "game_type", "started_at", "ended_at", "rated")
SEAT_FIELDS = ("player", "team", "rank", "points", "left", "left_at")
FIELDS = (*GAME_FIELDS, "result", *SEAT_FIELDS, *(f"{name}1" for name in SEAT_FIELDS))
MAX_PLAYERS = 32
_PAIR = 2

NO_ID = "games without an id; theirs is the file's name and their line, so keep both"
_FLAGS = {
    **dict.fromkeys(("true", "yes", "y", "1", "rated"), True),
    **dict.fromkeys(("false", "no", "n", "0", "unrated", "casual"), False),
}
_LEFT = ("abandoned", "disconnected")


def import_csv(
    lines: IO[bytes],
    mapping: ImportMapping,
    out: LineSink,
    progress: Any,
    report: FileReport | None = None,
    *,
    name: str = "import",
    ordered: bool = False,
) -> FileReport:
    """Write the games of a CSV file as game-finished lines.

    `name` begins the ids of games without one. `ordered`: `out` sorts, so the order need not be noted.
    Raises MappingError when mapping and header do not fit; a bad row is left out and told to the report.
    """
    sink = EventSink(out, progress, report or FileReport(), ordered=ordered)
    table = Table(lines, mapping, FIELDS)
    try:
        reader = _GameReader(table, mapping, sink.report, name)
        for record in reader.records(table):
            sink.take(record.line, record.make)
    finally:
        table.release()
    sink.close()
    return sink.report


@dataclass
class _BrokenRecord:
    broken: Broken

    @property
    def line(self) -> int:
        return self.broken.line

    def make(self) -> dict[str, Any]:
        raise LineError(self.broken.reason, self.broken.message)


@dataclass
class _WideRecord:
    """A game in one row."""

    reader: "_GameReader"
    row: Row

    @property
    def line(self) -> int:
        return self.row.line

    def make(self) -> dict[str, Any]:
        return self.reader.wide_game(self.row)


@dataclass
class _TallRecord:
    """A game in consecutive rows; `beside` is a line before or after them that could not be read."""

    reader: "_GameReader"
    game_id: str
    beside: int | None
    rows: list[Row] = field(default_factory=list)
    count: int = 0

    @property
    def line(self) -> int:
        return self.rows[0].line

    def add(self, row: Row) -> None:
        self.count += 1
        # More players than a game may have: counted, not kept.
        if self.count <= MAX_PLAYERS:
            self.rows.append(row)

    def make(self) -> dict[str, Any]:
        return self.reader.tall_game(self)


_Record = _BrokenRecord | _WideRecord | _TallRecord


class _GameReader:
    """Makes events of rows, with the columns that this file has."""

    def __init__(self, table: Table, mapping: ImportMapping, report: FileReport, name: str) -> None:
        self._mapping = mapping
        self._report = report
        self._name = name
        self._moments = Moments(mapping.zone(), mapping.time_formats, report.note)
        self._columns = table.columns
        self._seats = _seats(table, mapping)
        self._has_result = "result" in table.columns
        self._check()
        report.note("columns: " + ", ".join(self._shown()))

    def records(self, table: Table) -> Iterator[_Record]:
        if self._seats == [""]:
            yield from self._grouped(table)
            return
        for item in table:
            yield _BrokenRecord(item) if isinstance(item, Broken) else _WideRecord(self, item)

    def wide_game(self, row: Row) -> dict[str, Any]:
        seats = [seat for number in self._seats if (seat := self._seat(row, number)) is not None]
        if len(seats) < _PAIR:
            columns = ", ".join(row.label(f"player{number}") for number in self._seats)
            raise LineError("players", f"{len(seats)} players, a game has 2 or more; they are in {columns}")
        if self._has_result:
            made = read_result(row.text("result"), row.label("result"), self._mapping.decimal)
            for seat, points in zip(seats, made, strict=True):
                seat["points"] = points
        return {**self._common(row), "players": seats}

    def tall_game(self, record: _TallRecord) -> dict[str, Any]:
        first, *others = record.rows
        if record.beside is not None:
            raise LineError(
                "mixed",
                f"game {record.game_id!r} stands beside line {record.beside}, which may be a part of it",
            )
        if not _PAIR <= record.count <= MAX_PLAYERS:
            raise LineError(
                "players",
                f"{first.label('game_id')}: {record.count} rows with {record.game_id!r} stand together; "
                f"a game has {_PAIR} to {MAX_PLAYERS} players",
            )
        for row in others:
            self._check_same(first, row)
        seats = [self._required_seat(row) for row in record.rows]
        return {**self._common(first), "players": seats}

    def _grouped(self, table: Table) -> Iterator[_Record]:
        group: _TallRecord | None = None
        beside: int | None = None
        for item in table:
            keyed = _keyed(item)
            if isinstance(keyed, Broken):
                if group is not None:
                    group.beside = keyed.line
                    yield group
                yield _BrokenRecord(keyed)
                group, beside = None, keyed.line
                continue
            row, game_id = keyed
            if group is None or group.game_id != game_id:
                if group is not None:
                    yield group
                group, beside = _TallRecord(self, game_id, beside), None
            group.add(row)
        if group is not None:
            yield group

    def _common(self, row: Row) -> dict[str, Any]:
        game_id = row.identifier("game_id")
        if game_id is None:
            game_id = f"{self._name}-{row.line}"
            self._report.note(NO_ID, row.line)
        game = {
            "game_id": game_id,
            "ladder": row.identifier("ladder") or self._mapping.ladder or row.required("ladder"),
            "game_type": row.identifier("game_type") or self._mapping.game_type,
            "started_at": self._time(row, "started_at"),
            "ended_at": self._time(row, "ended_at") or row.required("ended_at"),
            "rated": self._flag(row),
        }
        return {name: value for name, value in game.items() if value is not None}

    def _seat(self, row: Row, number: str) -> dict[str, Any] | None:
        seat = {
            "player_id": row.identifier(f"player{number}"),
            "team": row.identifier(f"team{number}"),
            "rank": row.whole(f"rank{number}"),
            "points": row.number(f"points{number}"),
            "left": self._left(row, f"left{number}"),
            "left_at": self._time(row, f"left_at{number}"),
        }
        found = {name: value for name, value in seat.items() if value is not None}
        if found and "player_id" not in found:
            raise LineError(
                "missing", f"{row.label(f'player{number}')} is empty, but not the player's others"
            )
        return found or None

    def _required_seat(self, row: Row) -> dict[str, Any]:
        row.required("player")
        return self._seat(row, "") or {}

    def _time(self, row: Row, field: str) -> str | None:
        text = row.text(field)
        if text is None:
            return None
        try:
            return self._moments.read(text, row.line)
        except ValueError as error:
            raise row.error("time", field, str(error)) from error

    def _flag(self, row: Row) -> bool | None:
        text = row.text("rated")
        if text is None:
            return None
        flag = _FLAGS.get(text.lower())
        if flag is None:
            raise row.error("value", "rated", f"{text!r} is none of {', '.join(_FLAGS)}")
        return flag

    def _left(self, row: Row, field: str) -> str | None:
        text = row.text(field)
        if text is not None and text not in _LEFT:
            raise row.error("value", field, f"{text!r} is none of {', '.join(_LEFT)} (or empty)")
        return text

    def _check_same(self, first: Row, row: Row) -> None:
        for name in GAME_FIELDS:
            own, other = first.text(name), row.text(name)
            if own != other:
                raise row.error(
                    "mixed",
                    name,
                    f"{other or ''!r} is not {own or ''!r}, as on line {first.line} of that game",
                )

    def _check(self) -> None:
        columns = self._columns
        if "ended_at" not in columns:
            raise _no_column("ended_at", "a game needs its end")
        if "ladder" not in columns and self._mapping.ladder is None:
            raise MappingError("ladder: neither given (--ladder NAME) nor a column (--map ladder=COLUMN)")
        if self._seats == [""] and "game_id" not in columns:
            raise _no_column("game_id", "with one row per player, it tells which rows are one game")
        if self._has_result:
            self._check_result()

    def _check_result(self) -> None:
        if len(self._seats) != _PAIR:
            raise MappingError("columns.result: a result is for files with player1 and player2 in one row")
        for number in self._seats:
            if f"points{number}" in self._columns:
                raise MappingError(f"columns.result: it gives the points, and so does points{number}")

    def _shown(self) -> Iterator[str]:
        for name, column in self._columns.items():
            yield f"{name} from {column.label.removeprefix('column ')}"


def _seats(table: Table, mapping: ImportMapping) -> list[str]:
    """Give the players' numbers, or one empty text for a row per player; drop the columns of the other."""
    mapped = {name for name, columns in mapping.columns.items() if any(columns)}
    numbered = {name for name in table.columns if base_name(name) != name}
    plain = {name for name in table.columns if name in SEAT_FIELDS}
    if numbered & mapped and plain & mapped:
        raise MappingError(
            f"columns: {min(numbered & mapped)} is for one row per game, "
            f"{min(plain & mapped)} for one row per player"
        )
    wide = bool(numbered & mapped) or (not plain & mapped and "player1" in numbered)
    for name in plain if wide else numbered:
        del table.columns[name]
    if not wide:
        if "player" not in table.columns:
            raise _no_column("player1 and player2 (one row per game), nor for player (one row per player)")
        return [""]
    seats = sorted({name.removeprefix(base_name(name)) for name in numbered}, key=int)
    for number in {"1", "2", *seats}:
        if f"player{number}" not in table.columns:
            raise _no_column(f"player{number}")
    return seats


def _keyed(item: Row | Broken) -> tuple[Row, str] | Broken:
    """Tell which game a row is of; one that does not say is as bad as one that cannot be read."""
    if isinstance(item, Broken):
        return item
    try:
        item.required("game_id")
        return item, item.identifier("game_id") or ""
    except LineError as error:
        return Broken(item.line, error.reason, error.message)


def _no_column(field: str, why: str = "") -> MappingError:
    first = field.split(maxsplit=1)[0]
    reason = f": {why}" if why else ""
    return MappingError(f"no column for {field}{reason} (--map {first}=COLUMN)")
