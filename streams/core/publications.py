"""What a fold publishes: in short while it folds, written out for who wants to read it.

By far the most of what is published are the changes of rated games. A fold says them in short: a replay that
wants rows alone never writes them out, and whoever does writes out many at once.

Pure: standard library and msgspec only.
"""

from collections.abc import Iterable, Sequence
from itertools import starmap

import msgspec

from streams.core.events import Counts, Output, RatingChanged
from streams.core.ratings.system import Change, Details, SystemChanges
from streams.core.row_keys import join_key, quote_part

# A player's rated games on a ladder: all, won, lost and drawn.
Statistics = tuple[int, int, int, int]
NO_GAMES: Statistics = (0, 0, 0, 0)

_NO_DETAILS = Details()

# What stands in a change_id in the place of the game: no escaped id can be spelled so.
_IMPORT = "%import"
_CORRECTION = "%correction"


class GameRated(msgspec.Struct, array_like=True, gc=False):
    """What a rated game publishes: the changes of each system that rated it.

    `players` are all of the game's, with their `statistics` after it.
    """

    ladder: str
    game_id: str
    ended_at: str
    changes: Sequence[SystemChanges]
    players: Sequence[str]
    statistics: Sequence[Statistics]


Publication = GameRated | Output


def written_out(publications: Iterable[Publication]) -> list[Output]:
    """Return what a fold publishes as events, in the order of publication."""
    events: list[Output] = []
    for publication in publications:
        if isinstance(publication, GameRated):
            events += rating_changes((publication,))
        else:
            events.append(publication)
    return events


def rating_changes(games: Iterable[GameRated]) -> list[RatingChanged]:
    """Return the changes of rated games as events, in the order of publication."""
    events: list[RatingChanged] = []
    add, new = events.append, RatingChanged
    for rated in games:
        ladder, game_id, ended_at = rated.ladder, rated.game_id, rated.ended_at
        counts = dict(zip(rated.players, starmap(Counts, rated.statistics), strict=True))
        quoted_ladder, quoted_game = quote_part(ladder), quote_part(game_id)
        for system_changes in rated.changes:
            system = system_changes.system
            start = f"{quoted_ladder}/{system}/{quoted_game}/"
            for change in system_changes.changes:
                player_id, details = change.player_id, change.details or _NO_DETAILS
                add(
                    new(
                        start + player_id,
                        ladder,
                        system,
                        player_id,
                        game_id,
                        change.sequence,
                        change.before,
                        change.after,
                        ended_at,
                        counts[player_id],
                        None,
                        details.week,
                        details.level,
                        details.level_before,
                        details.title,
                        details.title_before,
                    )
                )
    return events


def imported_change(ladder: str, system: str, change: Change, statistics: Statistics) -> RatingChanged:
    """Return the event of a player's start; imports of one player are told apart by their week."""
    details = change.details
    week = None if details is None else details.week
    where = _IMPORT if week is None else f"{_IMPORT}/{week}"
    event = RatingChanged(
        f"{join_key(ladder, system)}/{where}/{change.player_id}",
        ladder,
        system,
        change.player_id,
        sequence=change.sequence,
        before=change.before,
        after=change.after,
        statistics=Counts(*statistics),
        reason="import",
    )
    if details is not None:
        _show(details, event)
    return event


def corrected_change(
    ladder: str, system: str, change: Change, statistics: Statistics, offset: int
) -> RatingChanged:
    """Return the event of a correction that came into force at an offset of the log."""
    details = change.details or Details()
    path = f"{quote_part(ladder)}/{system}/{_CORRECTION}-{offset}/"
    event = RatingChanged(
        path + (change.player_id if details.week is None else f"{details.week}/{change.player_id}"),
        ladder,
        system,
        change.player_id,
        sequence=change.sequence,
        before=change.before,
        after=change.after,
        statistics=Counts(*statistics),
        reason="correction",
    )
    _show(details, event)
    return event


def _show(details: Details, event: RatingChanged) -> None:
    event.week = details.week
    event.level = details.level
    event.level_before = details.level_before
    event.title = details.title
    event.title_before = details.title_before
