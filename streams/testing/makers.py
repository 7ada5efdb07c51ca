"""Makers of events that are valid: what could not be on a topic is refused where it is made."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from streams import events
from streams.core.events import Event, Rejected
from streams.core.player_events import Activity
from streams.embedded.club import CLUB, simulate
from streams.wire.decode import decode_checked
from streams.wire.decode_players import decode_activity

# A Wednesday, in the week 2026-W48 of every time zone.
ENDED_AT = "2026-11-25T20:00:00Z"
_CLUB_STARTS = datetime(2026, 11, 2, tzinfo=UTC)
_CLUB_PLAYERS = 100
_MAX_EVENT_ID = 256

Said = TypeVar("Said", bound=events.PlayerEvent)


class InvalidEventError(ValueError):
    """An event that would be rejected; the message names the field and its value."""


def ranked(player_id: str, rank: int, **fields: Any) -> events.Player:
    """Return a player of a game with a rank, 1 the best; `fields` are others of events.Player."""
    return events.Player(player_id, rank=rank, **fields)


def scored(player_id: str, points: float, **fields: Any) -> events.Player:
    """Return a player of a game with points; `fields` are others of events.Player."""
    return events.Player(player_id, points=points, **fields)


def finished(
    game_id: str,
    *players: events.Player | str,
    ladder: str = "chess",
    ended_at: str = ENDED_AT,
    **fields: Any,
) -> events.GameFinished:
    """Return a finished game; of players given by their ids alone the first has won, and so on.

    `fields` are others of events.GameFinished. Raises InvalidEventError for a game that would be rejected.
    """
    seats = [
        ranked(player, place) if isinstance(player, str) else player
        for place, player in enumerate(players, start=1)
    ]
    game = events.GameFinished(game_id, ladder, ended_at, seats, **fields)
    checked(game)
    return game


def checked(event: events.Input) -> Event:
    """Return an event as the folds read it. Raises InvalidEventError for one that would be rejected."""
    try:
        return decode_checked(msgspec.to_builtins(event), events.name_of(event))
    except Rejected as rejected:
        raise InvalidEventError(f"{rejected.reason}: {rejected.message}") from rejected


def checked_activity(event: events.PlayerEvent) -> Activity:
    """Return an event of a player as the fold reads it. Raises InvalidEventError for one to be rejected."""
    try:
        return decode_activity(msgspec.to_builtins(event), events.name_of(event))
    except Rejected as rejected:
        raise InvalidEventError(f"{rejected.reason}: {rejected.message}") from rejected


def registered(player_id: str, at: str = ENDED_AT, *, event_id: str | None = None) -> events.Registered:
    """Return that a player has registered. Raises InvalidEventError, as all makers, for what is not valid."""
    return _made(events.Registered, event_id, player_id, at)


def connected(player_id: str, at: str = ENDED_AT, *, event_id: str | None = None) -> events.Connected:
    """Return that a player has connected."""
    return _made(events.Connected, event_id, player_id, at)


def disconnected(
    player_id: str, game_id: str, deal_id: str, at: str = ENDED_AT, *, event_id: str | None = None
) -> events.Disconnected:
    """Return that a player has lost the connection to a table."""
    return _made(events.Disconnected, event_id, player_id, at, game_id=game_id, deal_id=deal_id)


def returned(
    player_id: str, game_id: str, deal_id: str, at: str = ENDED_AT, *, event_id: str | None = None
) -> events.Returned:
    """Return that a player is back at a table."""
    return _made(events.Returned, event_id, player_id, at, game_id=game_id, deal_id=deal_id)


def game_started(
    player_id: str, game_id: str, at: str = ENDED_AT, *, event_id: str | None = None
) -> events.GameStarted:
    """Return that a player has begun a game."""
    return _made(events.GameStarted, event_id, player_id, at, game_id=game_id)


def deal_started(
    player_id: str, game_id: str, deal_id: str, at: str = ENDED_AT, *, event_id: str | None = None
) -> events.DealStarted:
    """Return that another deal of a player's game has begun."""
    return _made(events.DealStarted, event_id, player_id, at, game_id=game_id, deal_id=deal_id)


def abandoned(
    player_id: str, game_id: str, at: str = ENDED_AT, *, ladder: str = "chess", event_id: str | None = None
) -> events.Abandoned:
    """Return that a player has left a game for good."""
    return _made(events.Abandoned, event_id, player_id, at, ladder=ladder, game_id=game_id)


def reputation(
    player_id: str, points: int, at: str = ENDED_AT, *, by: str = "site", event_id: str | None = None
) -> events.Reputation:
    """Return that a player gets points of reputation from another one, or from the site."""
    return _made(events.Reputation, event_id, player_id, at, points=points, by=by)


def sanctioned(
    player_id: str,
    grade: str,
    at: str = ENDED_AT,
    *,
    until: str | None = None,
    by: str = "site",
    event_id: str | None = None,
) -> events.Sanctioned:
    """Return that a player is made a devilkin or a demon, for ever if there is no `until`."""
    return _made(events.Sanctioned, event_id, player_id, at, grade=grade, by=by, until=until)


def pardoned(
    player_id: str, at: str = ENDED_AT, *, by: str = "site", event_id: str | None = None
) -> events.Pardoned:
    """Return that a player's sanctions are ended."""
    return _made(events.Pardoned, event_id, player_id, at, by=by)


def appointed(
    player_id: str, grade: str, at: str = ENDED_AT, *, by: str = "site", event_id: str | None = None
) -> events.Appointed:
    """Return that a player is appointed to a grade."""
    return _made(events.Appointed, event_id, player_id, at, grade=grade, by=by)


def erased(player_id: str, at: str = ENDED_AT, *, event_id: str | None = None) -> events.Erased:
    """Return that a player wants nothing personal to be kept."""
    return _made(events.Erased, event_id, player_id, at)


def _made(kind: Callable[..., Said], event_id: str | None, player_id: str, at: str, **fields: Any) -> Said:
    """Return an event; without an id it gets one made of all that it says."""
    if event_id is None:
        said = [str(value) for value in fields.values() if value is not None]
        event_id = "/".join([getattr(kind, "__name__", "").lower(), player_id, at, *said])[:_MAX_EVENT_ID]
    event = kind(event_id, player_id, at, **fields)
    checked_activity(event)
    return event


def club_games(number: int, seed: int = 1) -> Iterator[events.GameFinished]:
    """Yield that many different games of a made-up club and a few reported twice, the same for the same seed.

    They are on the ladders of CLUB_LADDERS, of every system.
    """
    for fields in simulate(games=number, players=_CLUB_PLAYERS, seed=seed, start=_CLUB_STARTS, ladders=CLUB):
        yield msgspec.convert(fields, events.GameFinished)
