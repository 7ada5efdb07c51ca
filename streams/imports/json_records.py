"""Records of JSON with the line on which each begins: the elements of a list, or one in each line.

The standard library's reader, because it says where a value ends, and takes text with bytes that are none.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from streams.imports.csv_rows import Broken
from streams.imports.json_paths import Document, Steps, parse_path, walk
from streams.imports.mapping import MappingError

_skip_space = re.compile(r"[ \t\r\n]*").match


@dataclass(frozen=True)
class Record:
    """One record: the line on which it begins, where it stands in the document, and what it is."""

    line: int
    place: str
    value: Any


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


def read_records(
    text: TextIO, records: str | None, seats: Collection[str | int] = ()
) -> tuple[Document, Iterator[Record | Broken], str]:
    """Return a document, its records, and how they are called together.

    `records` is the path to their list; when None it is looked for, and is none of `seats`, which are lists
    that a game has. Raises MappingError when there is none,
    or several, or when a document of more than one line is not JSON.
    """
    line, first = _first_line(text)
    if records is None and _is_whole(first):
        following, second = _first_line(text, line)
        if second:
            lines = [(line, first), (following, second)]
            return Document(), _of_lines(lines, text, following), "lines"
    return _of_document("\n" * (line - 1) + first + text.read(), records, seats)


def _first_line(text: TextIO, before: int = 0) -> tuple[int, str]:
    """Return the next line that has something, and its number; an empty one at the end."""
    number = before
    while line := text.readline():
        number += 1
        if not line.isspace():
            return number, line
    return number, ""


def _is_whole(line: str) -> bool:
    try:
        return isinstance(_decoder.decode(line), dict | list)
    except ValueError:
        return False


def _of_lines(read: Sequence[tuple[int, str]], text: TextIO, line: int) -> Iterator[Record | Broken]:
    for number, first in read:
        yield _of_line(first, number)
    for number, rest in enumerate(text, line + 1):
        if not rest.isspace():
            yield _of_line(rest, number)


def _of_line(line: str, number: int) -> Record | Broken:
    try:
        return Record(number, "", _decoder.decode(line.rstrip()))
    except ValueError as error:
        return Broken(number, "json", f"not JSON: {_described(error)}")


def _of_document(
    text: str, records: str | None, seats: Collection[str | int]
) -> tuple[Document, Iterator[Record | Broken], str]:
    try:
        root = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise MappingError(f"line {error.lineno}: not JSON: {_described(error)}") from error
    except ValueError as error:
        raise MappingError(f"not JSON: {error}") from error
    steps = _looked_for(root, seats) if records is None else _given(records)
    values = walk(root, steps)
    shown = ".".join(map(str, steps))
    if isinstance(values, dict) and not steps:
        values, shown = [values], ""
        lines: Iterator[int] = iter([text.count("\n", 0, _space_end(text, 0)) + 1])
    elif isinstance(values, list):
        lines = _lines(text, steps)
    else:
        raise MappingError(f"records: the file has no list {shown!r}; {_lists_of(root)}")
    found = (
        Record(line, f"{shown}[{number}]" if shown or isinstance(root, list) else "", value)
        for number, (line, value) in enumerate(zip(lines, values, strict=True))
    )
    return Document(root), found, shown or "the file"


def _given(records: str) -> Steps:
    path = parse_path(records.removesuffix("[]"))
    if path.lists or path.references:
        raise MappingError(f"records: expected one list, such as games or data.matches, not {records!r}")
    return path.rest


def _looked_for(root: Any, seats: Collection[str | int]) -> Steps:
    if not isinstance(root, dict):
        return ()
    lists = [name for name in _lists_in(root) if name not in seats]
    if len(lists) > 1:
        raise MappingError(f"records: which of {', '.join(lists)} is the list of games? (--records NAME)")
    return _given(lists[0]) if lists else ()


def _lists_in(root: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield the paths to lists of objects, in an object and the objects in it."""
    for name, value in root.items():
        if isinstance(value, dict):
            yield from _lists_in(value, f"{before}{name}.")
        elif isinstance(value, list) and value and all(isinstance(element, dict) for element in value):
            yield f"{before}{name}"


def _lists_of(root: Any) -> str:
    lists = list(_lists_in(root)) if isinstance(root, dict) else []
    return f"it has {', '.join(lists)}" if lists else "it has none"


def _lines(text: str, steps: Steps) -> Iterator[int]:
    """Yield the line on which each element of a list begins."""
    position = _space_end(text, _position(text, steps) + 1)
    line, counted = 1, 0
    while text[position] != "]":
        line += text.count("\n", counted, position)
        counted = position
        yield line
        _, position = _decoder.raw_decode(text, position)
        position = _space_end(text, position)
        if text[position] == ",":
            position = _space_end(text, position + 1)


def _position(text: str, steps: Steps) -> int:
    """Return where the value begins to which the steps lead; it is there."""
    position = _space_end(text, 0)
    for step in steps:
        position = _member(text, position, step) if isinstance(step, str) else _element(text, position, step)
    return position


def _member(text: str, position: int, name: str) -> int:
    """Return where a member of an object begins. Of two of one name the last counts, as it does elsewhere."""
    place = -1
    position = _space_end(text, position + 1)
    while text[position] != "}":
        key, position = _decoder.raw_decode(text, position)
        position = _space_end(text, _space_end(text, position) + 1)
        if key == name:
            place = position
        _, position = _decoder.raw_decode(text, position)
        position = _space_end(text, position)
        if text[position] == ",":
            position = _space_end(text, position + 1)
    return place


def _element(text: str, position: int, index: int) -> int:
    position = _space_end(text, position + 1)
    for _ in range(index):
        _, position = _decoder.raw_decode(text, position)
        position = _space_end(text, _space_end(text, position) + 1)
    return position


def _space_end(text: str, position: int) -> int:
    match = _skip_space(text, position)
    return position if match is None else match.end()


def _described(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, at character {error.colno}"
    return str(error)
