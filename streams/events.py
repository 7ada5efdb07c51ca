"""Every event as it stands on a topic, for programs that send games or read what is published.

This module is the public one: its names stay, and events get new fields only at their end, with a default.

    from streams import events

    game = events.GameFinished("g-1", "chess", "2026-11-29T20:00:00Z", [
        events.Player("ann", rank=1), events.Player("bob", rank=2),
    ])
    key, value, headers = events.encode(game, source="my-site")
    change = events.decode(record.value, record.headers)
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from streams.core.events import (
    COMPETITION_CLOSED,
    CORRECTIONS_APPLIED,
    GAME_FINISHED,
    GAME_IGNORED,
    GAME_REJECTED,
    GAME_VOIDED,
    RATING_CHANGED,
    RATING_IMPORTED,
    REASONS,
    REJECTIONS,
    WEEK_ENDED,
    CompetitionClosed,
    CorrectionsApplied,
    Counts,
    GameFinished,
    GameIgnored,
    GameVoided,
    Player,
    RatingChanged,
    RatingImported,
    Reason,
    StandingsRow,
    WeekEnded,
)
from streams.core.player_events import (
    ACTIVITY_IGNORED,
    ACTIVITY_REASONS,
    ACTIVITY_REJECTIONS,
    PLAYER_ACTIVITY,
    PLAYER_EVENTS,
    PLAYER_STATUS,
    Abandoned,
    ActivityIgnored,
    ActJudged,
    Appointed,
    Connected,
    DealStarted,
    Disconnected,
    Erased,
    GameStarted,
    Pardoned,
    Played,
    PlayerEvent,
    PlayerStatus,
    Registered,
    Reputation,
    Returned,
    Sanction,
    Sanctioned,
    StatusChange,
    StatusDue,
    Suspension,
)
from streams.wire.encode import ERROR_HEADER, Record, encode_event
from streams.wire.schemas import VERSION

__all__ = [
    "ACTIVITY_IGNORED",
    "ACTIVITY_REASONS",
    "ACTIVITY_REJECTIONS",
    "COMPETITION_CLOSED",
    "CORRECTIONS_APPLIED",
    "GAME_FINISHED",
    "GAME_IGNORED",
    "GAME_REJECTED",
    "GAME_VOIDED",
    "PLAYER_ACTIVITY",
    "PLAYER_EVENTS",
    "PLAYER_STATUS",
    "RATING_CHANGED",
    "RATING_IMPORTED",
    "REASONS",
    "REJECTIONS",
    "TYPES",
    "WEEK_ENDED",
    "Abandoned",
    "ActJudged",
    "ActivityIgnored",
    "Appointed",
    "CompetitionClosed",
    "Connected",
    "CorrectionsApplied",
    "Counts",
    "DealStarted",
    "Disconnected",
    "Erased",
    "Event",
    "GameFinished",
    "GameIgnored",
    "GameStarted",
    "GameVoided",
    "Input",
    "Output",
    "Pardoned",
    "Played",
    "Player",
    "PlayerEvent",
    "PlayerStatus",
    "RatingChanged",
    "RatingImported",
    "Reason",
    "Record",
    "Registered",
    "Rejection",
    "Reputation",
    "Returned",
    "Sanction",
    "Sanctioned",
    "StandingsRow",
    "StatusChange",
    "StatusDue",
    "Suspension",
    "UnknownEventError",
    "WeekEnded",
    "decode",
    "encode",
    "name_of",
    "rejection",
]

# What the topic of finished games carries, and what is published. A rejected record is passed on as it came.
Input = GameFinished | RatingImported | WeekEnded | GameVoided | CorrectionsApplied
# What the topic of players' activity carries is a PlayerEvent.
Output = RatingChanged | GameIgnored | CompetitionClosed | PlayerStatus | ActivityIgnored
Event = Input | PlayerEvent | Output

TYPES: dict[str, type[Event]] = {
    GAME_FINISHED: GameFinished,
    RATING_IMPORTED: RatingImported,
    WEEK_ENDED: WeekEnded,
    GAME_VOIDED: GameVoided,
    CORRECTIONS_APPLIED: CorrectionsApplied,
    RATING_CHANGED: RatingChanged,
    GAME_IGNORED: GameIgnored,
    COMPETITION_CLOSED: CompetitionClosed,
    **PLAYER_EVENTS,
    PLAYER_STATUS: PlayerStatus,
    ACTIVITY_IGNORED: ActivityIgnored,
}
"""The class of each event, by its name."""

_NAMES = {kind: name for name, kind in TYPES.items()}
_DECODERS = {f"{name}.{VERSION}".encode(): msgspec.json.Decoder(kind) for name, kind in TYPES.items()}
_WITHOUT_TYPE = f"{GAME_FINISHED}.{VERSION}".encode()


class UnknownEventError(ValueError):
    """A record whose ce_type is none of this version; the message names it."""


class Rejection(msgspec.Struct, frozen=True):
    """Why a record of game-rejected is no valid event, and where it lies in the input.

    `cut_from_bytes` is the size of a record that was too large to be passed on whole.
    """

    reason: str
    message: str
    topic: str
    partition: int
    offset: int
    cut_from_bytes: int | None = None


def name_of(event: Event) -> str:
    """Return the name of an event, such as `game-finished`."""
    return _NAMES[type(event)]


def encode(event: Input | PlayerEvent, *, source: str, event_id: str | None = None) -> Record:
    """Return key, value and headers of a record for the topic of finished games, or of players' activity.

    `source` names your site, and `event_id` this report, for the CloudEvents headers; without, that of a
    player's event is its own, and any other is made of the ladder and the game, week or player.
    """
    return encode_event(name_of(event), msgspec.to_builtins(event), source, event_id)


def decode(value: bytes, headers: Iterable[tuple[str, bytes | None]] | None = None) -> Event:
    """Return the event of a record of any topic but game-rejected; fields that are not known are ignored.

    The header ce_type says which it is; without, it is a game-finished. Raises UnknownEventError for another
    type, and msgspec.DecodeError for a value that has not its fields.
    """
    kind = next((content for name, content in headers or () if name == "ce_type"), _WITHOUT_TYPE)
    decoder: Any = _DECODERS.get(kind or b"")
    if decoder is None:
        known = ", ".join(name.decode() for name in _DECODERS)
        raise UnknownEventError(f"ce_type: {kind!r} is none of {known}; a newer version may know it")
    event: Event = decoder.decode(value)
    return event


def rejection(headers: Iterable[tuple[str, bytes | None]]) -> Rejection:
    """Return what the headers of a record of game-rejected say. Raises KeyError when it is none."""
    # The last ones are ours: the record may be one that was sent again as it lay in game-rejected.
    said: dict[str, str] = {}
    for name, content in headers:
        if name == f"{ERROR_HEADER}reason":
            said.clear()
        if name.startswith(ERROR_HEADER):
            said[name.removeprefix(ERROR_HEADER)] = (content or b"").decode(errors="replace")
    cut = said.get("cut-from-bytes")
    return Rejection(
        said["reason"],
        said["message"],
        said["topic"],
        int(said["partition"]),
        int(said["offset"]),
        None if cut is None else int(cut),
    )
