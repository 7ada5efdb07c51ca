"""What a rating system is to the ladders fold: parameters, rows, and a verdict on each game.

Pure: standard library only, no clock, no I/O.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, ClassVar

from streams.core.events import Game, RatingImported

JsonRow = Mapping[str, Any] | Sequence[Any]


# Plain tuples, of which a game makes many: those with names for their fields take five times as long.

# What a system may show of a player beside the ratings: the week, the level after the game and before it, the
# title after it and before it; None for what it has not.
Details = tuple[str | None, int | None, int | None, str | None, str | None]

# One player's id, rating before and after, sequence number, and the details, if the system shows any.
Change = tuple[str, float, float, int, Details | None]

# What a system says of a game beside the changes: why it does not count, if it does not; the players for whom
# it does not when it counts for others; and the competition-closed of a week that the game amends, to be
# published after the changes.
Note = tuple[str | None, Sequence[str], Mapping[str, Any] | None]

# What a system makes of a game: the changes, and a note if there is something to say.
Verdict = tuple[Sequence[Change], Note | None]


def ignored(reason: str) -> Verdict:
    """Give the verdict on a game that does not count, for a reason of `streams.core.ladders.REASONS`."""
    return (), (reason, (), None)


# A system's name and the changes it makes of a game; none when it does not count.
Rated = tuple[str, Sequence[Change]]

# Notes on games, with the names of the systems that made them, by the games' places in a sequence.
Notes = dict[int, list[tuple[str, Note]]]

# A player's figures in one system: the rating, the rated games, imported ones included, and the sequence
# number of the last published change. The last two differ once a correction has been published.
PlayerRating = tuple[float, int, int]

# A game with a result, opened once for all systems. First what the usual game needs, that of two individuals
# who both stayed to the end: their ids (None for the first when it is any other game) and places, everybody's
# points if everybody has some, the game type, the end in seconds since 1970. Then the game, and all places.
OpenedGame = tuple[str | None, str, int, int, Sequence[float] | None, str | None, float, Game, Sequence[int]]


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
        self.players: dict[str, PlayerRating] = {}

    @abstractmethod
    def rate(self, game: Game, places: Sequence[int]) -> Verdict:
        """Rate a game from the standings before it, and keep the standings after it.

        `places` are those of `game.players`, in the same order. A game with a reason and no changes leaves
        every row as it was.
        """

    def rate_all(self, opened: Iterable[OpenedGame], notes: Notes) -> list[Rated]:
        """Rate games one after the other, each as `rate` does, and add what there is to note.

        A system that knows a shorter way for the usual game takes it here, and leaves the others to `rate`.
        """
        found: list[Rated] = []
        for *_, game, places in opened:
            self.rate_unusual(game, places, found, notes)
        return found

    def rate_unusual(self, game: Game, places: Sequence[int], found: list[Rated], notes: Notes) -> None:
        """Rate the next game by way of `rate`."""
        changes, note = self.rate(game, places)
        if note is not None:
            notes.setdefault(len(found), []).append((self.name, note))
        found.append((self.name, changes))

    @abstractmethod
    def start(self, imported: RatingImported) -> Change | str:
        """Start a player from a former system's figures, or give the reason why the import is ignored."""

    def ratings(self) -> list[tuple[str, float, int]]:
        """Give (player, rating, games) of everyone with a rating today, in no particular order."""
        return [(player_id, rating, games) for player_id, (rating, games, _) in self.players.items()]

    def renumber(self, player_id: str, week: str | None, sequence: int, rating: float) -> None:  # noqa: ARG002
        """Let a player's changes go on from a sequence number, after a correction; `rating` if there is none.

        `week` is None but for weekly competitions.
        """
        rating, games, _ = self.players.get(player_id, (rating, 0, sequence))
        self.players[player_id] = rating, games, sequence

    def load_row(self, kind: str, key: str, row: Any) -> None:
        """Take back a row of one of `row_kinds`, as `changed_rows` gave it out."""
        raise NotImplementedError(f"{self.name} has no rows of kind {kind!r} ({key!r}, {row!r})")

    def changed_rows(self) -> Iterator[tuple[str, str, JsonRow | None]]:
        """Yield (kind, key, row) of every own row changed since the last call; a None row is deleted.

        Parts of a key are joined with `row_keys.join_key`; the fold puts kind and ladder before it.
        """
        return iter(())

    def drop_changes(self) -> None:
        """Forget which own rows have changed."""
        deque(self.changed_rows(), maxlen=0)


class IncrementalSystem(System):
    """A system in which a player has one rating, moved by each game: subclasses give the arithmetic.

    It rates individuals, from `min_players` to `max_players` of them.
    """

    min_players: ClassVar[int]
    max_players: ClassVar[int]

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._start: PlayerRating = (float(parameters.start), 0, 0)
        self._shows_details = type(self).details is not IncrementalSystem.details

    @abstractmethod
    def changes(
        self, game: Game, places: Sequence[int], ratings: Sequence[float], games: Sequence[int]
    ) -> Sequence[float | None] | str:
        """Give each player's change from the `ratings` and numbers of rated `games` before this one.

        None for a player who is not rated (reason `left`); a reason instead of a list when nobody is.
        """

    @abstractmethod
    def duel(
        self,
        place: int,
        place_other: int,
        points: Sequence[float] | None,
        rating: float,
        rating_other: float,
        games: int,
        games_other: int,
    ) -> tuple[float, float] | None:
        """Give what `changes` gives for two individuals who stayed, to the last bit, in half the time.

        None leaves what is rare to `changes`.
        """

    def details(self, before: float, after: float) -> Details | None:  # noqa: ARG002
        """Say what the event shows beside the ratings; nothing by default."""
        return None

    def rate(self, game: Game, places: Sequence[int]) -> Verdict:
        """Rate a game from the standings before it, and keep the standings after it."""
        if game.teams is not None:
            return ignored("teams")
        if not self.min_players <= len(places) <= self.max_players:
            return ignored("player-count")
        players = game.players
        standings = [self.players.get(player_id, self._start) for player_id in players]
        ratings, games, _ = zip(*standings, strict=True)
        changes = self.changes(game, places, ratings, games)
        if isinstance(changes, str):
            return ignored(changes)
        unrated = [player_id for player_id, change in zip(players, changes, strict=True) if change is None]
        rated = [
            self._move(player_id, standing, change)
            for player_id, standing, change in zip(players, standings, changes, strict=True)
            if change is not None
        ]
        return rated, ("left", unrated, None) if unrated else None

    def rate_all(self, opened: Iterable[OpenedGame], notes: Notes) -> list[Rated]:
        """Rate games one after the other: the usual ones without further ado."""
        found: list[Rated] = []
        name, start, duel = self.name, self._start, self.duel
        details = self.details if self._shows_details else None
        details_one = details_two = None
        known = self.players
        find = known.get
        for one, two, place_one, place_two, points, _, _, game, places in opened:
            if one is None:
                self.rate_unusual(game, places, found, notes)
                continue
            before_one, games_one, sequence_one = find(one, start)
            before_two, games_two, sequence_two = find(two, start)
            changes = duel(place_one, place_two, points, before_one, before_two, games_one, games_two)
            if changes is None:
                self.rate_unusual(game, places, found, notes)
                continue
            change_one, change_two = changes
            after_one = before_one + change_one
            after_two = before_two + change_two
            sequence_one += 1
            sequence_two += 1
            known[one] = after_one, games_one + 1, sequence_one
            known[two] = after_two, games_two + 1, sequence_two
            if details is not None:
                details_one = details(before_one, after_one)
                details_two = details(before_two, after_two)
            pair = (
                (one, before_one, after_one, sequence_one, details_one),
                (two, before_two, after_two, sequence_two, details_two),
            )
            found.append((name, pair))
        return found

    def start(self, imported: RatingImported) -> Change | str:
        """Start a player from a former system's figures, unless the player has games here already."""
        player_id, after, games = imported.player_id, imported.rating, imported.games
        if player_id in self.players:
            return "already-rated"
        before, _, _ = self._start
        # The sequence goes on from the imported games, so that it counts all of them: 1, 2, 3 …
        self.players[player_id] = after, games, games
        return player_id, before, after, games, self.details(before, after)

    def _move(self, player_id: str, standing: PlayerRating, change: float) -> Change:
        before, games, sequence = standing
        after = before + change
        self.players[player_id] = after, games + 1, sequence + 1
        return player_id, before, after, sequence + 1, self.details(before, after)
