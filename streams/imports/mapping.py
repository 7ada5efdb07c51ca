"""How a file's columns become an event's fields: a small TOML document, or the same as options.

ladder = "chess"
timezone = "Europe/Paris"
time_format = "%d/%m/%Y %H:%M"
[columns]
game_id = "ID"
ended_at = ["Day", "Hour"]        # joined with a space
player1 = "White"
player2 = "#5"                    # the fifth column
result = "Winner"
[values.result]
white = "1-0"
"""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

_DELIMITERS = {"tab": "\t", "\\t": "\t"}
_TEXTS = ("ladder", "system", "game_type", "timezone", "delimiter", "decimal", "encoding")
_KEYS = (*_TEXTS, "time_format", "header", "columns", "values")


class MappingError(Exception):
    """The mapping is wrong by itself, or does not fit the file: nothing can be imported."""


@dataclass(frozen=True)
class ImportMapping:
    """How to read a file. `columns` gives the columns of a field, `values` what a cell's text stands for.

    A field that is not in `columns` is taken from the column of its own name. `delimiter` None: the one the
    first line has most of. `encoding_given`: somebody said so. `ladder`, `system` and `game_type`
    are for files that do not say them.
    """

    ladder: str | None = None
    system: str | None = None
    game_type: str | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    timezone: str = "UTC"
    time_formats: tuple[str, ...] = ()
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    encoding_given: bool = False
    header: bool = True

    def zone(self) -> ZoneInfo:
        """Return the zone in which times without an offset are read."""
        return ZoneInfo(self.timezone)


def parse_mapping(document: Mapping[str, Any]) -> ImportMapping:
    """Return the mapping that a document says. Raises MappingError, which names the key."""
    for key in document:
        if key not in _KEYS:
            raise MappingError(f"{key}: no such key; there are {', '.join(_KEYS)}")
    texts = {key: _text(document[key], key) for key in _TEXTS if document.get(key) is not None}
    header = document.get("header", True)
    if not isinstance(header, bool):
        raise MappingError(f"header: expected true or false, not {header!r}")
    mapping = ImportMapping(
        **{**texts, **_checked(texts)},
        header=header,
        columns={
            name: _texts(columns, f"columns.{name}")
            for name, columns in _table(document.get("columns", {}), "columns").items()
        },
        values=_values(document.get("values", {})),
        time_formats=_time_formats(document.get("time_format", [])),
    )
    if mapping.decimal not in {".", ","}:
        raise MappingError(f"decimal: expected '.' or ',', not {mapping.decimal!r}")
    return mapping


def _checked(texts: Mapping[str, str]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    if "delimiter" in texts:
        checked["delimiter"] = _delimiter(texts["delimiter"])
    if "encoding" in texts:
        checked["encoding"] = _encoding(texts["encoding"])
        checked["encoding_given"] = True
    if "timezone" in texts:
        checked["timezone"] = _timezone(texts["timezone"])
    return checked


def _delimiter(text: str) -> str:
    delimiter = _DELIMITERS.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n ':
        raise MappingError(f"delimiter: expected one character or 'tab', not {text!r}")
    return delimiter


def _encoding(text: str) -> str:
    try:
        return codecs.lookup(text).name
    except LookupError as error:
        raise MappingError(
            f"encoding: {text!r} is none this program knows, such as utf-8 or cp1252"
        ) from error


def _timezone(text: str) -> str:
    try:
        return ZoneInfo(text).key
    except (KeyError, ValueError, OSError) as error:
        raise MappingError(f"timezone: {text!r} is not a time zone such as 'Europe/Paris'") from error


def _time_formats(value: Any) -> tuple[str, ...]:
    formats = _texts(value, "time_format")
    for form in formats:
        if "%Z" in form:
            raise MappingError(
                f"time_format: {form!r}: names of zones are ambiguous, only offsets (%z) are read"
            )
    return formats


def _values(value: Any) -> dict[str, dict[str, str]]:
    return {
        name: {
            cell: _text(meaning, f"values.{name}.{cell}")
            for cell, meaning in _table(table, f"values.{name}").items()
        }
        for name, table in _table(value, "values").items()
    }


def _table(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MappingError(f"{key}: expected a table, not {value!r}")
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:
    return tuple(_text(part, key) for part in (value if isinstance(value, list | tuple) else [value]))


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise MappingError(f"{key}: expected a text, not {value!r}")
    return value
