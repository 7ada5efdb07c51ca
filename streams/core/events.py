"""What the folds read: a finished game and the other input events, already decoded and checked.

Plain data without behaviour, from the standard library alone. `streams.wire.events` makes these from bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

# How many players most games have.
PAIR = 2

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


class Game(NamedTuple):
    """A finished game.

    `ended_at` is the text of the producer, passed on unchanged, and `ended_epoch` the same moment in seconds
    since 1970. What is known of the players stands in columns, in the order of `players`; a column is None
    when it says nothing:

    - `ranks`: 1 is best, equal ranks are ties; None unless every player has one.
    - `points`: need not be whole; None unless every player has some.
    - `teams`: None unless every player has one, and so for a game of individuals.
    - `abandoned`: who did; None when nobody did.
    - `left_epochs`: when those who left did, in seconds since 1970; None when nobody says.

    A `version` above 1 corrects the game of that id, when a rebuild applies it.
    `digest` stands for the whole content: two events of one game with equal digests say the same.
    """

    game_id: str
    ladder: str
    game_type: str | None
    ended_at: str
    ended_epoch: float
    rated: bool
    players: Sequence[str]
    ranks: Sequence[int] | None
    points: Sequence[float] | None
    teams: Sequence[str] | None
    abandoned: Sequence[bool] | None
    left_epochs: Sequence[float | None] | None
    digest: int
    version: int = 1

    @property
    def ended(self) -> datetime:
        """Give the exact moment of the end, with the offset that the producer wrote."""
        return datetime.fromisoformat(self.ended_at)


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


def places(game: Game) -> Sequence[int] | None:
    """Give every player's place, 1 the best, equal places for ties; None when the game has no result.

    Reported ranks are taken when every player has one; else they are derived from points, more is better
    (rules: "Without rank in every player it is derived from points", 0 points is a value). In a team game
    everyone has the place of the team's best member.
    """
    found = game.ranks
    if found is None:
        points = game.points
        if points is None:
            return None
        found = [1 + sum(other > own for other in points) for own in points]
    teams = game.teams
    if teams is None:
        return found
    best: dict[str, int] = {}
    for team, place in zip(teams, found, strict=True):
        best[team] = min(place, best.get(team, place))
    return [best[team] for team in teams]
