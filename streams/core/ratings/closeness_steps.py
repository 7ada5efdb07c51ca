"""The steps to a rating of closeness: this game's score, all others under the same averages, their quotient.

Pure: standard library only.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from streams.core.ratings.closeness_rules import (
    FIRST,
    NOTHING_AT,
    PER_AVERAGE,
    TIE_BREAK,
    UNITS,
    distance,
    reach_of,
    winning_points,
)
from streams.core.ratings.explanation import Step, Value, message

MOVED_SINCE = message(
    "Your last published rating was {before:.2f}. The games of others have moved the averages since: just "
    "before this game yours was {result:.2f}."
)
CAME_FIRST = message("You came first: {points} x {players} players = {result}.")
AS_MANY_POINTS = message(
    "You made {made}, no less than the winner ({winning}), and came behind: {points} x {players} players = "
    "{result}."
)
NOTHING_TO_REACH = message("The winner made {winning}, and you less than that, {made}: {result}.")
DISTANCE = message("You made {made} and the winner {winning}: your distance is {result:.4f}.")
AVERAGE = message(
    "The average distance of the losers of {game_type}, this game included, is {result:.4f} (of {losers})."
)
SCORE = message(
    "This game scores ({points} - {step} x {distance:.4f} / {average:.4f}) x {players} players = "
    "{result:.2f}."
)
SCORE_NOTHING = message(
    "That is three times the average or more: {points} - {step} x {distance:.4f} / {average:.4f} counts as 0."
)
MOVING = message(
    "Your scores for lost games of {game_type}, each times its players: {step} x ({three} x {players} - "
    "{behind:.4f} / {average:.4f}) = {result:.2f}."
)
FIXED = message("Your scores for first places and ties, which no average moves: {result}.")
FIXED_MORE = message(
    "Your scores for first places and ties, which no average moves: {before} + {own} = {result}."
)
TOGETHER = message("All your scores: {parts:+.2f} = {result:.2f}.")
RATING = message("Your rating: 100 x {total:.2f} / ({handicap} + {possible} possible) = {result:.2f}.")

# The sum of numbers of players, and of these times the distances in units.
Sums = tuple[int, int]


class Average(NamedTuple):
    """The losing distances of a game type: their sum in units, and how many they are."""

    total: int
    losers: int

    @property
    def reach(self) -> int:
        """Return the furthest distance, in units, that still scores."""
        return reach_of(self.total, self.losers)

    @property
    def mean(self) -> Fraction:
        """Return the average distance."""
        return Fraction(self.total, self.losers * int(UNITS))


@dataclass(frozen=True)
class Own:
    """A player's own part of the game; `average` is that of the game type with the game in it, if any."""

    game_type: str
    players: int
    is_first: bool
    made: float
    winning: float
    average: Average | None

    @classmethod
    def of(
        cls,
        game_type: str,
        points: Sequence[float],
        places: Sequence[int],
        position: int,
        before: Average | None,
    ) -> "Own":
        """Return the part of the player at a position; `before` is the average up to the game, if any."""
        winning, first = winning_points(points, places), min(places)
        average = before if before is not None and before.losers else None
        if winning > 0:
            behind = [
                int(distance(made, winning) * UNITS)
                for made, place in zip(points, places, strict=True)
                if place != first
            ]
            total, losers = average or (0, 0)
            if behind:
                average = Average(total + sum(behind), losers + len(behind))
        return cls(game_type, len(points), places[position] == first, points[position], winning, average)

    @property
    def distance(self) -> float:
        """Return how far the player is behind the winner; 0 for who came first, or with as many points."""
        return 0.0 if self.is_first or self.winning <= 0 else distance(self.made, self.winning)

    @property
    def fixed(self) -> int:
        """Return what of the game's score no average moves."""
        if self.is_first:
            return FIRST * self.players
        return 0 if self.distance or self.made < self.winning else TIE_BREAK * self.players


@dataclass(frozen=True)
class Scored:
    """All that a player had scored before the game.

    `sums` are those of the results that score under the `averages` with the game in them, both by game type;
    `published` and `just_before` the rating last published, and the one right before the game.
    """

    fixed: int
    possible: int
    sums: Mapping[str, Sums]
    averages: Mapping[str, Average]
    published: float
    just_before: float
    handicap: float


def steps(own: Own, scored: Scored) -> list[Step]:
    """Return the steps to the rating after the game."""
    made: list[Step] = []
    if round(scored.just_before, 2) != round(scored.published, 2):
        made.append(Step(MOVED_SINCE, {"before": scored.published}, scored.just_before))
    made += _own_steps(own)
    fixed = scored.fixed + own.fixed
    if own.fixed and scored.fixed:
        made.append(Step(FIXED_MORE, {"before": scored.fixed, "own": own.fixed}, fixed))
    else:
        made.append(Step(FIXED, {"before": scored.fixed, "own": own.fixed}, fixed))
    moving = [
        _moving_step(game_type, weight, product, scored.averages[game_type])
        for game_type, (weight, product) in _all_sums(own, scored).items()
        if weight
    ]
    made += moving
    parts = [fixed, *(step.result for step in moving if step.result is not None)]
    total = math.fsum(parts)
    made.append(Step(TOGETHER, {"parts": parts}, total))
    possible = scored.possible + FIRST * own.players
    made.append(
        Step(
            RATING,
            {"total": total, "handicap": scored.handicap, "possible": possible},
            100.0 * total / (scored.handicap + possible),
        )
    )
    return made


def _own_steps(own: Own) -> list[Step]:
    """Return the steps to what this game scores by itself."""
    made = {"made": own.made, "winning": own.winning}
    if own.is_first:
        return [Step(CAME_FIRST, {"points": FIRST, "players": own.players}, own.fixed)]
    behind, average = own.distance, own.average
    if not behind or average is None:
        if own.fixed:
            return [Step(AS_MANY_POINTS, {**made, "points": TIE_BREAK, "players": own.players}, own.fixed)]
        return [Step(NOTHING_TO_REACH, made, 0)]
    quotient = float(Fraction(behind) / average.mean)
    values: dict[str, Value] = {
        "points": TIE_BREAK,
        "step": PER_AVERAGE,
        "players": own.players,
        "distance": behind,
        "average": average.mean,
    }
    scores = int(behind * UNITS) <= average.reach
    return [
        Step(DISTANCE, made, behind),
        Step(AVERAGE, {"game_type": own.game_type, "losers": average.losers}, average.mean),
        Step(SCORE, values, (TIE_BREAK - PER_AVERAGE * quotient) * own.players)
        if scores
        else Step(SCORE_NOTHING, values, 0),
    ]


def _all_sums(own: Own, scored: Scored) -> dict[str, Sums]:
    """Return the sums by game type, with the game's own result in them when it scores."""
    sums = dict(scored.sums)
    units = int(own.distance * UNITS)
    if units and own.average is not None and units <= own.average.reach:
        weight, product = sums.get(own.game_type, (0, 0))
        sums[own.game_type] = weight + own.players, product + units * own.players
    return sums


def _moving_step(game_type: str, weight: int, product: int, average: Average) -> Step:
    """Return the step to what all results of a game type score: the quotient is correctly rounded."""
    behind = Fraction(product, int(UNITS))
    values: dict[str, Value] = {
        "game_type": game_type,
        "step": PER_AVERAGE,
        "three": NOTHING_AT,
        "players": weight,
        "behind": behind,
        "average": average.mean,
    }
    return Step(MOVING, values, PER_AVERAGE * (NOTHING_AT * weight - float(behind / average.mean)))
