"""A ladderlog with one system more, invented here: one module and one line of registration.

Run as a program it is the command line, as `python -m streams` is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streams.cli.main import main
from streams.core.events import Game, RatingImported
from streams.core.ratings import SYSTEMS
from streams.core.ratings.parameters import number
from streams.core.ratings.system import Change, PlayerRating, System, Verdict


@dataclass(frozen=True)
class Parameters:
    """What a game won in a row is worth."""

    worth: float = number(10.0, 0.0)


class Streak(System):
    """A player's rating is the worth of the games won in a row up to now."""

    name = "streak"
    parameters_type = Parameters
    parameters: Parameters

    def rate_general(self, game: Game, places: Sequence[int]) -> Verdict:
        """Rate any game: one more for the sole winner, nothing left for the others."""
        if game.teams is not None:
            return self.ignored("teams")
        best = min(places)
        changes = []
        for player_id, place in zip(game.players, places, strict=True):
            known = self.players.get(player_id, PlayerRating(0.0, 0, 0))
            won = place == best and places.count(best) == 1
            after = known.rating + self.parameters.worth if won else 0.0
            self.players[player_id] = PlayerRating(after, known.games + 1, known.sequence + 1)
            changes.append(Change(player_id, known.rating, after, known.sequence + 1))
        return changes, None

    def start(self, imported: RatingImported) -> Change | str:
        """Start a player with a streak from elsewhere."""
        if imported.player_id in self.players:
            return "already-rated"
        self.players[imported.player_id] = PlayerRating(imported.rating, imported.games, imported.games)
        return Change(imported.player_id, 0.0, imported.rating, imported.games)


SYSTEMS[Streak.name] = Streak

if __name__ == "__main__":
    main()
