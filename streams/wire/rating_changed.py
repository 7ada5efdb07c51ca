"""rating-changed events of a rated game, from the fold's short form straight to JSON.

They are by far the most of what is published. Says the same as `streams.core.ladders.outputs`, in a third of
the time.
"""

from collections.abc import Iterable
from itertools import starmap
from typing import Any

import msgspec

from streams.core.ladders import GameRated
from streams.core.row_keys import quote_part


class _Counts(msgspec.Struct, gc=False):
    games: int
    wins: int
    losses: int
    draws: int


class RatingChangedEvent(msgspec.Struct, gc=False, omit_defaults=True):
    """The fields of a rating-changed in the order in which they are written, the last ones if it has them."""

    change_id: str
    ladder: str
    system: str
    player_id: str
    game_id: str
    sequence: int
    before: float
    after: float
    ended_at: str
    statistics: _Counts
    week: str | None = None
    level: int | None = None
    level_before: int | None = None
    title: str | None = None
    title_before: str | None = None


_encoder = msgspec.json.Encoder()
encode_event: Any = _encoder.encode


def changed_events(published: Iterable[GameRated]) -> list[RatingChangedEvent]:
    """Write out what rated games publish, but for the standings of a closed week, in order."""
    events: list[RatingChangedEvent] = []
    add, new = events.append, RatingChangedEvent
    for ladder, game_id, ended_at, changes, players, statistics, _ in published:
        counts = dict(zip(players, starmap(_Counts, statistics), strict=True))
        quoted_ladder, quoted_game = quote_part(ladder), quote_part(game_id)
        for system, changed in changes:
            start = f"{quoted_ladder}/{system}/{quoted_game}/"
            for player_id, before, after, sequence, details in changed:
                own = counts[player_id]
                change_id = start + player_id
                if details is None:
                    event = new(
                        change_id, ladder, system, player_id, game_id, sequence, before, after, ended_at, own
                    )
                else:
                    week, level, level_before, title, title_before = details
                    event = new(
                        change_id,
                        ladder,
                        system,
                        player_id,
                        game_id,
                        sequence,
                        before,
                        after,
                        ended_at,
                        own,
                        week,
                        level,
                        level_before,
                        title,
                        title_before,
                    )
                add(event)
    return events


def encode_lines(events: list[RatingChangedEvent]) -> bytes:
    """Give events as JSON lines, each with its line end."""
    return _encoder.encode_lines(events)
