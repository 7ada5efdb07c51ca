"""Bytes to events of players: records of the player-activity topic, and lines of files.

What can be said about a record by itself is checked here, by its JSON Schema and beyond; the fold checks
what needs state. What a game says of a player, by far the most of the records, goes a shorter way.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from streams.core.events import Rejected
from streams.core.player_events import (
    ACT_JUDGED,
    APPOINTED,
    PLAYED,
    PLAYER_EVENTS,
    REPUTATION,
    SANCTIONED,
    Activity,
    Played,
)
from streams.wire.decode_fast import MAX_RECORD_BYTES, epoch_of, plain_epoch
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

_EVENTS = {type_of(event): event for event in PLAYER_EVENTS}
# JSON Schema takes 1.0 for a whole number too.
_WHOLE = ("points", "version", "offset", "index")
# Of a judged act: what it must say of what it is.
_NEEDED = {SANCTIONED: ("grade",), APPOINTED: ("grade",), REPUTATION: ("points",)}
_SANCTIONS = ("devilkin", "demon")
# Moments as text have years of four digits in every zone.
_FIRST, _LAST = 0, 253_402_300_799_999_999
_MICROSECONDS = 1_000_000
_LARGEST = 2**53 - 1

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
_Position = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]


class _PlainPlayed(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    # As in decode_fast: an absent field is None, but null is not a value that a field may have.
    event_id: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    player_id: _Id
    at: str
    ladder: _Id
    game_id: _Id
    offset: _Position
    index: _Position = 0
    version: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1
    counted: bool = True
    abandoned: bool = False
    left_at: str = None  # type: ignore[assignment]


_played = msgspec.json.Decoder(_PlainPlayed).decode
_astuple = msgspec.structs.astuple


def decode_activity_record(
    value: bytes | None, headers: Iterable[tuple[str, bytes]], timestamp: int
) -> Activity:
    """Return the event of a record of the player-activity topic; `timestamp` is its own, in milliseconds.

    Raises Rejected with the reason when the record is not a valid input by itself.
    """
    event = event_of(headers, _EVENTS)
    check_timestamp(timestamp)
    if event is None:
        known = ", ".join(kind.decode() for kind in _EVENTS)
        raise Rejected("type", f"ce_type: the header is missing; it says which event it is: {known}")
    decoded = _decode_plain(value) if event == PLAYED and value is not None else None
    if decoded is None:
        decoded = decode_activity(parse_object(value), event)
    if decoded.moment > (timestamp + MAX_AHEAD_MS) * 1000:
        raise ahead("at", decoded.event.at, timestamp)
    return decoded


def decode_consumed_activity(record: Any) -> Activity:
    """Return the event of a record of the player-activity topic as a consumer has it. Raises Rejected."""
    return decode_activity_record(record.value, record.headers, record.timestamp)


def decode_activity_line(line: bytes) -> Activity:
    """Return the event of a line of a file, whose field `type` names it. Raises Rejected with the reason."""
    fields = parse_object(line)
    return decode_activity(fields, event_of_line(fields, PLAYER_EVENTS))


def decode_activity(fields: Mapping[str, Any], event: str) -> Activity:
    """Return the event of fields that its schema has judged. Raises Rejected with the reason."""
    check_schema(event, fields)
    whole = {name: int(fields[name]) for name in _WHOLE if name in fields}
    said = msgspec.convert({**fields, **whole}, PLAYER_EVENTS[event])
    if event == ACT_JUDGED:
        _check_judged(fields)
    moment = _moment(fields["at"], "at")
    second: int | None = None
    if "until" in fields:
        second = _moment(fields["until"], "until")
        if second <= moment:
            raise Rejected("until", f"until: {fields['until']!r} is not later than at {fields['at']!r}")
    elif "left_at" in fields:
        second = _moment(fields["left_at"], "left_at")
    return Activity(said, moment, second)


def _check_judged(fields: Mapping[str, Any]) -> None:
    """Raise Rejected when a judged act does not say what one of its kind has to."""
    act = fields["act"]
    for name in _NEEDED.get(act, ()):
        if name not in fields:
            raise Rejected("schema", f'{name}: "{name}" is a required property of act {act!r}')
    if act == SANCTIONED and fields["grade"] not in _SANCTIONS:
        raise Rejected(
            "schema", f"grade: {fields['grade']!r} is no sanction, which {' and '.join(_SANCTIONS)} are"
        )
    if act == APPOINTED and fields["grade"] in _SANCTIONS:
        raise Rejected("schema", f"grade: {fields['grade']!r} is a sanction, and nobody is appointed to it")


def _decode_plain(value: bytes) -> Activity | None:
    """Decode what a game says of a player when it has no unusual spelling; None when it may be anything else.

    Returns what `decode_activity` returns for it.
    """
    if len(value) > MAX_RECORD_BYTES:
        return None
    try:
        plain = _played(value)
        moment = _exact(plain_epoch(plain.at))
        second = None if plain.left_at is None else _exact(plain_epoch(plain.left_at))
    except (msgspec.DecodeError, ValueError):
        return None
    if not f"{plain.event_id}{plain.player_id}{plain.ladder}{plain.game_id}".isprintable():
        return None
    if not _FIRST <= moment <= _LAST or not (second is None or _FIRST <= second <= _LAST):
        return None
    return Activity(Played(*_astuple(plain)), moment, second)


def _moment(text: str, field: str) -> int:
    """Return a moment in microseconds since 1970. Raises Rejected for one that lies before."""
    moment = _exact(epoch_of(text, field))
    if not _FIRST <= moment <= _LAST:
        raise Rejected("schema", f"{field}: {text!r} does not lie in the years 1970 to 9999 of UTC")
    return moment


def _exact(epoch: float) -> int:
    """Return seconds since 1970 in microseconds; seconds as a float are exact to a quarter of one."""
    return round(epoch * _MICROSECONDS)
