"""Tally: how well the ratings before a game told who would win it, system by system.

Every two players of a game (in team games every two teams) are one comparison. It counts when a system rated
both, their ratings before the game differed, and one finished ahead of the other; equal ratings predict
nothing, and a tie is neither right nor wrong. A game that somebody abandoned is left out: what its result
means differs from system to system.

Pure: standard library only.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from streams.core.events import Event, Game, RatingChanged, places
from streams.core.publications import Publication, written_out
from streams.core.rules import LadderRules

# What a system was sure of and did not happen would cost infinitely much; it costs 20.7.
_SUREST = 1e-9


@dataclass(slots=True)
class Score:
    """What one system of one ladder foretold: of `compared` comparisons the higher-rated won `right`.

    `loss` is the sum of -ln(chance given to what happened); None for a system that gives no chances.
    `tied` and `equal` were left out, for their result and for their ratings.
    """

    compared: int = 0
    right: int = 0
    tied: int = 0
    equal: int = 0
    loss: float | None = None

    @property
    def accuracy(self) -> float | None:
        """Return the part of the comparisons that the higher-rated won; None without any."""
        return self.right / self.compared if self.compared else None

    @property
    def log_loss(self) -> float | None:
        """Return the mean loss: 0 is all-knowing, 0.693 a coin; None without comparisons or chances."""
        return None if self.loss is None or not self.compared else self.loss / self.compared


class Tally:
    """Compares every game's result with the ratings before it."""

    def __init__(self, rules: Mapping[str, LadderRules]) -> None:
        self._systems = {
            (ladder, system.name): system
            for ladder, ladder_rules in rules.items()
            for system in ladder_rules.new_systems()
        }
        self.scores = {
            key: Score(loss=0.0 if system.gives_chances else None) for key, system in self._systems.items()
        }

    def add(self, event: Event, published: Sequence[Publication]) -> None:
        """Take an event and what the fold published of it."""
        if not isinstance(event, Game) or event.abandoned is not None:
            return
        before: dict[str, dict[str, float]] = {}
        for output in written_out(published):
            # What a correction changes is another game.
            if isinstance(output, RatingChanged) and output.game_id == event.game_id:
                before.setdefault(output.system, {})[output.player_id] = output.before
        for system, ratings in before.items():
            self._compare(event, system, ratings)

    def _compare(self, game: Game, system: str, ratings: Mapping[str, float]) -> None:
        score = self.scores[game.ladder, system]
        foretelling = self._systems[game.ladder, system]
        for (one, rank), (other, rank_other) in combinations(_sides(game, ratings), 2):
            if rank == rank_other:
                score.tied += 1
            elif one == other:
                score.equal += 1
            else:
                winner, loser = (one, other) if rank < rank_other else (other, one)
                score.compared += 1
                score.right += winner > loser
                if score.loss is not None:
                    score.loss -= math.log(max(foretelling.expectation(winner, loser), _SUREST))


def _sides(game: Game, ratings: Mapping[str, float]) -> Iterator[tuple[float, int]]:
    """Yield each side's rating before the game, a team's being the mean of its members', and its rank."""
    sides: dict[str, tuple[list[float], int]] = {}
    names = game.teams or game.players
    for player_id, side, place in zip(game.players, names, places(game) or (), strict=True):
        if player_id in ratings:
            sides.setdefault(side, ([], place))[0].append(ratings[player_id])
    for members, rank in sides.values():
        yield math.fsum(members) / len(members), rank


def tally_text(tally: Tally) -> str:
    """Show a tally as a table, ladders and systems in the order of the ladder file."""
    shown = {key: score for key, score in tally.scores.items() if score.compared or score.tied or score.equal}
    width = max([len("ladder"), *(len(ladder) for ladder, _ in shown)])
    lines = [
        f"{'ladder':<{width}}  system     compared  higher won  log-loss     tied  equally rated",
    ]
    for (ladder, system), score in shown.items():
        accuracy = "-" if score.accuracy is None else f"{100 * score.accuracy:.1f} %"
        loss = "-" if score.log_loss is None else f"{score.log_loss:.4f}"
        lines.append(
            f"{ladder:<{width}}  {system:<9}  {score.compared:>8}  {accuracy:>10}  {loss:>8}"
            f"  {score.tied:>7}  {score.equal:>13}"
        )
    return "\n".join(lines)
