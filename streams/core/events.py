"""Every event, in and out: what the folds read, already decoded and checked, and what they publish.

Plain data without behaviour. `streams.wire` makes the first from bytes, and bytes from the second; for users
`streams.events` has those that stand on topics.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

import msgspec

# Topics, without prefix, each named by the event that it carries; the input carries others too.
GAME_FINISHED = "game-finished"
RATING_CHANGED = "rating-changed"
COMPETITION_CLOSED = "competition-closed"
GAME_IGNORED = "game-ignored"
GAME_REJECTED = "game-rejected"
# What else is on the topic of finished games.
RATING_IMPORTED = "rating-imported"
WEEK_ENDED = "week-ended"
GAME_VOIDED = "game-voided"
CORRECTIONS_APPLIED = "corrections-applied"

# How many players most games have, and how many a game may have.
PAIR = 2
MAX_PLAYERS = 32

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


# Why an input is none: the reasons of game-rejected.
REJECTIONS = {
    "too-large": "the record is over 1 MiB",
    "not-json": "the value is not a JSON object",
    "type": "the ce_type header (or the type field of a file) names no input event",
    "schema": "the event does not fit its JSON Schema",
    "misplaced": "a forwarded copy does not lie in its ladder's home",
    "unknown-ladder": "the ladder is not in the ladder file",
    "unknown-system": "a rating was imported for a system the ladder does not have",
    "same-player-twice": "a player appears twice in one game",
    "started-after-ended": "started_at is later than ended_at",
    "header-name": "the name of a header is not UTF-8",
    "timestamp": "the record's timestamp is no moment in milliseconds since 1970",
    "future": "ended_at is more than 24 hours after the record's own timestamp",
    "conflict": "the same game_id was seen with other content",
}

# Why a valid event did not count: the reasons of game-ignored.
REASONS = {
    "duplicate": "the same game_id with the same content was applied before",
    "unrated": "the game was played unrated",
    "no-result": "not every player has a rank, nor every player points",
    "player-count": "the system does not rate games of this many players or sides",
    "teams": "a team game, which only weekly counts",
    "no-points": "the system needs points of every player",
    "left": "a player left the game and the system's policy leaves these players unrated",
    "voided": "the game was taken back",
    "superseded": "a higher version of the game came before",
    "too-old": "the game ended longer before the ladder's latest than games are remembered: it may have come",
    "late": "the game (or import) belongs to a week whose grace time is over",
    "already-rated": "an import for a player who has games there already",
    "not-importable": "an import for a system that computes a rating from the player's own games alone",
    "already-closed": "the week of the closing (or import) was closed before",
    "no-week": "an import into a weekly competition names no week",
    "no-competition": "the ladder has no weekly competition",
}


class Player(msgspec.Struct, gc=False, omit_defaults=True):
    """A player of a finished game, as a producer reports it; None for what it does not say.

    `rank` 1 is best, equal ranks are ties. `left` is `abandoned` or `disconnected`, and `left_at` the moment.
    """

    player_id: str
    rank: int | None = None
    points: float | None = None
    team: str | None = None
    left: str | None = None
    left_at: str | None = None


class GameFinished(msgspec.Struct, gc=False, omit_defaults=True):
    """A finished game as a producer reports it: the fields of its JSON, moments as RFC 3339 with an offset.

    What the folds make of it is a `Game`. A `version` above 1 corrects the game of that id.
    """

    game_id: str
    ladder: str
    ended_at: str
    players: Sequence[Player]
    game_type: str | None = None
    started_at: str | None = None
    rated: bool = True
    version: int = 1


class Game(msgspec.Struct, array_like=True, gc=False):
    """A finished game as the folds read it.

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
        """Return the exact moment of the end, with the offset that the producer wrote."""
        # RFC 3339 lets `t` and `z` stand for `T` and `Z`; datetime does not know the `z`.
        return datetime.fromisoformat(self.ended_at.upper())


class RatingImported(msgspec.Struct, gc=False, omit_defaults=True):
    """A player starts with the figures of a former system; `week` only for weekly competitions."""

    ladder: str
    system: str
    player_id: str
    rating: float
    games: int
    week: str | None = None


class WeekEnded(msgspec.Struct, gc=False):
    """A ladder's week (`2026-W48`) is over; `final` when its grace time is over too."""

    ladder: str
    week: str
    final: bool


class GameVoided(msgspec.Struct, gc=False):
    """A game is taken back, for `reason`: by a rebuild when it was rated, at once when it is to come."""

    ladder: str
    game_id: str
    reason: str


class CorrectionsApplied(msgspec.Struct, gc=False):
    """From here on the corrections at offsets below `until` hold on a ladder, for the deployment `app_id`."""

    ladder: str
    app_id: str
    until: int


# What the topic of finished games carries, as the folds read it.
Event = Game | RatingImported | WeekEnded | GameVoided | CorrectionsApplied


class Counts(msgspec.Struct, gc=False):
    """A player's rated games on a ladder: wins are sole first places, draws shared ones."""

    games: int
    wins: int
    losses: int
    draws: int


class RatingChanged(msgspec.Struct, gc=False, omit_defaults=True):
    """One player's rating in one system after one game, an import or a correction.

    The fields stand in the order in which they are written. None is not a value that one may have: such a
    field is absent. So are `game_id` and `ended_at` of an import or a correction, whose `reason` says so,
    and what a system does not show: the week and level of a competition, a title.
    """

    topic: ClassVar[str] = RATING_CHANGED

    change_id: str
    ladder: str
    system: str
    player_id: str
    game_id: str | None = None
    # Always given. They have a default only because they are written behind a field that may be absent.
    sequence: int = None  # type: ignore[assignment]
    before: float = None  # type: ignore[assignment]
    after: float = None  # type: ignore[assignment]
    ended_at: str | None = None
    statistics: Counts = None  # type: ignore[assignment]
    reason: str | None = None
    week: str | None = None
    level: int | None = None
    level_before: int | None = None
    title: str | None = None
    title_before: str | None = None

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.player_id


class Reason(msgspec.Struct, gc=False, omit_defaults=True):
    """Why a system did not count a game; `players` for whom it did not when it counted for the others."""

    system: str
    reason: str
    players: Sequence[str] | None = None


class GameIgnored(msgspec.Struct, gc=False, omit_defaults=True, kw_only=True):
    """A valid game (or import: `player_id`, or closing: `week`) that did not count for the systems named."""

    topic: ClassVar[str] = GAME_IGNORED

    game_id: str | None = None
    player_id: str | None = None
    week: str | None = None
    ladder: str
    reasons: Sequence[Reason]
    ended_at: ClassVar[None] = None

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.ladder


class StandingsRow(msgspec.Struct, gc=False):
    """One line of a week's standings; `rank` 1 is best and equal points share it: 1, 2, 2, 4."""

    player_id: str
    rank: int
    points: float
    level: int
    games: int
    wins: int
    losses: int
    draws: int
    abandons: int


class CompetitionClosed(msgspec.Struct, gc=False, omit_defaults=True):
    """The standings of a closed week; `revision` counts 1, 2, 3 … and the last one is `final`.

    Standings that are too large for one record go out as several: then this is `part` 1, 2, 3 … of `parts`.
    """

    topic: ClassVar[str] = COMPETITION_CLOSED

    ladder: str
    week: str
    revision: int
    final: bool
    ended_at: str
    standings: Sequence[StandingsRow]
    part: int | None = None
    parts: int | None = None

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.ladder


# What a fold publishes, written out; rejected records are passed on as they came.
Output = RatingChanged | GameIgnored | CompetitionClosed


def places(game: Game) -> Sequence[int] | None:
    """Return every player's place, 1 the best, equal places for ties; None when the game has no result.

    Reported ranks are taken when every player has one; else they are derived from points, more is better
    (rules: "Without rank in every player it is derived from points", 0 points is a value). In a team game
    everyone has the place of the team's best member.
    """
    individual = game.ranks
    if individual is None:
        points = game.points
        if points is None:
            return None
        individual = [1 + sum(other > made for other in points) for made in points]
    teams = game.teams
    if teams is None:
        return individual
    best: dict[str, int] = {}
    for team, place in zip(teams, individual, strict=True):
        best[team] = min(place, best.get(team, place))
    return [best[team] for team in teams]
