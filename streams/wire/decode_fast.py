"""Game-finished events from bytes: at once when they are plain, else by way of their JSON Schema.

The schema says what is valid. `decode_plain` knows it too, in the types below, and takes a third of the time;
whatever it is not sure of, and whatever is wrong, it leaves to the schema, which can say what is wrong.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from operator import itemgetter
from typing import Annotated, Any, Literal

import msgspec
import msgspec.structs
import orjson

from streams.core.events import PAIR, Game, Rejected

MAX_RECORD_BYTES = 1024 * 1024

_ABANDONED = "abandoned"
# Of "2025-01-06T00:00:00Z" every third character from the year on.
_MARKS = "--T::"
_TO_THE_MINUTE = 16
# What follows the minute most of the time, and minutes of UTC that were read lately: games come one after the
# other, so that most moments need no more than these.
_SECONDS = {f":{second:02}Z": float(second) for second in range(60)}
_KEPT_MINUTES = 10_000
_minutes: dict[str, float] = {}
_FRACTION_AND_OFFSET = re.compile(r"(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})").fullmatch
# Later versions of Python take 24:00:00 for the next midnight; the schema does not.
_END_OF_DAY = "24"

_blank_digest = blake2b(digest_size=8).copy
_moment_of = datetime.fromisoformat
_astuple = msgspec.structs.astuple
_first = itemgetter(0)

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
_Points = (
    Annotated[int, msgspec.Meta(ge=-(10**15), le=10**15)] | Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
)

# An absent field is None, but null is not a value that a field may have: so the defaults are not of the type.


class _Seat(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    player_id: _Id
    rank: _Count = None  # type: ignore[assignment]
    points: _Points = None  # type: ignore[assignment]
    team: _Id = None  # type: ignore[assignment]
    left: Literal["abandoned", "disconnected"] = None  # type: ignore[assignment]
    left_at: str = None  # type: ignore[assignment]


class _Finished(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    game_id: _Id
    ladder: _Id
    ended_at: str
    players: Annotated[list[_Seat], msgspec.Meta(min_length=2, max_length=32)]
    game_type: _Id = None  # type: ignore[assignment]
    started_at: str = None  # type: ignore[assignment]
    rated: bool = True
    version: _Count = 1
    type: Literal["game-finished"] = "game-finished"


# Of one player: id, rank, points, team, how the player left, and when, in seconds since 1970.
_Row = tuple[Any, ...]
# Players, ranks, points, teams, abandoned, left_epochs, digest, as in Game.
_Columns = tuple[Any, Any, Any, Any, Any, Any, int]

_finished = msgspec.json.Decoder(_Finished).decode


def decode_plain(value: bytes) -> Game | None:
    """Decode a valid game-finished event without unusual spelling; None when it may be anything else.

    Returns what `decode_fields` returns for it. Unknown fields, characters that do not print, and moments
    with lower-case letters are unusual. More than MAX_RECORD_BYTES are nothing valid.
    """
    if len(value) > MAX_RECORD_BYTES:
        return None
    try:
        finished = _finished(value)
        ended_epoch = plain_epoch(finished.ended_at)
        started_epoch = None if finished.started_at is None else plain_epoch(finished.started_at)
        if started_epoch is not None and started_epoch > ended_epoch:
            return None
        game_type, seats = finished.game_type, finished.players
        names = f"{finished.game_id}{finished.ladder}{game_type or ''}"
        content = (game_type, ended_epoch, finished.rated, started_epoch)
        columns = _pair_columns(seats[0], seats[1], names, content) if len(seats) == PAIR else None
        if columns is None:
            columns = _columns(list(map(_plain_row, seats)), content) if names.isprintable() else None
    except (msgspec.DecodeError, ValueError):
        return None
    if columns is None:
        return None
    return Game(
        finished.game_id,
        finished.ladder,
        game_type,
        finished.ended_at,
        ended_epoch,
        finished.rated,
        *columns,
        finished.version,
    )


def _pair_columns(one: "_Seat", two: "_Seat", names: str, content: tuple[Any, ...]) -> _Columns | None:
    """Return what `_columns` returns for a pair, in half the time; None leaves it to `_columns`."""
    row_one: _Row = _astuple(one)
    row_two: _Row = _astuple(two)
    player_one, rank_one, points_one, team_one, left_one, at_one = row_one
    player_two, rank_two, points_two, team_two, left_two, at_two = row_two
    if not team_one is team_two is left_one is left_two is at_one is at_two is None:
        return None
    # The schema forbids control characters, which do not print; other characters do not either.
    if player_one == player_two or not f"{names}{player_one}{player_two}".isprintable():
        return None
    return (
        (player_one, player_two),
        None if rank_one is None or rank_two is None else (rank_one, rank_two),
        None if points_one is None or points_two is None else (points_one, points_two),
        None,
        None,
        None,
        _digest(content + row_one + row_two if player_one < player_two else content + row_two + row_one),
    )


def decode_fields(fields: dict[str, Any]) -> Game:
    """Make a game of fields that fit the schema. Raises Rejected for what no schema can say."""
    get = fields.get
    ended_at = fields["ended_at"]
    ended_epoch = epoch_of(ended_at, "ended_at")
    started_at = get("started_at")
    started_epoch = None if started_at is None else epoch_of(started_at, "started_at")
    seats = [
        (
            seat["player_id"],
            # JSON Schema takes 1.0 for a whole number too.
            int(seat["rank"]) if "rank" in seat else None,
            seat.get("points"),
            seat.get("team"),
            seat.get("left"),
            epoch_of(seat["left_at"], "left_at") if "left_at" in seat else None,
        )
        for seat in fields["players"]
    ]
    game_type = get("game_type")
    rated = get("rated", True)
    columns = _columns(seats, (game_type, ended_epoch, rated, started_epoch))
    if columns is None:
        raise Rejected("same-player-twice", f"players: {_twice(seats)!r} appears twice")
    if started_epoch is not None and started_epoch > ended_epoch:
        raise Rejected(
            "started-after-ended", f"started_at: {started_at!r} is later than ended_at {ended_at!r}"
        )
    return Game(
        fields["game_id"],
        fields["ladder"],
        game_type,
        ended_at,
        ended_epoch,
        rated,
        *columns,
        version=int(get("version", 1)),
    )


def _plain_row(seat: _Seat) -> _Row:
    """Return a seat's row. Raises ValueError when it is not plain."""
    row: _Row = _astuple(seat)
    player_id, _, _, team, _, left_at = row
    if not player_id.isprintable() or not (team is None or team.isprintable()):
        raise ValueError
    return row if left_at is None else (*row[:-1], plain_epoch(left_at))


def plain_epoch(moment: str) -> float:
    """Return a moment in seconds since 1970. Raises ValueError when it is not spelled as it usually is."""
    minute = moment[:_TO_THE_MINUTE]
    second = _SECONDS.get(moment[_TO_THE_MINUTE:])
    begin = _minutes.get(minute)
    if begin is not None and second is not None:
        return begin + second
    if moment[4:19:3] != _MARKS or moment[11:13] == _END_OF_DAY:
        raise ValueError
    if second is None and _FRACTION_AND_OFFSET(moment[19:]) is None:
        raise ValueError
    epoch = _moment_of(moment).timestamp()
    if second is not None:
        if len(_minutes) == _KEPT_MINUTES:
            _minutes.clear()
        _minutes[minute] = epoch - second
    return epoch


def _columns(rows: Sequence[_Row], content: tuple[Any, ...]) -> _Columns | None:
    """Turn what the game says of each player, and of itself, into a Game's columns and its digest.

    Returns None when a player appears twice. The digest is of what the game says, so that neither spelling
    nor the order of the players makes it another game; unknown fields are ignored, as everywhere.
    """
    if len({row[0] for row in rows}) != len(rows):
        return None
    for row in sorted(rows, key=_first):
        content += row
    players, ranks, points, teams, left, left_epochs = zip(*rows, strict=True)
    return (
        players,
        None if None in ranks else ranks,
        None if None in points else points,
        None if None in teams else teams,
        tuple([how == _ABANDONED for how in left]) if _ABANDONED in left else None,
        None if left_epochs.count(None) == len(rows) else left_epochs,
        _digest(content),
    )


def _digest(content: tuple[Any, ...]) -> int:
    # A copy takes two thirds of the time of a new one with its parameters.
    digest = _blank_digest()
    digest.update(orjson.dumps(content))
    return int.from_bytes(digest.digest(), "big")


def epoch_of(text: str, field: str) -> float:
    """Return a moment in seconds since 1970. Raises Rejected, which names the field, for one that is none."""
    try:
        return _moment_of(text.upper()).timestamp()
    except ValueError as error:
        raise Rejected("schema", f"{field}: {text!r} is no moment this program can tell ({error})") from error


def _twice(rows: Sequence[_Row]) -> str:
    ids = [row[0] for row in rows]
    return next(str(player_id) for player_id in ids if ids.count(player_id) > 1)
