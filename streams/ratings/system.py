"""What a rating system is to the ladders fold: parameters, rows, and a verdict on each game.

Pure: standard library only, no clock, no I/O.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, ClassVar, NamedTuple

from streams.model import Game, RatingImported

_new = tuple.__new__

JsonRow = Mapping[str, Any] | Sequence[Any]


class Change(NamedTuple):
    """One player's rating before and after, with what a system adds to the event (title, week, level)."""

    player_id: str
    before: float
    after: float
    sequence: int
    details: Mapping[str, Any] | None = None


class Verdict(NamedTuple):
    """What a system makes of a game: the changes, or why it does not count.

    `reason` with changes means that it counted for some players only; `players` are the others. `closing`
    is the competition-closed of a week that the game amends, to be published after the changes.
    """

    changes: Sequence[Change]
    reason: str | None = None
    players: Sequence[str] = ()
    closing: Mapping[str, Any] | None = None


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
    def rate(self, game: Game, ranks: Sequence[int]) -> Verdict:
        """Rate a game from the standings before it, and keep the standings after it.

        `ranks` are those of `game.players`, in the same order. A game with a reason and no changes leaves
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
        self, game: Game, ranks: Sequence[int], ratings: Sequence[float], games: Sequence[int]
    ) -> Sequence[float | None] | str:
        """Give each player's change from the `ratings` and numbers of rated `games` before this one.

        None for a player who is not rated (reason `left`); a reason instead of a list when nobody is.
        """

    def details(self, before: float, after: float) -> Mapping[str, Any] | None:  # noqa: ARG002
        """Say what the event shows beside the ratings; nothing by default."""
        return None

    def rate(self, game: Game, ranks: Sequence[int]) -> Verdict:
        """Rate a game from the standings before it, and keep the standings after it."""
        if game.teams:
            return Verdict((), "teams")
        if not self.min_players <= len(ranks) <= self.max_players:
            return Verdict((), "player-count")
        known = self.players
        standings = []
        ratings = []
        games = []
        for player in game.players:
            standing = known.get(player.player_id)
            if standing is None:
                standing = Standing(self._start, 0, 0)
            standings.append(standing)
            ratings.append(standing.rating)
            games.append(standing.games)
        changes = self.changes(game, ranks, ratings, games)
        if isinstance(changes, str):
            return Verdict((), changes)
        shows_details = self._shows_details
        rated = []
        unrated = []
        for player, standing, before, change in zip(game.players, standings, ratings, changes, strict=True):
            player_id = player.player_id
            if change is None:
                unrated.append(player_id)
                continue
            standing.rating = after = before + change
            standing.games += 1
            standing.sequence = sequence = standing.sequence + 1
            known[player_id] = standing
            details = self.details(before, after) if shows_details else None
            # A NamedTuple's own constructor takes three times as long.
            rated.append(_new(Change, (player_id, before, after, sequence, details)))
        if unrated:
            return Verdict(rated, "left", unrated)
        return Verdict(rated)

    def start(self, imported: RatingImported) -> Change | str:
        """Start a player from a former system's figures, unless the player has games here already."""
        if imported.player_id in self.players:
            return "already-rated"
        before = self._start
        # The sequence goes on from the imported games, so that it counts all of them: 1, 2, 3 …
        standing = Standing(imported.rating, imported.games, imported.games)
        self.players[imported.player_id] = standing
        return Change(
            imported.player_id,
            before,
            standing.rating,
            standing.sequence,
            self.details(before, standing.rating),
        )
