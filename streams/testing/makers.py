"""Makers of events that are valid: what could not be on a topic is refused where it is made."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from streams import events
from streams.core.events import Event, Rejected
from streams.embedded.club import CLUB, simulate
from streams.wire.decode import decode_checked

# A Wednesday, in the week 2026-W48 of every time zone.
ENDED_AT = "2026-11-25T20:00:00Z"
_CLUB_STARTS = datetime(2026, 11, 2, tzinfo=UTC)
_CLUB_PLAYERS = 100


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


def club_games(number: int, seed: int = 1) -> Iterator[events.GameFinished]:
    """Yield that many different games of a made-up club and a few reported twice, the same for the same seed.

    They are on the ladders of CLUB_LADDERS, of every system.
    """
    for fields in simulate(games=number, players=_CLUB_PLAYERS, seed=seed, start=_CLUB_STARTS, ladders=CLUB):
        yield msgspec.convert(fields, events.GameFinished)
