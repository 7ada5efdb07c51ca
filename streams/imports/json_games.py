"""Finished games from JSON: records with paths instead of rows with columns; the rest is as with CSV.

Where a path has `[]` a record is a game with a list of players, else one with numbered ones: `player1`,
`player2`. Two fields are JSON's own. `won` says of a player whether he won, from which ranks are made, among
those who did not by their points; `highest_wins` says of a game whether more points are better.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.files.report import FileReport, LineError
from streams.imports.conversion import Conversion
from streams.imports.csv_games import FIELDS, write_games
from streams.imports.csv_rows import PASSED_OVER, SOLO, Broken, Column, Row, check_fields, is_field
from streams.imports.json_paths import Path, elements, longest_lists, parse_path, text_of
from streams.imports.json_records import Record, read_records
from streams.imports.links import id_of_link
from streams.imports.mapping import ImportMapping, MappingError
from streams.imports.winners import Seat, finish_seats

WON = "won"
HIGHEST_WINS = "highest_wins"
_DECIDING = {WON, HIGHEST_WINS}
JSON_FIELDS = (*FIELDS, WON, HIGHEST_WINS)
_PAIR = 2

Cells = dict[str, str]


def import_json(conversion: Conversion) -> FileReport:
    """Write the games of a JSON file as game-finished lines, and return the report.

    Raises MappingError when mapping and file do not fit; a bad record is left out and told to the report.
    """
    _check(conversion.mapping)
    encoding = "utf-8-sig" if conversion.mapping.encoding == "utf-8" else conversion.mapping.encoding
    text = io.TextIOWrapper(conversion.lines, encoding, errors="surrogateescape")
    try:
        return write_games(JsonTable(text, conversion), conversion)
    finally:
        text.detach()


def _check(mapping: ImportMapping) -> None:
    """Raise MappingError when a mapping says what only tables have."""
    of_tables = {
        "comment": mapping.comment is not None,
        "delimiter": mapping.delimiter is not None,
        "header": not mapping.header,
    }
    for key, given in of_tables.items():
        if given:
            raise MappingError(f"{key}: JSON has none; it is for CSV")


@dataclass(frozen=True, slots=True)
class _JsonRow(Row):
    """A row that knows where it stands in the document."""

    place: str = ""

    def label(self, field: str) -> str:
        """Return how messages call a field's path."""
        return f"{self.place}{Row.label(self, field)}"


def _conditions(given: Mapping[str, Sequence[str]]) -> list[tuple[Path, Sequence[str]]]:
    """Return what records are chosen by. Raises MappingError for what is a player's and not a game's."""
    conditions = [(parse_path(text), texts) for text, texts in given.items()]
    for path, _ in conditions:
        if path.lists:
            raise MappingError(
                f"{path.text!r}: games are chosen by what they are, not by one of their players"
            )
    return conditions


class JsonTable:
    """A JSON file bound to fields: each game as a row or as a row a player, and the records that are none."""

    # Rows of a game come together.
    grouped = True

    def __init__(self, text: io.TextIOWrapper, conversion: Conversion) -> None:
        self._conversion = conversion
        self._mapping = conversion.mapping
        seats = {
            path.lists[0][0]
            for texts in self._mapping.columns.values()
            for path in map(parse_path, filter(None, texts))
            if path.lists and path.lists[0]
        }
        self._document, self._records, place = read_records(text, self._mapping.records, seats)
        self._next = next(self._records, None)
        self._paths = self._bind()
        paths = [path for given in self._paths.values() for path in given]
        self._lists = longest_lists(paths) if paths else ()
        self._never = {path.text for path in paths}
        if not self._lists and _DECIDING & self._paths.keys():
            raise MappingError(
                f"columns.{WON}, columns.{HIGHEST_WINS}: they are for lists of players: players[]"
            )
        self._skip = _conditions(self._mapping.skip)
        self._only = _conditions(self._mapping.only)
        self.columns = self._made_columns()
        self._fields = list(self.columns)
        conversion.report.note("a record is a line" if place == "lines" else f"records are those of {place}")

    def __iter__(self) -> Iterator[Row | list[Row] | Broken]:
        """Yield the games in the file's order, and the records that are none."""
        number = 0
        while self._next is not None:
            record, self._next = self._next, next(self._records, None)
            number += 1
            yield record if isinstance(record, Broken) else self._game(record, number)
        for text in sorted(self._never):
            self._conversion.report.note(f"nothing stands at {text} in any record")

    def _bind(self) -> dict[str, list[Path]]:
        """Return the paths of each field: those of the mapping, and members of a field's own name."""
        check_fields(self._mapping, JSON_FIELDS)
        paths = {
            field: [parse_path(text) for text in given]
            for field, given in self._mapping.columns.items()
            if any(given)
        }
        if isinstance(self._next, Record) and isinstance(self._next.value, dict):
            for name in self._next.value:
                if name not in self._mapping.columns and is_field(name, FIELDS):
                    paths[name] = [parse_path(name)]
        return paths

    def _made_columns(self) -> dict[str, Column]:
        labels = {field: " and ".join(path.text for path in paths) for field, paths in self._paths.items()}
        labels.setdefault("game_id", "its number")
        if _DECIDING & self._paths.keys():
            labels.setdefault("rank", "who won")
        return {field: Column((position,), label) for position, (field, label) in enumerate(labels.items())}

    def _game(self, record: Record, number: int) -> Row | list[Row] | Broken:
        place = f"{record.place}: " if record.place else ""
        try:
            chains = elements(record.value, self._lists)
            self._select(record.value)
            if self._lists and len(chains) == 1:
                raise LineError(SOLO, "one player: a play alone is no game")
            if self._lists and not chains:
                raise LineError("players", "no players")
            rows = [self._cells(chain) for chain in chains]
            self._decide(rows)
        except LineError as error:
            return Broken(record.line, error.reason, f"{place}{error.message}")
        game_id = id_of_link(rows[0]["game_id"])
        made: list[Row] = []
        for cells in rows:
            cells["game_id"] = game_id
            texts = [cells[field] for field in self._fields]
            made.append(_JsonRow(record.line, texts, self.columns, self._mapping, number, place))
        return made if self._lists else made[0]

    def _select(self, value: Any) -> None:
        """Raise LineError for a record that is not asked for."""
        for option, conditions in (("skip", self._skip), ("only", self._only)):
            for path, texts in conditions:
                text = self._text(path, (value,))
                if (text in texts) == (option == "skip"):
                    raise LineError(PASSED_OVER, f"{path.text}: {text!r} (--{option})")

    def _cells(self, chain: Sequence[Any]) -> Cells:
        """Return the text of each field. Raises LineError when a path leads to a list or an object."""
        cells = dict.fromkeys(self._fields, "")
        for field, paths in self._paths.items():
            texts = [self._text(path, chain) for path in paths]
            cells[field] = texts[0] if len(texts) == 1 else " ".join(filter(None, texts))
        return cells

    def _text(self, path: Path, chain: Sequence[Any]) -> str:
        value = self._document.value(path, chain)
        if value is None:
            return ""
        self._never.discard(path.text)
        try:
            return text_of(value)
        except ValueError as error:
            raise LineError("value", f"{path.text}: {error}, where a text or a number is expected") from error

    def _decide(self, rows: list[Cells]) -> None:
        """Make ranks of who won, where nothing else says them. Raises LineError."""
        if not _DECIDING & self._paths.keys():
            return
        seats = [Seat(*(self._meant(cells, field) for field in ("rank", WON, "points"))) for cells in rows]
        finished = finish_seats(seats, self._meant(rows[0], HIGHEST_WINS), self._mapping.decimal)
        for cells, seat in zip(rows, finished, strict=True):
            cells["rank"] = seat.rank
            if "points" in cells:
                cells["points"] = seat.points

    def _meant(self, cells: Cells, field: str) -> str:
        """Return what a cell's text stands for."""
        text = cells.get(field, "").strip()
        return self._mapping.values.get(field, {}).get(text, text)
