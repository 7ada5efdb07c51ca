"""Looks at a file that nobody has said how to read, and says how it could be."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any

import orjson

from streams.files.report import FileReport
from streams.imports.conversion import Conversion
from streams.imports.csv_games import import_csv
from streams.imports.csv_rows import Row, Table
from streams.imports.encodings import find_encoding, plain_pieces
from streams.imports.field_names import fields_of
from streams.imports.guess_columns import Guess, guess_columns
from streams.imports.guess_json import fits, guess_json
from streams.imports.json_games import import_json
from streams.imports.mapping import MappingError, parse_mapping
from streams.imports.pgn import import_pgn
from streams.imports.presets import merged, preset, presets
from streams.imports.time_guess import guess_times

# How much of a file is looked at, in bytes; of a document of JSON nearly all of it.
_HEAD_BYTES = 1 << 18
_DOCUMENT_BYTES = 1 << 28
_ROWS = 300
_EXAMPLES = 3
_ENDINGS = {".pgn": "pgn", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_IMPORTERS = {"csv": import_csv, "json": import_json, "pgn": import_pgn}

Document = dict[str, Any]


@dataclass(frozen=True)
class Suggestion:
    """How a file could be read: a mapping, or a preset and what it lacks, and the first games so read."""

    guess: Guess
    examples: list[str]


class _Quiet:
    def update(self, count: int) -> None:
        """Show nothing."""


def suggest(name: str, lines: IO[bytes], given: Mapping[str, Any], folder: Path | None) -> Suggestion:
    """Return how a file could be read, beside what is given of its mapping; `folder` has more presets.

    Raises MappingError when it cannot be told.
    """
    head = lines.read(_HEAD_BYTES)
    form = given.get("format") or _format(head, name)
    if len(head) == _HEAD_BYTES:
        head = head + lines.read(_DOCUMENT_BYTES) if form == "json" else head[: head.rfind(b"\n") + 1]
    base = {"encoding": find_encoding([head]).name, **given, "format": form}
    guess = _GUESSES[form](head, base, folder)
    guess.document["format"] = form
    if guess.preset is not None:
        base = merged(preset(guess.preset, folder), base)
    document = merged(base, guess.document)
    if "ladder" not in {*document, *document.get("columns", {})}:
        document["ladder"] = guess.document["ladder"] = "chess" if form == "pgn" else _ladder_of(name)
        guess.remarks.append(
            f"the ladder {document['ladder']!r} is this program's guess: the name under which these games' "
            "ratings are kept"
        )
    return Suggestion(guess, _tried(guess, head, document))


def _format(head: bytes, name: str) -> str:
    text = head.decode("utf-8", errors="replace").replace("\0", "").lstrip("\ufeff\ufffd \t\r\n")
    if text[:1] == "[" and text[1:2].isalpha() and text.partition("\n")[0].rstrip().endswith('"]'):
        return "pgn"
    if text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("{", "[", "]")):
        return "json"
    return _ENDINGS.get(PurePath(name).suffix.lower(), "csv")


def _ladder_of(name: str) -> str:
    stem = PurePath(name).name.partition(".")[0]
    return "".join(letter if letter.isalnum() else "-" for letter in stem).strip("-") or "games"


def _guess_csv(head: bytes, base: Document, folder: Path | None) -> Guess:
    mapping = parse_mapping(base)
    header, rows = _table(head, base)
    named = _of_preset(header, folder)
    if named is not None:
        return named
    guess_header = mapping.header and not fields_of(header) and any(guess_times([name]) for name in header)
    if guess_header:
        header, rows = _table(head, {**base, "header": False})
    cells = {name: [row[place].strip() for row in rows] for place, name in enumerate(header)}
    guess = guess_columns(fields_of(header), cells)
    if guess_header:
        guess.document["header"] = False
        guess.remarks.append("the first line is taken for a game, not for the names of columns")
    return guess


def _table(head: bytes, base: Document) -> tuple[list[str], list[list[str]]]:
    """Return the header and the first rows."""
    with Table(io.BytesIO(head), parse_mapping(base), ()) as table:
        rows = [list(item.cells) for item in table if isinstance(item, Row)]
    return table.header, rows[:_ROWS]


def _of_preset(header: list[str], folder: Path | None) -> Guess | None:
    """Return the preset whose columns a table has; None when it has those of none."""
    for name in presets(folder):
        document = preset(name, folder)
        columns = parse_mapping(document).columns.values()
        if document.get("format") == "csv" and {text for texts in columns for text in texts} <= set(header):
            return _named(name, document)
    return None


def _named(name: str, document: Document) -> Guess:
    return Guess(preset=name, recognised=[f"what the preset {name} is for: {document.get('about', '')}"])


def _guess_json(head: bytes, base: Document, folder: Path | None) -> Guess:
    pieces, encoding = plain_pieces(io.BytesIO(head), base["encoding"])
    content = b"".join(pieces).decode(encoding, errors="replace").removeprefix("\ufeff")
    for name in presets(folder):
        document = preset(name, folder)
        if document.get("format") == "json" and fits(document, content):
            return _named(name, document)
    return guess_json(content, base.get("records"))


def _guess_pgn(_head: bytes, _base: Document, _folder: Path | None) -> Guess:
    return Guess(recognised=["players, results, times and ids from the tags of PGN"])


_GUESSES = {"csv": _guess_csv, "json": _guess_json, "pgn": _guess_pgn}


def _tried(guess: Guess, head: bytes, document: Document) -> list[str]:
    """Return the first games that are so read, and remark what is to be known of all that was looked at."""
    out, report = io.BytesIO(), FileReport()
    mapping = parse_mapping(document)
    _IMPORTERS[document["format"]](Conversion(io.BytesIO(head), mapping, out, _Quiet(), report))
    guess.remarks += [
        f"{text} (--timezone Europe/Paris, for example)"
        for text in report.notes
        if text.startswith("times without a UTC offset")
    ]
    if report.left_out_total:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(report.left_out.items()))
        guess.remarks.append(
            f"of the first {report.read} games {report.left_out_total} are left out ({reasons})"
        )
    if not report.read:
        raise MappingError("there are no games in it")
    if not report.written:
        raise MappingError(f"of the first {report.read} games none could be read")
    return [_example(orjson.loads(line)) for line in out.getvalue().splitlines()[:_EXAMPLES]]


def _example(game: Document) -> str:
    """Return a game as a line for people."""
    seats = []
    for seat in game["players"]:
        said = [
            f"{seat[name]:g} {_unit(seat[name])}" if name == "points" else f"{name} {seat[name]}"
            for name in _SAID
            if name in seat
        ]
        seats.append(f"{seat['player_id']} ({', '.join(said)})" if said else seat["player_id"])
    rated = "" if game.get("rated", True) else ", unrated"
    return f"{game['ended_at']} {' and '.join(seats)}{rated}"


def _unit(points: float) -> str:
    return "point" if points == 1 else "points"


_SAID = ("team", "rank", "points")
