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
FORMATS = ("csv", "pgn", "json")
_TEXTS = (
    *("format", "ladder", "system", "game_type", "timezone", "delimiter", "decimal", "encoding", "records"),
)
_CHOICES = {
    "forfeits": ("rated", "unrated", "skip"),
    "partial_dates": ("start", "end", "skip"),
    "without_result": ("leave-out", "keep"),
}
_FLAGS = ("header", "rated", "trim", "nfc", "casefold")
_TABLES = ("columns", "values", "set", "skip", "only", "aliases")
_KEYS = ("about", *_TEXTS, "time_format", "comment", *_CHOICES, *_FLAGS, *_TABLES)


class MappingError(Exception):
    """The mapping is wrong by itself, or does not fit the file: nothing can be imported."""


@dataclass(frozen=True)
class ImportMapping:
    """How to read a file. `columns` gives the columns of a field, `values` what a cell's text stands for.

    A field that is not in `columns` is taken from the column of its own name. `delimiter` None: the one the
    first line has most of. `encoding_given`: somebody said so. `format` None: by the file's ending.
    `records`, of JSON: the path to the games. `ladder`, `system` and `game_type` are for files that do not
    say them, and `constants` are for any field. `skip` leaves rows aside that have one of the texts in a
    column, and `only` all others. `rated` is said of all games. Names are changed in this order: `trim`,
    `nfc`, `casefold`, `aliases`.
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
    format: str | None = None
    records: str | None = None
    header: bool = True
    comment: str | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    skip: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rated: bool | None = None
    forfeits: str = "unrated"
    partial_dates: str = "skip"
    without_result: str = "leave-out"
    trim: bool = False
    nfc: bool = False
    casefold: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)

    def zone(self) -> ZoneInfo:
        """Return the zone in which times without an offset are read."""
        return ZoneInfo(self.timezone)


def parse_mapping(document: Mapping[str, Any]) -> ImportMapping:
    """Return the mapping that a document says. Raises MappingError, which names the key."""
    for key in document:
        if key not in _KEYS:
            raise MappingError(f"{key}: no such key; there are {', '.join(_KEYS)}")
    texts = {key: _text(document[key], key) for key in _TEXTS if document.get(key) is not None}
    for key in _FLAGS:
        if key in document and not isinstance(document[key], bool):
            raise MappingError(f"{key}: expected true or false, not {document[key]!r}")
    for key, choices in _CHOICES.items():
        if key in document and document[key] not in choices:
            raise MappingError(f"{key}: expected {' or '.join(choices)}, not {document[key]!r}")
    mapping = ImportMapping(
        **_plain_values(document, texts),
        columns=_lists(document.get("columns", {}), "columns"),
        skip=_lists(document.get("skip", {}), "skip"),
        only=_lists(document.get("only", {}), "only"),
        values=_values(document.get("values", {})),
        constants=_plain_table(document.get("set", {}), "set"),
        aliases=_plain_table(document.get("aliases", {}), "aliases"),
        comment=_comment(document.get("comment")),
        time_formats=_time_formats(document.get("time_format", [])),
    )
    if mapping.decimal not in {".", ","}:
        raise MappingError(f"decimal: expected '.' or ',', not {mapping.decimal!r}")
    return mapping


def _plain_values(document: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the values that are texts, choices or true and false, checked."""
    chosen = {key: document[key] for key in (*_FLAGS, *_CHOICES) if key in document}
    return {**texts, **_checked(texts), **chosen}


def _checked(texts: Mapping[str, str]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    if "format" in texts and texts["format"] not in FORMATS:
        raise MappingError(f"format: expected {' or '.join(FORMATS)}, not {texts['format']!r}")
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


def _lists(value: Any, key: str) -> dict[str, tuple[str, ...]]:
    return {name: _texts(texts, f"{key}.{name}") for name, texts in _table(value, key).items()}


def _plain_table(value: Any, key: str) -> dict[str, str]:
    return {name: _text(text, f"{key}.{name}") for name, text in _table(value, key).items()}


def _comment(value: Any) -> str | None:
    if value is None:
        return None
    if not _text(value, "comment").strip():
        raise MappingError(f"comment: expected what such lines begin with, such as '#', not {value!r}")
    return str(value)


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
