"""Events to bytes: what folds publish, what commands send, and what is said of rejected records.

JSON values, CloudEvents 1.0 binary headers (design, "Topics").
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import msgspec.structs
import orjson

from streams.core.events import (
    COMPETITION_CLOSED,
    CORRECTIONS_APPLIED,
    GAME_FINISHED,
    GAME_IGNORED,
    GAME_VOIDED,
    RATING_CHANGED,
    RATING_IMPORTED,
    WEEK_ENDED,
    CompetitionClosed,
    Output,
    RatingChanged,
    Rejected,
)
from streams.core.player_events import (
    ACT_JUDGED,
    ACTIVITY_IGNORED,
    PLAYED,
    PLAYER_EVENTS,
    PLAYER_STATUS,
    ActivityIgnored,
    ActJudged,
    Played,
    PlayerOutput,
    PlayerStatus,
    StatusRemoved,
)
from streams.core.publications import GameRated, Publication, rating_changes
from streams.wire.schemas import VERSION, type_of

SPECVERSION = b"1.0"
ERROR_HEADER = "__ladderlog.errors."
TRACE_HEADERS = frozenset(("traceparent", "tracestate"))
# No record published is larger, but for a few kilobytes of headers: Kafka's own default of max.message.bytes
# is 1,048,588. The bound is the same whatever a topic is set to, so that an audit knows what was published.
MAX_PUBLISHED_BYTES = 900_000
# What a header takes beside its name and content: their lengths, 5 bytes each at most.
_HEADER_OVERHEAD = 10
# Of standings that would be larger: 700 bytes a row at the utmost, with an id of 128 characters beyond ASCII.
_ROWS_OF_A_PART = 1_000

Headers = list[tuple[str, bytes]]


# A record's key, value and headers. Not named: there is one for every change, and names cost a microsecond.
Record = tuple[bytes, bytes, Headers]
# One that is published has no value where it deletes those before it with its key.
PublishedRecord = tuple[bytes, bytes | None, Headers]

_encoder = msgspec.json.Encoder()
# An output event as JSON.
encode_json: Any = _encoder.encode


def encode_lines(events: Sequence[Output]) -> bytes:
    """Return output events as JSON lines, each with its line end."""
    return _encoder.encode_lines(events)


def encode_event(event: str, fields: Mapping[str, Any], source: str, event_id: str | None = None) -> Record:
    """Return an input event as a record for its topic, with CloudEvents headers.

    The key is the ladder; of an event of a player, the player. Without `event_id`, that of a player's event
    is its own, and any other is made of the ladder and the game, week or player.
    """
    if event in PLAYER_EVENTS:
        return _encode_activity(event, fields, source, event_id)
    if event_id is None:
        subject = fields.get("game_id") or fields.get("week") or fields.get("player_id") or ""
        event_id = f"{fields.get('ladder', '')}/{subject}"
    headers = [
        ("ce_id", event_id.encode()),
        ("ce_source", source.encode()),
        *_TYPE_HEADERS[event],
    ]
    ended_at = fields.get("ended_at")
    if isinstance(ended_at, str):
        headers.append(("ce_time", ended_at.encode()))
    return str(fields.get("ladder", "")).encode(), orjson.dumps(fields), headers


def trace_headers(headers: Iterable[tuple[str, bytes]]) -> Headers:
    """Return those headers of an input record that go on whatever follows from it: W3C's trace context."""
    return [header for header in headers if header[0] in TRACE_HEADERS]


def _encode_activity(event: str, fields: Mapping[str, Any], source: str, event_id: str | None) -> Record:
    headers = [
        ("ce_id", str(event_id or fields.get("event_id", "")).encode()),
        ("ce_source", source.encode()),
        *_TYPE_HEADERS[event],
    ]
    at = fields.get("at")
    if isinstance(at, str):
        headers.append(("ce_time", at.encode()))
    return str(fields.get("player_id", "")).encode(), orjson.dumps(fields), headers


def _encode_player_output(event: PlayerOutput, source: bytes, position: str) -> tuple[str, PublishedRecord]:
    """Return what the fold over players publishes, or appends to player-activity; None deletes a status."""
    moment: str | None = None
    match event:
        case ActJudged() | Played():
            name, event_id, moment = _PLAYER_NAMES[type(event)], event.event_id, event.at
        case ActivityIgnored():
            name, event_id = ACTIVITY_IGNORED, position
        case StatusRemoved():
            name, event_id, moment = PLAYER_STATUS, position, event.as_of
        case PlayerStatus():
            name, event_id, moment = PLAYER_STATUS, f"{event.player_id}/{event.sequence}", event.as_of
    headers = [("ce_id", event_id.encode()), ("ce_source", source), *_TYPE_HEADERS[name]]
    if moment is not None:
        headers.append(("ce_time", moment.encode()))
    value = None if isinstance(event, StatusRemoved) else encode_json(event)
    return event.topic, (event.key.encode(), value, headers)


def encode_published(
    publications: Iterable[Publication | PlayerOutput],
    source: bytes,
    position: str,
    trace: Headers | None = None,
) -> list[tuple[str, PublishedRecord]]:
    """Return the records of all that one input record publishes, in order, each with its topic.

    `position` is the input record's topic/partition/offset; topics have no prefix. `trace` are the headers of
    the input record that go on.
    """
    records: list[tuple[str, PublishedRecord]] = []
    for publication in publications:
        if isinstance(publication, GameRated):
            records += _encode_rated(publication, source)
        elif isinstance(publication, CompetitionClosed):
            records += _encode_closed(publication, source, position)
        elif isinstance(publication, PlayerOutput):
            records.append(_encode_player_output(publication, source, position))
        else:
            records.append(_encode(publication, source, position))
    if trace:
        for _, (_, _, headers) in records:
            headers.extend(trace)
    return records


def _encode_rated(rated: GameRated, source: bytes) -> list[tuple[str, Record]]:
    """Do what `_encode` does for the changes of one game: most of their headers are the same."""
    shared = (("ce_source", source), *_TYPE_HEADERS[RATING_CHANGED])
    ended_at = ("ce_time", rated.ended_at.encode())
    return [
        (
            RATING_CHANGED,
            (
                change.player_id.encode(),
                encode_json(change),
                [("ce_id", change.change_id.encode()), *shared, ended_at],
            ),
        )
        for change in rating_changes((rated,))
    ]


def _encode_closed(closed: CompetitionClosed, source: bytes, position: str) -> list[tuple[str, Record]]:
    """Return the one record of a week's standings, or those of its parts when they are too large for one."""
    whole = _encode(closed, source, position)
    _, (_, value, _) = whole
    if len(value) <= MAX_PUBLISHED_BYTES:
        return [whole]
    rows = closed.standings
    starts = range(0, len(rows), _ROWS_OF_A_PART)
    return [
        _encode(
            msgspec.structs.replace(
                closed, standings=rows[start : start + _ROWS_OF_A_PART], part=number, parts=len(starts)
            ),
            source,
            position,
        )
        for number, start in enumerate(starts, start=1)
    ]


def _encode(event: Output, source: bytes, position: str) -> tuple[str, Record]:
    topic = event.topic
    headers = [("ce_id", _id(event, position).encode()), ("ce_source", source), *_TYPE_HEADERS[topic]]
    if event.ended_at is not None:
        headers.append(("ce_time", event.ended_at.encode()))
    return topic, (event.key.encode(), encode_json(event), headers)


def rejection_headers(
    rejected: Rejected, topic: str, partition: int, offset: int, original: Iterable[tuple[str, bytes]]
) -> Headers:
    """Return the headers of a game-rejected record: the original ones, what is wrong, and where it was."""
    errors = {
        "reason": rejected.reason,
        "message": rejected.message,
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
    }
    # A message may quote text that is no valid Unicode; what cannot be encoded is shown escaped.
    original = [(shown_name(name), content) for name, content in original]
    added = [(ERROR_HEADER + name, text.encode(errors="backslashreplace")) for name, text in errors.items()]
    return [*original, *added]


def record_size(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> int:
    """Return how many bytes a record takes, unpacked, in a topic, at most."""
    size_of_headers = sum(
        len(shown_name(name).encode()) + len(content or b"") + _HEADER_OVERHEAD for name, content in headers
    )
    return len(key or b"") + len(value or b"") + size_of_headers


def shown_name(name: str) -> str:
    r"""Return a header's name as it came; bytes of it that are no UTF-8, lone surrogates here, as `\xff`."""
    return name if name.isascii() else name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _id(event: Output, position: str) -> str:
    """Return a ce_id. Of what has no id of its own, one input puts out at most one."""
    if isinstance(event, RatingChanged):
        return event.change_id
    if isinstance(event, CompetitionClosed):
        return f"{event.ladder}/{event.week}/{event.revision}" + (f"/{event.part}" if event.part else "")
    return position


def _type_headers(event: str) -> Headers:
    return [
        ("ce_type", type_of(event)),
        ("ce_specversion", SPECVERSION),
        ("ce_dataschema", f"urn:ladderlog:schema:{event}.{VERSION}".encode()),
    ]


_TYPE_HEADERS = {
    event: _type_headers(event)
    for event in (
        GAME_FINISHED,
        RATING_IMPORTED,
        WEEK_ENDED,
        GAME_VOIDED,
        CORRECTIONS_APPLIED,
        RATING_CHANGED,
        GAME_IGNORED,
        COMPETITION_CLOSED,
        *PLAYER_EVENTS,
        PLAYER_STATUS,
        ACTIVITY_IGNORED,
    )
}
_PLAYER_NAMES: dict[type[PlayerOutput], str] = {ActJudged: ACT_JUDGED, Played: PLAYED}
