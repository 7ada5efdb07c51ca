"""What a rating system is to the ladders fold: parameters, rows, and a verdict on each game.

Pure: standard library only, no clock, no I/O.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, ClassVar

from streams.model import Game, RatingImported

# How many players most games have.
PAIR = 2

JsonRow = Mapping[str, Any] | Sequence[Any]


# Plain tuples, of which a game makes many: those with names for their fields take five times as long.

# One player's id, rating before and after, sequence number, and what a system adds to the event (title, week,
# level) if it adds something.
Change = tuple[str, float, float, int, Mapping[str, Any] | None]

# What a system makes of a game: the changes; why it does not count, if it does not; the players for whom it
# does not when it counts for others; and the competition-closed of a week that the game amends, to be
# published after the changes.
Verdict = tuple[Sequence[Change], str | None, Sequence[str], Mapping[str, Any] | None]


def ignored(reason: str) -> Verdict:
    """Give the verdict on a game that does not count, for a reason of `streams.ladders.REASONS`."""
    return (), reason, (), None


@dataclass(slots=True)
class Standing:
    """A player's figures in one system.

    `games` are the rated games, imported ones included; `sequence` numbers the published changes. The two
    differ once a correction has been published.
    """

    rating: float
    games: int
    sequence: int


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
    """

    name: ClassVar[str]
    parameters_type: ClassVar[type]
    row_kinds: ClassVar[Sequence[str]] = ()

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        self.parameters = parameters
        self.context = context
        self.players: dict[str, Standing] = {}

    @abstractmethod
    def rate(self, game: Game, places: Sequence[int]) -> Verdict:
        """Rate a game from the standings before it, and keep the standings after it.

        `places` are those of `game.players`, in the same order. A game with a reason and no changes leaves
        every row as it was.
        """

    @abstractmethod
    def start(self, imported: RatingImported) -> Change | str:
        """Start a player from a former system's figures, or give the reason why the import is ignored."""

    def ratings(self) -> list[tuple[str, float, int]]:
        """Give (player, rating, games) of everyone with a rating today, in no particular order."""
        return [(player_id, s.rating, s.games) for player_id, s in self.players.items()]

    def renumber(self, player_id: str, week: str | None, sequence: int, rating: float) -> None:  # noqa: ARG002
        """Let a player's changes go on from a sequence number, after a correction; `rating` if there is none.

        `week` is None but for weekly competitions.
        """
        standing = self.players.get(player_id)
        if standing is None:
            self.players[player_id] = Standing(rating, 0, sequence)
        else:
            standing.sequence = sequence

    def load_row(self, kind: str, key: str, row: Any) -> None:
        """Take back a row of one of `row_kinds`, as `changed_rows` gave it out."""
        raise NotImplementedError(f"{self.name} has no rows of kind {kind!r} ({key!r}, {row!r})")

    def changed_rows(self) -> Iterator[tuple[str, str, JsonRow | None]]:
        """Yield (kind, key, row) of every own row changed since the last call; a None row is deleted.

        Parts of a key are joined with `streams.row_keys.join_key`; the fold puts kind and ladder before it.
        """
        return iter(())

    def drop_changes(self) -> None:
        """Forget which own rows have changed."""
        deque(self.changed_rows(), maxlen=0)


class Pool(System):
    """A system in which a player has one rating, moved by each game: subclasses give the arithmetic.

    It rates individuals, from `min_players` to `max_players` of them.
    """

    min_players: ClassVar[int]
    max_players: ClassVar[int]

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._start = float(parameters.start)
        self._shows_details = type(self).details is not Pool.details

    @abstractmethod
    def changes(
        self, game: Game, places: Sequence[int], ratings: Sequence[float], games: Sequence[int]
    ) -> Sequence[float | None] | str:
        """Give each player's change from the `ratings` and numbers of rated `games` before this one.

        None for a player who is not rated (reason `left`); a reason instead of a list when nobody is.
        """

    def details(self, before: float, after: float) -> Mapping[str, Any] | None:  # noqa: ARG002
        """Say what the event shows beside the ratings; nothing by default."""
        return None

    def rate(self, game: Game, places: Sequence[int]) -> Verdict:
        """Rate a game from the standings before it, and keep the standings after it."""
        if game.teams is not None:
            return ignored("teams")
        if not self.min_players <= len(places) <= self.max_players:
            return ignored("player-count")
        if len(places) == PAIR:
            return self._rate_pair(game, places)
        known = self.players
        standings = [known.get(player_id) or Standing(self._start, 0, 0) for player_id in game.players]
        ratings = [standing.rating for standing in standings]
        changes = self.changes(game, places, ratings, [standing.games for standing in standings])
        if isinstance(changes, str):
            return ignored(changes)
        return self._move(game, standings, changes)

    def _rate_pair(self, game: Game, places: Sequence[int]) -> Verdict:
        """Do what `rate` does, in half the time, for the usual game of two."""
        known = self.players
        one, two = game.players
        first = known.get(one) or Standing(self._start, 0, 0)
        second = known.get(two) or Standing(self._start, 0, 0)
        before_one, before_two = first.rating, second.rating
        changes = self.changes(game, places, (before_one, before_two), (first.games, second.games))
        if isinstance(changes, str):
            return ignored(changes)
        change_one, change_two = changes
        if change_one is None or change_two is None:
            return self._move(game, (first, second), changes)
        first.rating = after_one = before_one + change_one
        second.rating = after_two = before_two + change_two
        first.games += 1
        second.games += 1
        first.sequence = sequence_one = first.sequence + 1
        second.sequence = sequence_two = second.sequence + 1
        if sequence_one == 1:
            known[one] = first
        if sequence_two == 1:
            known[two] = second
        details_one = details_two = None
        if self._shows_details:
            details_one = self.details(before_one, after_one)
            details_two = self.details(before_two, after_two)
        return (
            (
                (one, before_one, after_one, sequence_one, details_one),
                (two, before_two, after_two, sequence_two, details_two),
            ),
            None,
            (),
            None,
        )

    def _move(self, game: Game, standings: Sequence[Standing], changes: Sequence[float | None]) -> Verdict:
        rated: list[Change] = []
        unrated = []
        for player_id, standing, change in zip(game.players, standings, changes, strict=True):
            if change is None:
                unrated.append(player_id)
                continue
            before = standing.rating
            standing.rating = after = before + change
            standing.games += 1
            standing.sequence += 1
            self.players[player_id] = standing
            rated.append((player_id, before, after, standing.sequence, self.details(before, after)))
        return rated, "left" if unrated else None, unrated, None

    def start(self, imported: RatingImported) -> Change | str:
        """Start a player from a former system's figures, unless the player has games here already."""
        if imported.player_id in self.players:
            return "already-rated"
        before = self._start
        # The sequence goes on from the imported games, so that it counts all of them: 1, 2, 3 …
        standing = Standing(imported.rating, imported.games, imported.games)
        self.players[imported.player_id] = standing
        details = self.details(before, standing.rating)
        return imported.player_id, before, standing.rating, standing.sequence, details
