"""Fundox: an Elo in which every loser pays the winner (seed 000).

Pure: standard library only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streams.core.events import Game
from streams.core.ratings.elo_steps import expected
from streams.core.ratings.explanation import Step, Value, message
from streams.core.ratings.incremental import IncrementalSystem, SeenGame
from streams.core.ratings.parameters import number
from streams.core.ratings.system import OpenedGame

MIN_PLAYERS = 2
MAX_PLAYERS = 4
# Beyond this exponent 10**x leaves the range of a float; the price is 0 to the last bit long before.
EXPONENT_LIMIT = 300.0

SHARED = message("First place was shared: nobody pays anybody.")
PAID = message("You won, {other} pays you: {stake} x (1 - {expected:.4f}) = {result:+.2f}.")
PAYS = message("You lost, and pay {other}: {stake} x (0 - {expected:.4f}) = {result:+.2f}.")
TOGETHER = message("Together: {parts:+.2f} = {result:+.2f}.")


@dataclass(frozen=True)
class Parameters:
    """Everyone starts at `start`; a loss to an equal costs half of `stake`; `scale` stretches differences."""

    start: float = number(1600.0)
    stake: float = number(16.0, 0.0)
    scale: float = number(800.0, 0.0, exclusive=True)


def price(winner: float, loser: float, parameters: Parameters) -> float:
    """Return what the loser pays the winner, in rating points: `stake / (1 + 10^((W - L) / scale))`."""
    exponent = (winner - loser) / parameters.scale
    if exponent > EXPONENT_LIMIT:
        return 0.0
    return float(parameters.stake / (1.0 + 10.0**exponent))


def changes(places: Sequence[int], ratings: Sequence[float], parameters: Parameters) -> list[float]:
    """Return each player's change: losers pay the sole winner, and nothing to each other.

    Nobody pays when first place is shared (our decision: the rule knows only payments to one winner). The
    winner's gain is summed exactly, so that the order of the players does not matter.
    """
    best = min(places)
    if places.count(best) > 1:
        return [0.0] * len(places)
    winner = places.index(best)
    rating = ratings[winner]
    paid = [-price(rating, loser, parameters) for loser in ratings]
    paid[winner] = 0.0
    paid[winner] = -math.fsum(paid)
    return paid


class Fundox(IncrementalSystem):
    """The fundox system on one ladder."""

    name = "fundox"
    parameters_type = Parameters
    min_players = MIN_PLAYERS
    max_players = MAX_PLAYERS
    gives_chances = True
    parameters: Parameters

    def changes(
        self,
        game: Game,  # noqa: ARG002 - nor quitters
        places: Sequence[int],
        ratings: Sequence[float],
        games: Sequence[int],  # noqa: ARG002 - the price knows no newcomers
    ) -> Sequence[float | None] | str:
        """Return each player's change, or why the game does not count."""
        return changes(places, ratings, self.parameters)

    def pair_changes(
        self,
        opened: OpenedGame,
        rating_one: float,
        rating_two: float,
        games_one: int,  # noqa: ARG002 - the price knows no newcomers
        games_two: int,  # noqa: ARG002 - as above
    ) -> tuple[float, float] | None:
        """Return what `changes` gives for a pair."""
        if opened.place_one < opened.place_two:
            paid = price(rating_one, rating_two, self.parameters)
            return paid, -paid
        if opened.place_one > opened.place_two:
            paid = price(rating_two, rating_one, self.parameters)
            return -paid, paid
        return 0.0, 0.0

    def steps(self, seen: SeenGame) -> Sequence[Step]:
        """Return the steps to a player's change.

        What a loss costs is `stake / (1 + 10^((W - L) / scale))`, which is the stake times what was not
        expected of the winner.
        """
        best = min(seen.places)
        winners = [position for position, place in enumerate(seen.places) if place == best]
        if len(winners) > 1:
            return [Step(SHARED, result=0.0)]
        if winners != [seen.position]:
            return self._against(seen, winners[0], PAYS, -1.0)
        steps = [step for other in seen.others() for step in self._against(seen, other, PAID, 1.0)]
        parts = [step.result for step in steps if step.message == PAID and step.result is not None]
        return steps if len(parts) == 1 else [*steps, Step(TOGETHER, {"parts": parts}, math.fsum(parts))]

    def _against(self, seen: SeenGame, other: int, text: str, sign: float) -> list[Step]:
        """Return the steps to what one opponent pays (sign 1), or is paid (-1)."""
        stake, scale = self.parameters.stake, self.parameters.scale
        rating, opponent, name = seen.rating, seen.ratings[other], seen.name(other)
        likely = self.expectation(rating, opponent)
        winner, loser = (rating, opponent) if sign > 0 else (opponent, rating)
        values: dict[str, Value] = {
            "other": name,
            "stake": stake,
            "expected": likely,
            "scale": scale,
            "gap": winner - loser,
        }
        paid = sign * price(winner, loser, self.parameters)
        return [expected(name, rating, opponent, scale, likely), Step(text, values, paid)]

    def expectation(self, rating: float, other: float) -> float:
        """Return what the price says of winning: `1 / (1 + 10^((B - A) / scale))`."""
        exponent = min((other - rating) / self.parameters.scale, EXPONENT_LIMIT)
        return float(1.0 / (1.0 + 10.0**exponent))
