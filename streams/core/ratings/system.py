"""What a rating system is to the fold of a ladder: parameters, rows, and a verdict on each game.

Pure: no clock, no I/O.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, ClassVar

import msgspec

from streams.core.events import CompetitionClosed, Game, RatingImported, StandingsRow, WeekEnded
from streams.core.ratings.explanation import Step
from streams.core.weeks import week_of

JsonRow = Mapping[str, Any] | Sequence[Any]


# A game makes many of the following: Structs take half as long again as plain tuples, and a fifth of the time
# of named ones. They go between processes as arrays.


class Details(msgspec.Struct, array_like=True, gc=False):
    """What a system may show of a player beside the ratings; None for what it has not."""

    week: str | None = None
    level: int | None = None
    level_before: int | None = None
    title: str | None = None
    title_before: str | None = None


# Ratings are whole numbers in some systems and have to stay so, also on their way between processes.
Rating = int | float


class Change(msgspec.Struct, array_like=True, gc=False):
    """One player's rating before and after, the sequence number, and the details, if the system shows any."""

    player_id: str
    before: Rating
    after: Rating
    sequence: int
    details: Details | None = None


class SystemChanges(msgspec.Struct, array_like=True, gc=False):
    """The changes that a system makes of one game; none when the game does not count for it."""

    system: str
    changes: Sequence[Change]


class Note(msgspec.Struct, gc=False):
    """Why a game does not count for a system; `players` for whom it does not when it counts for others."""

    system: str
    reason: str
    players: Sequence[str] = ()


# What a system makes of a game: the changes, and a note if there is something to say.
Verdict = tuple[Sequence[Change], Note | None]

# Notes on games, by the games' positions in a sequence.
Notes = dict[int, list[Note]]


class PlayerRating(msgspec.Struct, array_like=True, gc=False):
    """A player's figures in one system.

    `games` counts the rated ones, imported ones included; `sequence` is the number of the last published
    change. They differ once a correction has been published.
    """

    rating: Rating
    games: int
    sequence: int


class OpenedGame(msgspec.Struct, gc=False):
    """A game with a result, opened once for all systems.

    First what the usual game needs, a *pair*: two individuals who both stayed to the end. `one` is None for
    any other game, which is *general*. Places are those of `game.players`, in the same order.
    """

    one: str | None
    two: str
    place_one: int
    place_two: int
    points: Sequence[float] | None
    game_type: str | None
    ended_epoch: float
    game: Game
    places: Sequence[int]


@dataclass(frozen=True)
class LadderContext:
    """What a ladder tells its systems beside their own parameters."""

    ladder: str
    timezone: tzinfo
    advised_players: Mapping[str, int]


class System(ABC):
    """One rating system on one ladder, with its rows.

    `players` holds the figures that go into the row of a player. A system with more rows than that (one a
    week, one a result) keeps them itself and yields them from `changed_rows`.

    Every game can be rated by `rate_general`. `rate_batch` rates many, pairs by a shorter way if the system
    knows one, and has to give the same to the last bit.
    """

    name: ClassVar[str]
    parameters_type: ClassVar[type]
    row_kinds: ClassVar[Sequence[str]] = ()
    # What is shown of a player who has not played, where the system shows anything.
    unplayed: ClassVar[Details | None] = None
    # Whether the rating of one player depends on games of others: then nothing short of all rows gives it.
    needs_all_games: ClassVar[bool] = False
    # Whether a player can start with a former system's figures.
    importable: ClassVar[bool] = True
    # Whether `expectation` says something.
    gives_chances: ClassVar[bool] = False

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        self.parameters = parameters
        self.context = context
        self.players: dict[str, PlayerRating] = {}

    @property
    def initial_rating(self) -> float:
        """Return the rating of a player without games."""
        return 0

    @abstractmethod
    def rate_general(self, game: Game, places: Sequence[int]) -> Verdict:
        """Rate any game from the ratings before it, and keep the ratings after it.

        `places` are those of `game.players`, in the same order. A game with a reason and no changes leaves
        every row as it was.
        """

    def rate_batch(self, games: Iterable[OpenedGame], notes: Notes) -> list[SystemChanges]:
        """Rate games one after the other, and add what there is to note."""
        rated: list[SystemChanges] = []
        for opened in games:
            self.rate_next(opened, rated, notes)
        return rated

    def rate_next(self, opened: OpenedGame, rated: list[SystemChanges], notes: Notes) -> None:
        """Rate the next game of a batch by the general way."""
        changes, note = self.rate_general(opened.game, opened.places)
        if note is not None:
            notes.setdefault(len(rated), []).append(note)
        rated.append(SystemChanges(self.name, changes))

    def ignored(self, reason: str) -> Verdict:
        """Return the verdict on a game that does not count, for a reason of `streams.core.events.REASONS`."""
        return (), Note(self.name, reason)

    @abstractmethod
    def start(self, imported: RatingImported) -> Change | str:
        """Start a player from a former system's figures, or return the reason why the import is ignored."""

    def ratings(self) -> list[tuple[str, float, int]]:
        """Return (player, rating, games) of everyone with a rating today, in no particular order."""
        # Without games, and not imported: all that the player played was taken back.
        return [
            (player_id, known.rating, known.games)
            for player_id, known in self.players.items()
            if known.games or not known.sequence
        ]

    def rating_at(self, player_id: str, moment: datetime) -> tuple[float, int]:  # noqa: ARG002 - for weeks
        """Return a player's rating and rated games, in a competition those of the moment's week."""
        known = self.players.get(player_id)
        return (self.initial_rating, 0) if known is None else (known.rating, known.games)

    def expectation(self, rating: float, other: float) -> float:
        """Return the chance that the system gives to the first of two ratings. Only where `gives_chances`."""
        raise NotImplementedError(f"{self.name} gives no chances ({rating!r} against {other!r})")

    def explain(self, game: Game, places: Sequence[int], player_id: str) -> Sequence[Step] | None:  # noqa: ARG002 - for those that do
        """Return the steps to a player's rating after a game, from the ratings before it.

        Ask before the game is rated; nothing changes by it. The last step's result is the rating after the
        game. Empty when the game does not count, for that player or at all, and None of a system that does
        not explain itself.
        """
        return None

    def renumber(self, player_id: str, week: str | None, sequence: int, rating: float) -> None:  # noqa: ARG002 - week is a competition's
        """Let a player's changes go on from a sequence number, after a correction; `rating` if there is none.

        `week` is None but for competitions.
        """
        known = self.players.get(player_id)
        if known is None:
            self.players[player_id] = PlayerRating(rating, 0, sequence)
        else:
            self.players[player_id] = PlayerRating(known.rating, known.games, sequence)

    @classmethod
    def player_of_row(cls, kind: str, key: str) -> str | None:
        """Return the player that an own row belongs to; None for a row of the whole ladder."""
        raise NotImplementedError(f"{cls.name} has no rows of kind {kind!r} ({key!r})")

    def load_row(self, kind: str, key: str, row: Any) -> None:
        """Take back a row of one of `row_kinds`, as `changed_rows` gave it out."""
        raise NotImplementedError(f"{self.name} has no rows of kind {kind!r} ({key!r}, {row!r})")

    def changed_rows(self) -> Iterator[tuple[str, str, JsonRow | None]]:
        """Yield (kind, key, row) of every own row changed since the last call; a None row is deleted.

        Parts of a key are joined with `row_keys.join_key`; the fold puts kind and ladder before it.
        """
        return iter(())

    def drop_changes(self) -> None:
        """Forget which own rows have changed, for a fold that stores none."""
        deque(self.changed_rows(), maxlen=0)


class Competition(System):
    """A system whose ratings last for a week, that of the game's end: weeks close, and have standings.

    A ladder has at most one.
    """

    @abstractmethod
    def close(self, label: str, *, final: bool) -> list[CompetitionClosed] | str:
        """Close a week, for good when `final`, and return what to publish, or why the closing is ignored."""

    @abstractmethod
    def due(self, now: datetime) -> list[WeekEnded]:
        """Return the records that should be on the log at `now`, until the fold has applied them."""

    @abstractmethod
    def overdue(self, now: datetime) -> float:
        """Return for how many seconds the first of the records that are `due` has been so; 0 without any."""

    @abstractmethod
    def amended(self) -> list[tuple[WeekEnded, int]]:
        """Return a record for each closed week whose standings were amended since they were published.

        With each comes the number of rows of the standings. On the log, the record publishes them.
        """

    @abstractmethod
    def standings(self, label: str) -> list[StandingsRow]:
        """Return the standings of a week that is not final, closed or not; empty when nobody played in it."""

    @abstractmethod
    def revise(self, label: str, revision: int) -> None:
        """Let a closed week's revisions go on from a number, unless the week is final."""

    def rating_at(self, player_id: str, moment: datetime) -> tuple[float, int]:
        """Return a player's points and games in the moment's week."""
        for row in self.standings(week_of(moment, self.context.timezone)):
            if row.player_id == player_id:
                return row.points, row.games
        return self.initial_rating, 0
