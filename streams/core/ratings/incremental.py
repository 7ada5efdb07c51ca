"""Systems in which a player has one rating, moved by each game.

Pure: no clock, no I/O.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from streams.core.events import Game, RatingImported
from streams.core.ratings.explanation import Step, balance, last_result
from streams.core.ratings.system import (
    Change,
    Details,
    LadderContext,
    Note,
    Notes,
    OpenedGame,
    PlayerRating,
    System,
    SystemChanges,
    Verdict,
)


@dataclass(frozen=True)
class SeenGame:
    """A game as one of its players sees it, with everybody's figures before it, in the order of the list.

    `position` is the player's in the list; `change` what the game makes of the rating.
    """

    game: Game
    places: Sequence[int]
    ratings: Sequence[float]
    games: Sequence[int]
    position: int
    change: float

    @property
    def rating(self) -> float:
        """Return the player's own rating before the game."""
        return self.ratings[self.position]

    def others(self) -> list[int]:
        """Return the positions of the others."""
        return [position for position in range(len(self.places)) if position != self.position]

    def name(self, position: int) -> str:
        """Return who is at a position."""
        return self.game.players[position]


class IncrementalSystem(System):
    """A system in which a player has one rating, moved by each game: subclasses give the arithmetic.

    It rates individuals, from `min_players` to `max_players` of them.
    """

    min_players: ClassVar[int]
    max_players: ClassVar[int]

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._start = PlayerRating(float(parameters.start), 0, 0)
        self._shows_details = type(self).details is not IncrementalSystem.details

    @property
    def initial_rating(self) -> float:
        """Return the rating that everyone starts with."""
        return float(self.parameters.start)

    @abstractmethod
    def changes(
        self, game: Game, places: Sequence[int], ratings: Sequence[float], games: Sequence[int]
    ) -> Sequence[float | None] | str:
        """Return each player's change from the `ratings` and numbers of rated `games` before this one.

        None for a player who is not rated (reason `left`); a reason instead of a list when nobody is.
        """

    @abstractmethod
    def pair_changes(
        self, opened: OpenedGame, rating_one: float, rating_two: float, games_one: int, games_two: int
    ) -> tuple[float, float] | None:
        """Return what `changes` gives for a pair, to the last bit, in half the time.

        None leaves what is rare to `changes`.
        """

    def details(self, before: float, after: float) -> Details | None:  # noqa: ARG002 - for those that show any
        """Return what the event shows beside the ratings; nothing by default."""
        return None

    def steps(self, seen: SeenGame) -> Sequence[Step] | None:  # noqa: ARG002 - for those that explain themselves
        """Return the steps to a player's change, the last one's result; None when the system has none."""
        return None

    def explain(self, game: Game, places: Sequence[int], player_id: str) -> Sequence[Step] | None:
        """Return the steps to a player's rating after a game, from the ratings before it."""
        if game.teams is not None or not self.min_players <= len(places) <= self.max_players:
            return ()
        known = [self.players.get(player, self._start) for player in game.players]
        ratings, games = [figures.rating for figures in known], [figures.games for figures in known]
        position = game.players.index(player_id)
        changes = self.changes(game, places, ratings, games)
        change = None if isinstance(changes, str) else changes[position]
        if change is None:
            return ()
        steps = self.steps(SeenGame(game, places, ratings, games, position, change))
        return None if steps is None else [*steps, balance(ratings[position], last_result(steps))]

    def rate_general(self, game: Game, places: Sequence[int]) -> Verdict:
        """Rate any game from the ratings before it, and keep the ratings after it."""
        if game.teams is not None:
            return self.ignored("teams")
        if not self.min_players <= len(places) <= self.max_players:
            return self.ignored("player-count")
        players = game.players
        known = [self.players.get(player_id, self._start) for player_id in players]
        changes = self.changes(
            game, places, [figures.rating for figures in known], [figures.games for figures in known]
        )
        if isinstance(changes, str):
            return self.ignored(changes)
        unrated = [player_id for player_id, change in zip(players, changes, strict=True) if change is None]
        rated = [
            self._move(player_id, figures, change)
            for player_id, figures, change in zip(players, known, changes, strict=True)
            if change is not None
        ]
        return rated, Note(self.name, "left", unrated) if unrated else None

    def rate_batch(self, games: Iterable[OpenedGame], notes: Notes) -> list[SystemChanges]:
        """Rate games one after the other, pairs by the shorter way."""
        rated: list[SystemChanges] = []
        name, start, pair_changes = self.name, self._start, self.pair_changes
        details = self.details if self._shows_details else None
        details_one = details_two = None
        known = self.players
        get = known.get
        for opened in games:
            one, two = opened.one, opened.two
            if one is None:
                self.rate_next(opened, rated, notes)
                continue
            figures_one = get(one, start)
            figures_two = get(two, start)
            before_one, games_one = figures_one.rating, figures_one.games
            before_two, games_two = figures_two.rating, figures_two.games
            changes = pair_changes(opened, before_one, before_two, games_one, games_two)
            if changes is None:
                self.rate_next(opened, rated, notes)
                continue
            after_one = before_one + changes[0]
            after_two = before_two + changes[1]
            sequence_one = figures_one.sequence + 1
            sequence_two = figures_two.sequence + 1
            known[one] = PlayerRating(after_one, games_one + 1, sequence_one)
            known[two] = PlayerRating(after_two, games_two + 1, sequence_two)
            if details is not None:
                details_one = details(before_one, after_one)
                details_two = details(before_two, after_two)
            pair = (
                Change(one, before_one, after_one, sequence_one, details_one),
                Change(two, before_two, after_two, sequence_two, details_two),
            )
            rated.append(SystemChanges(name, pair))
        return rated

    def start(self, imported: RatingImported) -> Change | str:
        """Start a player from a former system's figures, unless the player has games here already."""
        player_id, after, games = imported.player_id, imported.rating, imported.games
        if player_id in self.players:
            return "already-rated"
        before = self._start.rating
        # The sequence goes on from the imported games, so that it counts all of them: 1, 2, 3 …
        self.players[player_id] = PlayerRating(after, games, games)
        return Change(player_id, before, after, games, self.details(before, after))

    def _move(self, player_id: str, figures: PlayerRating, change: float) -> Change:
        before = figures.rating
        after = before + change
        sequence = figures.sequence + 1
        self.players[player_id] = PlayerRating(after, figures.games + 1, sequence)
        return Change(player_id, before, after, sequence, self.details(before, after))
