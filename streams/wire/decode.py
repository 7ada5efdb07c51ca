"""Bytes to events: records of the game-finished topic, and lines of files.

Everything that can be said about a record by itself is checked here; the folds check what needs state. A
plain game goes the fast way (`decode_fast`); anything else is judged by its JSON Schema.
"""

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from streams.core.events import (
    CORRECTIONS_APPLIED,
    GAME_FINISHED,
    GAME_VOIDED,
    RATING_IMPORTED,
    WEEK_ENDED,
    CorrectionsApplied,
    Event,
    Game,
    GameVoided,
    RatingImported,
    Rejected,
    WeekEnded,
)
from streams.wire.decode_fast import MAX_RECORD_BYTES, decode_fields, decode_plain
from streams.wire.encode import shown_name
from streams.wire.schemas import VERSION, first_error, validator
from streams.wire.timestamps import is_moment, unit_hint

MAX_AHEAD_MS = 24 * 3600 * 1000


def decode_record(value: bytes | None, headers: Iterable[tuple[str, bytes]], timestamp: int) -> Event:
    """Return the event of a record of the game-finished topic; `timestamp` is its own, in milliseconds.

    Raises Rejected with the reason when the record is not a valid input by itself.
    """
    event = GAME_FINISHED
    for name, content in headers:
        if name == "ce_type":
            if content not in _EVENTS:
                raise _unknown_type(content)
            event = _EVENTS[content]
        elif not name.isascii():
            _check_name(name)
    if not is_moment(timestamp):
        raise Rejected("timestamp", f"the record's timestamp {timestamp} is no moment{unit_hint(timestamp)}")
    decoded: Event | None = None
    if event == GAME_FINISHED and value is not None:
        decoded = decode_plain(value)
    if decoded is None:
        decoded = decode_checked(_parse(value), event)
    if type(decoded) is Game and decoded.ended_epoch * 1000 > timestamp + MAX_AHEAD_MS:
        raise Rejected(
            "future",
            f"ended_at: {decoded.ended_at!r} is more than 24 hours after the record's own timestamp"
            f"{unit_hint(timestamp)}",
        )
    return decoded


def decode_consumed(record: Any) -> Event:
    """Return the event of a record of the game-finished topic as a consumer has it. Raises Rejected."""
    return decode_record(record.value, record.headers, record.timestamp)


def decode_line(line: bytes) -> Event:
    """Return the event of a line of a file, whose `type` field names the event (absent: game-finished).

    Raises Rejected with the reason when the line is not a valid input by itself.
    """
    game = decode_plain(line)
    return decode_checked_line(line) if game is None else game


def decode_checked_line(line: bytes) -> Event:
    """Return the event of a line that `decode_plain` was not sure of. Raises Rejected."""
    fields = _parse(line)
    event = fields.get("type", GAME_FINISHED)
    if event not in _DECODERS:
        raise Rejected("type", f"type: {event!r} is none of {', '.join(_DECODERS)}")
    return decode_checked(fields, event)


def decode_checked(fields: dict[str, Any], event: str = GAME_FINISHED) -> Event:
    """Return the event of fields that its schema has judged. Raises Rejected with the reason."""
    if not _valid_input[event](fields):
        raise Rejected("schema", first_error(event, fields))
    return _DECODERS[event](fields)


def _parse(value: bytes | None) -> dict[str, Any]:
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


def _unknown_type(content: bytes | None) -> Rejected:
    known = ", ".join(kind.decode() for kind in _EVENTS)
    return Rejected("type", f"ce_type: {content!r} is none of {known}")


def _check_name(name: str) -> None:
    """Raise Rejected for a header's name that is not UTF-8: its bytes came as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Rejected("header-name", f"headers: the name {shown_name(name)!r} is not UTF-8") from None


def _decode_import(fields: dict[str, Any]) -> RatingImported:
    return RatingImported(
        fields["ladder"],
        fields["system"],
        fields["player_id"],
        float(fields["rating"]),
        int(fields["games"]),
        fields.get("week"),
    )


def _decode_week_ended(fields: dict[str, Any]) -> WeekEnded:
    return WeekEnded(fields["ladder"], fields["week"], fields["final"])


def _decode_voided(fields: dict[str, Any]) -> GameVoided:
    return GameVoided(fields["ladder"], fields["game_id"], fields["reason"])


def _decode_applied(fields: dict[str, Any]) -> CorrectionsApplied:
    return CorrectionsApplied(fields["ladder"], fields["app_id"], fields["until"])


_DECODERS: dict[str, Callable[[dict[str, Any]], Event]] = {
    GAME_FINISHED: decode_fields,
    RATING_IMPORTED: _decode_import,
    WEEK_ENDED: _decode_week_ended,
    GAME_VOIDED: _decode_voided,
    CORRECTIONS_APPLIED: _decode_applied,
}
_EVENTS = {f"{event}.{VERSION}".encode(): event for event in _DECODERS}
_valid_input = {event: validator(event).is_valid for event in _DECODERS}
