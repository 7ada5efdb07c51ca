"""Bytes to events: records of the game-finished topic, and lines of files.

Everything that can be said about a record by itself is checked here; the folds check what needs state. A
plain game goes the fast way (`decode_fast`); anything else is judged by its JSON Schema.
"""

from collections.abc import Callable, Iterable
from typing import Any

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
    WeekEnded,
)
from streams.wire.decode_fast import decode_fields, decode_plain
from streams.wire.records import (
    MAX_AHEAD_MS,
    ahead,
    check_schema,
    check_timestamp,
    event_of,
    event_of_line,
    parse_object,
)
from streams.wire.schemas import type_of


def decode_record(value: bytes | None, headers: Iterable[tuple[str, bytes]], timestamp: int) -> Event:
    """Return the event of a record of the game-finished topic; `timestamp` is its own, in milliseconds.

    Raises Rejected with the reason when the record is not a valid input by itself.
    """
    event = event_of(headers, _EVENTS) or GAME_FINISHED
    check_timestamp(timestamp)
    decoded: Event | None = None
    if event == GAME_FINISHED and value is not None:
        decoded = decode_plain(value)
    if decoded is None:
        decoded = decode_checked(parse_object(value), event)
    if type(decoded) is Game and decoded.ended_epoch * 1000 > timestamp + MAX_AHEAD_MS:
        raise ahead("ended_at", decoded.ended_at, timestamp)
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
    fields = parse_object(line)
    return decode_checked(fields, event_of_line(fields, _DECODERS, GAME_FINISHED))


def decode_checked(fields: dict[str, Any], event: str = GAME_FINISHED) -> Event:
    """Return the event of fields that its schema has judged. Raises Rejected with the reason."""
    check_schema(event, fields)
    return _DECODERS[event](fields)


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
_EVENTS = {type_of(event): event for event in _DECODERS}
