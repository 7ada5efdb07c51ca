"""What is looked at in every record that comes in, whatever it is about: headers, timestamp, JSON, schema."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import orjson

from streams.core.events import Rejected
from streams.wire.decode_fast import MAX_RECORD_BYTES
from streams.wire.encode import shown_name
from streams.wire.schemas import EVENTS, first_error, validator
from streams.wire.timestamps import is_moment, unit_hint

# How far the moment of an event may lie ahead of its record: one wrong clock must not age what is remembered.
MAX_AHEAD_MS = 24 * 3600 * 1000

_is_valid = {event: validator(event).is_valid for event in EVENTS}


def event_of(headers: Iterable[tuple[str, bytes]], events: Mapping[bytes, str]) -> str | None:
    """Return the name of the event that the header ce_type says a record is; None when there is none.

    `events` are the names by what the header may say. Raises Rejected when it says something else, and for
    the name of a header that is not UTF-8.
    """
    event: str | None = None
    for name, content in headers:
        if name == "ce_type":
            event = events.get(content)
            if event is None:
                known = ", ".join(kind.decode() for kind in events)
                raise Rejected("type", f"ce_type: {content!r} is none of {known}")
        elif not name.isascii():
            _check_name(name)
    return event


def event_of_line(fields: Mapping[str, Any], events: Collection[str], default: str | None = None) -> str:
    """Return the name of the event that the field `type` of a file's line says it is, or the default.

    Raises Rejected when it says none of `events`.
    """
    event = fields.get("type", default)
    if not isinstance(event, str) or event not in events:
        raise Rejected("type", f"type: {event!r} is none of {', '.join(events)}")
    return event


def check_timestamp(timestamp: int) -> None:
    """Raise Rejected when a record's timestamp is no moment in milliseconds since 1970."""
    if not is_moment(timestamp):
        raise Rejected("timestamp", f"the record's timestamp {timestamp} is no moment{unit_hint(timestamp)}")


def ahead(field: str, moment: str, timestamp: int) -> Rejected:
    """Return what is wrong with an event whose moment lies more than MAX_AHEAD_MS ahead of its record."""
    return Rejected(
        "future",
        f"{field}: {moment!r} is more than 24 hours after the record's own timestamp{unit_hint(timestamp)}",
    )


def parse_object(value: bytes | None) -> dict[str, Any]:
    """Return the JSON object that a record's value is. Raises Rejected when it is none."""
    if value is None:
        raise Rejected("not-json", "the value is empty")
    if len(value) > MAX_RECORD_BYTES:
        raise Rejected("too-large", f"the value has {len(value)} bytes, more than {MAX_RECORD_BYTES}")
    try:
        fields = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise Rejected("not-json", f"the value is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise Rejected("not-json", f"the value is not a JSON object but {type(fields).__name__}")
    return fields


def check_schema(event: str, fields: Mapping[str, Any]) -> None:
    """Raise Rejected, which names field and value, when fields do not fit the JSON Schema of an event."""
    if not _is_valid[event](fields):
        raise Rejected("schema", first_error(event, fields))


def _check_name(name: str) -> None:
    """Raise Rejected for a header's name that is not UTF-8: its bytes came as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Rejected("header-name", f"headers: the name {shown_name(name)!r} is not UTF-8") from None
