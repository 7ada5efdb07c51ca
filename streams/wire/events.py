"""The one decoder and encoder of events: bytes and headers in, events out, and the other way round.

Everything that can be said about a record by itself is checked here; the folds check what needs state.
Wire format: JSON values, CloudEvents 1.0 binary headers (design, "Topics").
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from streams.core.events import (
    CorrectionsApplied,
    Event,
    Game,
    GameVoided,
    RatingImported,
    Rejected,
    WeekEnded,
)
from streams.core.ladders import (
    COMPETITION_CLOSED,
    GAME_IGNORED,
    RATING_CHANGED,
    Output,
    Publication,
)
from streams.wire.decode_fast import MAX_RECORD_BYTES, decode_fields, decode_plain
from streams.wire.rating_changed import changed_events
from streams.wire.rating_changed import encode_event as encode_changed
from streams.wire.schemas import VERSION, first_error, validator

GAME_FINISHED = "game-finished"
GAME_REJECTED = "game-rejected"
WEEK_ENDED = "week-ended"
CORRECTIONS_APPLIED = "corrections-applied"

MAX_AHEAD_MS = 24 * 3600 * 1000
SPECVERSION = b"1.0"
ERROR_HEADER = "__ladderlog.errors."

Headers = list[tuple[str, bytes]]
KeyValueHeaders = tuple[bytes, bytes, Headers]


class Encoded(NamedTuple):
    """An event ready for Kafka."""

    key: bytes
    value: bytes
    headers: Headers


def decode_record(
    value: bytes | None, key: bytes | None, headers: Iterable[tuple[str, bytes]], timestamp: int
) -> Event:
    """Decode a record of the game-finished topic; `timestamp` is its own, in milliseconds.

    Raises Rejected with the reason when the record is not a valid input by itself.
    """
    event = GAME_FINISHED
    for name, content in headers:
        if name == "ce_type":
            if content not in _EVENTS:
                raise _unknown_type(content)
            event = _EVENTS[content]
    decoded: Event | None = None
    if event == GAME_FINISHED and value is not None:
        decoded = decode_plain(value)
    if decoded is None:
        decoded = decode(_parse(value), event)
    if key is not None and key != decoded.ladder.encode():
        raise Rejected("key", f"key: {key!r} is not the ladder {decoded.ladder!r}")
    if type(decoded) is Game and decoded.ended_epoch * 1000 > timestamp + MAX_AHEAD_MS:
        raise Rejected(
            "future", f"ended_at: {decoded.ended_at!r} is more than 24 hours after the record's own timestamp"
        )
    return decoded


def decode_consumed(record: Any) -> Event:
    """Decode a record of the game-finished topic as a consumer gives it. Raises Rejected."""
    return decode_record(record.value, record.key, record.headers, record.timestamp)


def decode_line(line: bytes) -> Event:
    """Decode a line of a file, whose `type` field names the event (absent: game-finished).

    Raises Rejected with the reason when the line is not a valid input by itself.
    """
    game = decode_plain(line)
    return decode_unusual_line(line) if game is None else game


def decode_unusual_line(line: bytes) -> Event:
    """Do what `decode_line` does, of a line that `decode_plain` was not sure of."""
    fields = _parse(line)
    event = fields.get("type", GAME_FINISHED)
    if event not in _DECODERS:
        raise Rejected("type", f"type: {event!r} is none of {', '.join(_DECODERS)}")
    return decode(fields, event)


def decode(fields: dict[str, Any], event: str = GAME_FINISHED) -> Event:
    """Check an event's fields against its schema and make it. Raises Rejected with the reason."""
    if not _valid_input[event](fields):
        raise Rejected("schema", first_error(event, fields))
    return _DECODERS[event](fields)


def encode_event(event: str, fields: Mapping[str, Any], source: str, event_id: str) -> Encoded:
    """Encode an input event for the game-finished topic: key the ladder, CloudEvents headers."""
    headers = [
        ("ce_id", event_id.encode()),
        ("ce_source", source.encode()),
        *_TYPE_HEADERS[event],
    ]
    ended_at = fields.get("ended_at")
    if isinstance(ended_at, str):
        headers.append(("ce_time", ended_at.encode()))
    return Encoded(str(fields.get("ladder", "")).encode(), orjson.dumps(fields), headers)


def encode_output(output: Output, source: bytes, position: str) -> Encoded:
    """Encode what a fold publishes; `position` is the input record's topic/partition/offset.

    A rating-changed has its change_id as ce_id. The others take theirs from the input's position and kind:
    one input puts out at most one of each.
    """
    topic, key, body = output
    event_id = body["change_id"] if topic == RATING_CHANGED else _output_id(output, position)
    headers = [("ce_id", event_id.encode()), ("ce_source", source), *_TYPE_HEADERS[topic]]
    ended_at = body.get("ended_at")
    if ended_at is not None:
        headers.append(("ce_time", ended_at.encode()))
    return Encoded(key.encode(), orjson.dumps(body), headers)


def encode_published(
    publications: Iterable[Publication], source: bytes, position: str
) -> list[tuple[str, KeyValueHeaders]]:
    """Encode all that one input record publishes, in order, each event with its topic (without prefix)."""
    found: list[tuple[str, KeyValueHeaders]] = []
    for publication in publications:
        if isinstance(publication, Output):
            found.append((publication.topic, encode_output(publication, source, position)))
            continue
        ladder, _, ended_at, *_, closings = publication
        shared = (("ce_source", source), *_TYPE_HEADERS[RATING_CHANGED])
        time = ("ce_time", ended_at.encode())
        for event in changed_events((publication,)):
            headers = [("ce_id", event.change_id.encode()), *shared, time]
            found.append((RATING_CHANGED, (event.player_id.encode(), encode_changed(event), headers)))
        for closing in closings:
            output = Output(COMPETITION_CLOSED, ladder, closing)
            found.append((COMPETITION_CLOSED, encode_output(output, source, position)))
    return found


def rejection_headers(
    rejected: Rejected, topic: str, partition: int, offset: int, original: Iterable[tuple[str, bytes]]
) -> Headers:
    """Give the headers of a game-rejected record: the original ones, then what is wrong and where it was."""
    errors = {
        "reason": rejected.reason,
        "message": rejected.message,
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
    }
    # A message may quote text that is no valid Unicode; what cannot be encoded is shown escaped.
    added = [(ERROR_HEADER + name, text.encode(errors="backslashreplace")) for name, text in errors.items()]
    return [*original, *added]


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


def _output_id(output: Output, position: str) -> str:
    if output.topic == COMPETITION_CLOSED:
        return f"{output.key}/{output.body['week']}/{output.body['revision']}"
    return position


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


def _type_headers(event: str) -> list[tuple[str, bytes]]:
    return [
        ("ce_type", f"{event}.{VERSION}".encode()),
        ("ce_specversion", SPECVERSION),
        ("ce_dataschema", f"urn:ladderlog:schema:{event}.{VERSION}".encode()),
    ]


_DECODERS: dict[str, Callable[[dict[str, Any]], Event]] = {
    GAME_FINISHED: decode_fields,
    "rating-imported": _decode_import,
    WEEK_ENDED: _decode_week_ended,
    "game-voided": _decode_voided,
    CORRECTIONS_APPLIED: _decode_applied,
}
_EVENTS = {f"{event}.{VERSION}".encode(): event for event in _DECODERS}
_valid_input = {event: validator(event).is_valid for event in _DECODERS}
_TYPE_HEADERS = {
    event: _type_headers(event) for event in (*_DECODERS, RATING_CHANGED, GAME_IGNORED, COMPETITION_CLOSED)
}
