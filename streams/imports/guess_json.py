"""Which paths a document of JSON has, and which presets fit it."""

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from streams.files.report import LineError
from streams.imports.field_names import fields_of_paths
from streams.imports.guess_columns import Guess, guess_columns
from streams.imports.json_games import WON
from streams.imports.json_paths import elements, parse_path, text_of, walk
from streams.imports.json_records import Record, read_records
from streams.imports.mapping import MappingError

_RECORDS = 300


def guess_json(content: str, records: str | None) -> Guess:
    """Return which paths are which fields. Raises MappingError when no games or players are to be told."""
    _, found, _ = read_records(io.StringIO(content), records)
    values = [record.value for record in islice(found, _RECORDS) if isinstance(record, Record)]
    paths = dict.fromkeys(path for value in values for path in _paths(value))
    cells = {path: _texts(values, path) for path in paths}
    return guess_columns(_of_players(fields_of_paths(paths), cells), cells)


def _of_players(fields: dict[str, str], cells: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the fields, of which those in a list of players are these players' own."""
    of_players = dict(fields)
    for name, other in (("result", "points"), ("winner", WON)):
        path = fields.get(name, "")
        flags = set(cells.get(path, ())) <= {"true", "false", "0", "1", ""}
        if "[]" in path and (name == "result" or flags):
            of_players.setdefault(other, of_players.pop(name))
    return of_players


def fits(document: Mapping[str, Any], content: str) -> bool:
    """Say whether a preset's paths to players, ids and ends lead somewhere in the first record."""
    try:
        _, records, _ = read_records(io.StringIO(content), document.get("records"))
        record = next(records, None)
    except MappingError:
        return False
    paths = [
        path.partition("->")[0].strip()
        for name, given in document.get("columns", {}).items()
        if name.startswith("player") or name in {"game_id", "ended_at"}
        for path in ([given] if isinstance(given, str) else given)
    ]
    return isinstance(record, Record) and all(any(_texts([record.value], path)) for path in paths)


def _paths(value: Any, before: str = "") -> Iterator[str]:
    """Yield the paths to all texts, numbers and flags of a record."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _paths(member, f"{before}.{name}" if before else name)
    elif isinstance(value, list):
        for element in value[:1]:
            yield from _paths(element, f"{before}[]")
    elif value is not None and before:
        yield before


def _texts(records: Sequence[Any], text: str) -> list[str]:
    """Return what stands at a path in each record; of a list's elements in the first one."""
    path = parse_path(text)
    found = []
    for record in records:
        try:
            chains = elements(record, path.lists)
            found.append(text_of(walk(chains[0][-1], path.rest)).strip() if chains else "")
        except (LineError, ValueError):
            found.append("")
    return found
