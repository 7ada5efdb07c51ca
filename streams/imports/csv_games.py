"""Finished games from CSV, one row per game or one row per player and game.

The numbered fields `player1`, `points1`, `player2` … make it one row per game; `player`, `points` … one row
per player, whose rows of a game stand together and share a `game_id`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, NoReturn

from streams.core.events import MAX_PLAYERS
from streams.files.report import FileReport, LineError, PassedOverError
from streams.imports.conversion import Conversion, present
from streams.imports.csv_rows import PASSED_OVER, Broken, Column, GameTable, Row, Table, base_name
from streams.imports.games import Games
from streams.imports.mapping import ImportMapping, MappingError
from streams.imports.moments import Moments
from streams.imports.results import Result, read_result
from streams.imports.words import flags, is_draw, rated_flag

GAME_FIELDS = ("game_id", "ladder", "game_type", "started_at", "ended_at", "rated")
SEAT_FIELDS = ("player", "team", "rank", "points", "left", "left_at")
# Who won and who lost, in one row: instead of the first and the second player.
_WON_AND_LOST = {"winner": "player1", "loser": "player2"}
FIELDS = (*GAME_FIELDS, "result", *_WON_AND_LOST, *SEAT_FIELDS, *(f"{name}1" for name in SEAT_FIELDS))
_PAIR = 2
_LEFT = ("abandoned", "disconnected")
HALVES = "games of two teams, the first half of the players against the second"


def import_csv(conversion: Conversion) -> FileReport:
    """Write the games of a CSV file as game-finished lines, and return the report.

    Raises MappingError when mapping and header do not fit; a bad row is left out and told to the report.
    """
    with Table(conversion.lines, conversion.mapping, FIELDS) as table:
        return write_games(table, conversion)


def write_games(table: GameTable, conversion: Conversion) -> FileReport:
    """Write the games of a table as game-finished lines, and return the report. Raises MappingError."""
    sink = conversion.sink()
    for record in _GameReader(table, conversion).records(table):
        sink.take(record.line, record.make)
    sink.close()
    return conversion.report


class _Record(NamedTuple):
    """What becomes one game: where it begins, and what makes its event. That may raise LineError."""

    line: int
    make: Callable[[], dict[str, Any]]


@dataclass
class _Group:
    """The consecutive rows of a game; `beside` is a line before or after them that could not be read."""

    game_id: str
    beside: int | None
    rows: list[Row] = field(default_factory=list)
    count: int = 0

    def add(self, row: Row) -> None:
        """Take one more row of the game."""
        self.count += 1
        # More players than a game may have: counted, not kept.
        if self.count <= MAX_PLAYERS:
            self.rows.append(row)


class _GameReader:
    """Makes events of rows, with the columns that this file has."""

    def __init__(self, table: GameTable, conversion: Conversion) -> None:
        self._conversion = conversion
        self._mapping = conversion.mapping
        self._report = conversion.report
        self._moments = Moments(
            self._mapping.zone(),
            self._mapping.time_formats,
            conversion.report.note,
            self._mapping.partial_dates,
        )
        self._games = Games(self._mapping, conversion.report)
        self._columns = table.columns
        _drop_what_others_say(table.columns, self._mapping)
        self._first_won = _rename_winner(table.columns)
        self._seats = _seats(table, self._mapping)
        self._has_winner = "winner" in table.columns
        self._has_result = "result" in table.columns
        self._check()
        conversion.report.note("columns: " + ", ".join(self._shown()))

    def records(self, table: GameTable) -> Iterator[_Record]:
        """Yield the games in the file's order, and the lines that are none."""
        if self._seats == [""] and not table.grouped:
            yield from self._grouped(table)
            return
        for item in table:
            if isinstance(item, list):
                yield self._tall_record(_Group(item[0].text("game_id") or "", None, item, len(item)))
            else:
                make = partial(_refuse, item) if isinstance(item, Broken) else partial(self._wide_game, item)
                yield _Record(item.line, make)

    def _wide_game(self, row: Row) -> dict[str, Any]:
        """Return the game in one row."""
        seats = [seat for number in self._seats if (seat := self._seat(row, number)) is not None]
        if len(seats) < _PAIR:
            columns = ", ".join(row.label(f"player{number}") for number in self._seats)
            if len(seats) == 1 and len(self._seats) == _PAIR:
                raise PassedOverError("bye", f"{columns}: a player alone: a bye is no game")
            raise LineError("players", f"{len(seats)} players, a game has 2 or more; they are in {columns}")
        forfeit = False
        if self._has_result or self._first_won or self._has_winner:
            forfeit = self._decide(row, seats)
        game = {**self._common(row), "players": seats}
        return self._games.finish(game, forfeit=forfeit, rated=self._flag(row), line=row.line)

    def _decide(self, row: Row, seats: list[dict[str, Any]]) -> bool:
        """Give two sides the result, and say whether it is a forfeit."""
        for seat, side in zip(seats, self._sides(row, seats), strict=True):
            seat["side"] = side
        winner = 0 if self._first_won else self._winner(row, seats)
        text = row.text("result") if self._has_result else None
        if text is None and winner is not None:
            result = Result(None)
        elif text is None and not self._has_result:
            # Nobody won, as the column of winners says.
            result = Result((0.5, 0.5))
        else:
            result = read_result(text, row.label("result"), self._mapping.decimal)
        self._games.take_result(seats, result, winner)
        return result.forfeit

    def _sides(self, row: Row, seats: list[dict[str, Any]]) -> list[int]:
        """Return on which of two sides each player is: by their teams, or each half of them one."""
        teams = list(dict.fromkeys(seat.get("team") for seat in seats))
        if len(teams) == _PAIR:
            return [teams.index(seat.get("team")) for seat in seats]
        if len(seats) % _PAIR or teams != [None]:
            label = row.label("result") if self._has_result else "who won"
            raise LineError(
                "players",
                f"{label}: it is told of two sides, and these are {len(seats)} players in {len(teams)} teams",
            )
        half = len(seats) // _PAIR
        if half > 1:
            self._report.note(HALVES, row.line)
            for number, seat in enumerate(seats):
                seat["team"] = str(number // half + 1)
        return [number // half for number in range(len(seats))]

    def _winner(self, row: Row, seats: list[dict[str, Any]]) -> int | None:
        """Return the side of the player or team that a column of winners names; None for a draw."""
        text = row.text("winner") if self._has_winner else None
        if text is None:
            if self._has_winner and not self._has_result:
                raise row.error("unfinished", "winner", "is empty: the game is not over")
            return None
        if is_draw(text):
            return None
        name = self._games.player(text, row.label("winner"))
        sides = {seat["side"] for seat in seats if name in {seat["player_id"], seat.get("team")}}
        if len(sides) != 1:
            known = ", ".join(repr(seat["player_id"]) for seat in seats)
            raise row.error("value", "winner", f"{text!r} is none of {known}, nor a word for a draw")
        return int(sides.pop())

    def _tall_game(self, group: _Group) -> dict[str, Any]:
        """Return the game in consecutive rows."""
        first, *others = group.rows
        if group.beside is not None:
            raise LineError(
                "mixed",
                f"game {group.game_id!r} stands beside line {group.beside}, which may be a part of it",
            )
        if not _PAIR <= group.count <= MAX_PLAYERS:
            raise LineError(
                "players",
                f"{first.label('game_id')}: {group.count} rows with {group.game_id!r} stand together; "
                f"a game has {_PAIR} to {MAX_PLAYERS} players",
            )
        for row in others:
            self._check_same(first, row)
        seats = [self._required_seat(row) for row in group.rows]
        game = {**self._common(first), "players": seats}
        return self._games.finish(game, forfeit=False, rated=self._flag(first), line=first.line)

    def _grouped(self, table: GameTable) -> Iterator[_Record]:
        group: _Group | None = None
        beside: int | None = None
        for item in table:
            if isinstance(item, list):
                continue
            keyed = _keyed(item)
            if isinstance(keyed, Broken) and keyed.reason == PASSED_OVER:
                yield _Record(keyed.line, partial(_refuse, keyed))
                continue
            if isinstance(keyed, Broken):
                if group is not None:
                    group.beside = keyed.line
                    yield self._tall_record(group)
                yield _Record(keyed.line, partial(_refuse, keyed))
                group, beside = None, keyed.line
                continue
            row, game_id = keyed
            if group is None or group.game_id != game_id:
                if group is not None:
                    yield self._tall_record(group)
                group, beside = _Group(game_id, beside), None
            group.add(row)
        if group is not None:
            yield self._tall_record(group)

    def _tall_record(self, group: _Group) -> _Record:
        return _Record(group.rows[0].line, partial(self._tall_game, group))

    def _common(self, row: Row) -> dict[str, Any]:
        game = {
            "game_id": row.identifier("game_id") or self._conversion.made_id(row.line, row.record),
            "ladder": row.identifier("ladder") or self._mapping.ladder or row.required("ladder"),
            "game_type": row.identifier("game_type") or self._mapping.game_type,
            "started_at": self._time(row, "started_at"),
            "ended_at": self._time(row, "ended_at") or row.required("ended_at"),
        }
        return present(game)

    def _seat(self, row: Row, number: str) -> dict[str, Any] | None:
        """Return a player as the row has it; None when all its cells are empty."""
        name = row.identifier(f"player{number}")
        cells = {
            "player_id": None if name is None else self._games.player(name, row.label(f"player{number}")),
            "team": row.identifier(f"team{number}"),
            "rank": row.whole(f"rank{number}"),
            "points": row.number(f"points{number}"),
            "left": self._left(row, f"left{number}"),
            "left_at": self._time(row, f"left_at{number}"),
        }
        seat = present(cells)
        if seat and "player_id" not in seat:
            raise LineError(
                "missing", f"{row.label(f'player{number}')} is empty, but not the player's others"
            )
        return seat or None

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
        except LineError as error:
            raise row.error(error.reason, field, error.message) from error

    def _flag(self, row: Row) -> bool | None:
        text = row.text("rated")
        if text is None or self._mapping.rated is not None:
            return None
        flag = rated_flag(text)
        if flag is None:
            raise row.error("value", "rated", f"{text!r} is none of {', '.join(flags())}")
        return flag

    def _left(self, row: Row, field: str) -> str | None:
        text = row.text(field)
        if text is not None and text not in _LEFT:
            raise row.error("value", field, f"{text!r} is none of {', '.join(_LEFT)} (or empty)")
        return text

    def _check_same(self, first: Row, row: Row) -> None:
        for name in GAME_FIELDS:
            expected, other = first.text(name), row.text(name)
            if other != expected:
                raise row.error(
                    "mixed",
                    name,
                    f"{other or ''!r} is not {expected or ''!r}, as on line {first.line} of that game",
                )

    def _check(self) -> None:
        columns = self._columns
        constants = self._mapping.constants
        if "ended_at" not in columns and "ended_at" not in constants:
            raise _no_column("ended_at", "a game needs its end")
        if "ladder" not in {*columns, *constants} and self._mapping.ladder is None:
            raise MappingError("ladder: neither given (--ladder NAME) nor a column (--map ladder=COLUMN)")
        if self._seats == [""] and "game_id" not in columns:
            raise _no_column("game_id", "with one row per player, it tells which rows are one game")
        if self._has_result:
            self._check_result()

    def _check_result(self) -> None:
        if self._seats == [""]:
            raise MappingError("columns.result: a result is for files with all players in one row")
        for number in self._seats:
            if f"points{number}" in self._columns:
                raise MappingError(f"columns.result: it gives the points, and so does points{number}")

    def _shown(self) -> Iterator[str]:
        for name, column in self._columns.items():
            yield f"{name} from {column.label.removeprefix('column ')}"


def _seats(table: GameTable, mapping: ImportMapping) -> list[str]:
    """Return the players' numbers, or one empty text for a row per player.

    The columns of the other shape are dropped from the table. Raises MappingError when it is neither.
    """
    mapped = {_WON_AND_LOST.get(name, name) for name, columns in mapping.columns.items() if any(columns)}
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


def _drop_what_others_say(columns: dict[str, Column], mapping: ImportMapping) -> None:
    """Drop columns that only have the name of a field, where the mapping says the same by others.

    Winner and loser count by their names alone where nothing else says who won.
    """
    mapped = {name for name, given in mapping.columns.items() if any(given)}
    taken = {column for given in mapping.columns.values() for column in given}
    scores = {name for name in columns if base_name(name) in {"points", "rank"} and name != base_name(name)}
    dropped = {name for name in columns.keys() - mapped if name in taken}
    if "result" in mapped:
        dropped |= scores - mapped
    elif mapped & (scores | set(SEAT_FIELDS)):
        dropped.add("result")
    names_two = columns.keys() >= _WON_AND_LOST.keys() and not {"player1", "player"} & columns.keys()
    if (scores or "result" in columns) and not names_two and not mapped & _WON_AND_LOST.keys():
        dropped |= _WON_AND_LOST.keys()
    for name in dropped & columns.keys():
        del columns[name]


def _rename_winner(columns: dict[str, Column]) -> bool:
    """Make winner and loser the first and the second player, if there are both; say whether there are."""
    if not columns.keys() >= _WON_AND_LOST.keys():
        return False
    for name, player in _WON_AND_LOST.items():
        columns[player] = columns.pop(name)
    return True


def _refuse(broken: Broken) -> NoReturn:
    raise broken.error()


def _keyed(item: Row | Broken) -> tuple[Row, str] | Broken:
    """Return a row and which game it is of; one that does not say is as bad as one that cannot be read."""
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
