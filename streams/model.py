"""What the folds read: a finished game and the other input events, already decoded and checked.

Plain data without behaviour, from the standard library alone. `streams.events` makes these from bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Left = Literal["abandoned", "disconnected"]

_MAX_MESSAGE = 1_000


class Rejected(Exception):  # noqa: N818 - an outcome of a record, not an error of the program
    """A record that is not a valid input: it goes to game-rejected with this reason and message.

    `reason` is one of `REJECTIONS`; the message names the field and the offending value.
    """

    def __init__(self, reason: str, message: str) -> None:
        # A message quotes what it finds; a key or a header may have megabytes.
        if len(message) > _MAX_MESSAGE:
            message = message[: _MAX_MESSAGE - 1] + "…"
        super().__init__(message)
        self.reason = reason
        self.message = message


REJECTIONS = {
    "too-large": "the record is over 1 MiB",
    "not-json": "the value is not a JSON object",
    "type": "the ce_type header (or the type field of a file) names no input event",
    "schema": "the event does not fit its JSON Schema",
    "key": "the record's key is not the ladder",
    "unknown-ladder": "the ladder is not in the ladder file",
    "unknown-system": "a rating was imported for a system the ladder does not have",
    "same-player-twice": "a player appears twice in one game",
    "started-after-ended": "started_at is later than ended_at",
    "future": "ended_at is more than 24 hours after the record's own timestamp",
    "conflict": "the same game_id was seen with other content",
}


@dataclass(slots=True)
class Player:
    """A player's part in one game. `rank` 1 is best and equal ranks are ties; `points` need not be whole."""

    player_id: str
    rank: int | None = None
    points: float | None = None
    team: str | None = None
    left: Left | None = None
    left_at: datetime | None = None


@dataclass(slots=True)
class Game:
    """A finished game.

    `ended_at` is the text of the producer, passed on unchanged; `ended` is the same moment, with its offset,
    and `ended_epoch` in seconds since 1970.
    `teams` says that every player has a team (else it is a game of individuals).
    A `version` above 1 corrects the game of that id, when a rebuild applies it.
    `digest` stands for the whole content: two events of one game with equal digests say the same.
    """

    game_id: str
    ladder: str
    game_type: str | None
    ended_at: str
    ended: datetime
    ended_epoch: float
    rated: bool
    players: Sequence[Player]
    teams: bool
    digest: str
    version: int = 1


@dataclass(slots=True)
class RatingImported:
    """A player starts with the figures of a former system; `week` only for weekly competitions."""

    ladder: str
    system: str
    player_id: str
    rating: float
    games: int
    week: str | None = None


@dataclass(slots=True)
class WeekEnded:
    """A ladder's week (`2026-W48`) is over; `final` when its grace time is over too."""

    ladder: str
    week: str
    final: bool


@dataclass(slots=True)
class GameVoided:
    """A game is taken back, for `reason`. Applied by a rebuild, not by the live fold."""

    ladder: str
    game_id: str
    reason: str


@dataclass(slots=True)
class CorrectionsApplied:
    """From here on the corrections at offsets below `until` hold on a ladder, for the deployment `app_id`."""

    ladder: str
    app_id: str
    until: int


Event = Game | RatingImported | WeekEnded | GameVoided | CorrectionsApplied


def ranks(game: Game) -> list[int] | None:
    """Give every player's rank, 1 the best, equal ranks for ties; None when the game has no result.

    Reported ranks are taken when every player has one; else they are derived from points, more is better
    (rules: "Without rank in every player it is derived from points", 0 points is a value). In a team game
    everyone has the rank of the team's best member.
    """
    players = game.players
    found: list[int] = []
    for player in players:
        if player.rank is None:
            points = [player.points for player in players if player.points is not None]
            if len(points) != len(players):
                return None
            found = [1 + sum(other > own for other in points) for own in points]
            break
        found.append(player.rank)
    if not game.teams:
        return found
    best: dict[str | None, int] = {}
    for player, rank in zip(players, found, strict=True):
        best[player.team] = min(rank, best.get(player.team, rank))
    return [best[player.team] for player in players]
