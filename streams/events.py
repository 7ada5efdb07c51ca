"""The one decoder and encoder of events: bytes and headers to `streams.model`, outputs to bytes and headers.

Everything that can be said about a record by itself is checked here; the folds check what needs state.
Wire format: JSON values, CloudEvents 1.0 binary headers (design, "Topics").
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from hashlib import blake2b
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from streams.ladders import COMPETITION_CLOSED, GAME_IGNORED, RATING_CHANGED, Output
from streams.model import (
    CorrectionsApplied,
    Event,
    Game,
    GameVoided,
    Player,
    RatingImported,
    Rejected,
    WeekEnded,
)
from streams.schemas import VERSION, first_error, validator

GAME_FINISHED = "game-finished"
GAME_REJECTED = "game-rejected"
WEEK_ENDED = "week-ended"
CORRECTIONS_APPLIED = "corrections-applied"

MAX_RECORD_BYTES = 1024 * 1024
MAX_AHEAD_MS = 24 * 3600 * 1000
SPECVERSION = b"1.0"
_PAIR = 2
ERROR_HEADER = "__ladderlog.errors."

Headers = list[tuple[str, bytes]]


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
            event = _event_of_type(content)
    decoded = decode(_parse(value), event)
    if key is not None and key != decoded.ladder.encode():
        raise Rejected("key", f"key: {key!r} is not the ladder {decoded.ladder!r}")
    if isinstance(decoded, Game) and decoded.ended_epoch * 1000 > timestamp + MAX_AHEAD_MS:
        raise Rejected(
            "future", f"ended_at: {decoded.ended_at!r} is more than 24 hours after the record's own timestamp"
        )
    return decoded


def decode_line(line: bytes) -> Event:
    """Decode a line of a file, whose `type` field names the event (absent: game-finished).

    Raises Rejected with the reason when the line is not a valid input by itself.
    """
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


def _event_of_type(content: bytes | None) -> str:
    event, _, version = (content or b"").decode(errors="replace").rpartition(".")
    if version != VERSION or event not in _DECODERS:
        raise Rejected(
            "type", f"ce_type: {content!r} is none of {', '.join(f'{e}.{VERSION}' for e in _DECODERS)}"
        )
    return event


def _output_id(output: Output, position: str) -> str:
    if output.topic == COMPETITION_CLOSED:
        return f"{output.key}/{output.body['week']}/{output.body['revision']}"
    return position


def _moment(text: str, field: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise Rejected("schema", f"{field}: {text!r} is no moment this program can tell ({error})") from error


def _decode_game(fields: dict[str, Any]) -> Game:
    get = fields.get
    ended_at = fields["ended_at"]
    ended = _moment(ended_at, "ended_at")
    started_at = get("started_at")
    started_epoch = None if started_at is None else _moment(started_at, "started_at").timestamp()
    seats = fields["players"]
    players = [
        Player(seat["player_id"], seat.get("rank"), seat.get("points"), seat.get("team"), seat.get("left"))
        for seat in seats
    ]
    if len({player.player_id for player in players}) != len(players):
        raise Rejected("same-player-twice", f"players: {_twice(players)!r} appears twice")
    for player, seat in zip(players, seats, strict=True):
        if "left_at" in seat:
            player.left_at = _moment(seat["left_at"], "left_at")
    ended_epoch = ended.timestamp()
    if started_epoch is not None and started_epoch > ended_epoch:
        raise Rejected(
            "started-after-ended", f"started_at: {started_at!r} is later than ended_at {ended_at!r}"
        )
    game_type = get("game_type")
    rated = get("rated", True)
    teams = players[0].team is not None and all(player.team is not None for player in players)
    return Game(
        fields["game_id"],
        fields["ladder"],
        game_type,
        ended_at,
        ended,
        ended_epoch,
        rated,
        players,
        teams,
        _digest([game_type, ended_epoch, rated, started_epoch], players),
        get("version", 1),
    )


def _twice(players: list[Player]) -> str:
    ids = [player.player_id for player in players]
    return next(player_id for player_id in ids if ids.count(player_id) > 1)


def _digest(content: list[Any], players: list[Player]) -> str:
    """Digest what a game says, so that neither spelling nor the order of players makes it another game.

    Unknown fields are ignored, as everywhere.
    """
    if len(players) > _PAIR:
        players = sorted(players, key=_player_id)
    elif players[0].player_id > players[1].player_id:
        players = players[::-1]
    for player in players:
        left_at = None if player.left_at is None else player.left_at.timestamp()
        content += (player.player_id, player.rank, player.points, player.team, player.left, left_at)
    return blake2b(orjson.dumps(content), digest_size=8).hexdigest()


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


_player_id = attrgetter("player_id")

_DECODERS: dict[str, Callable[[dict[str, Any]], Event]] = {
    GAME_FINISHED: _decode_game,
    "rating-imported": _decode_import,
    WEEK_ENDED: _decode_week_ended,
    "game-voided": _decode_voided,
    CORRECTIONS_APPLIED: _decode_applied,
}
_valid_input = {event: validator(event).is_valid for event in _DECODERS}
_TYPE_HEADERS = {
    event: _type_headers(event) for event in (*_DECODERS, RATING_CHANGED, GAME_IGNORED, COMPETITION_CLOSED)
}
