"""Points: the share of the points made, against the share the ratings expect (seed 001).

Pure: standard library only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from streams.core.events import Game
from streams.core.ratings.explanation import Step, Value, last_result, message
from streams.core.ratings.incremental import IncrementalSystem, SeenGame
from streams.core.ratings.parameters import number
from streams.core.ratings.system import LadderContext, OpenedGame

MIN_PLAYERS = 2
MAX_PLAYERS = 4
# Of so many numbers of games the weight is kept, once it was computed.
_KEPT_WEIGHTS = 4096

# Points above this, and below one by it, have squares that can be told apart.
_SQUARABLE = 1e-100

SHARE = message("Your part of the squared points: {square} / ({squares:+}) = {result:.4f}.")
SHARE_NEGATIVE = message(
    "Your part of the squared points, negative ones as 0: {square} / ({squares:+}) = {result:.4f}."
)
SHARE_EVEN = message(
    "Nobody made points above 0; who made none below it has an equal part. Yours: {result:.4f}."
)
EXPECTED = message("Expected, your part of the ratings: {rating:.1f} / ({all:+.1f}) = {result:.4f}.")
EXPECTED_EVEN = message("Nobody has a rating above 0. Expected, an equal part: {result:.4f}.")
AT_STAKE = message(
    "At stake after {games} rated games: {base} + {newcomer} x e^(-{fade} x {games}) = {result:.4f} of your "
    "rating."
)
CHANGE = message("({share:.4f} - {expected:.4f}) x {rating:.2f} x {weight:.4f} = {result:+.2f}.")
FLOOR = message("A rating does not fall below 0: {result:+.2f}.")
QUIT = message("You abandoned, and cannot gain: {result:+.2f}.")
QUIT_BY_OTHER = message("An opponent abandoned, and you cannot lose: {result:+.2f}.")
QUIT_BY_BOTH = message("You abandoned and so did an opponent: you neither gain nor lose: {result:+.2f}.")


@dataclass(frozen=True)
class Parameters:
    """Everyone starts at `start`; `base + newcomer * e^(-fade * games)` of the rating is at stake."""

    start: float = number(1000.0, 0.0, exclusive=True)
    base: float = number(0.1, 0.0)
    newcomer: float = number(0.2, 0.0)
    fade: float = number(0.1, 0.0)


def weight(games: int, parameters: Parameters) -> float:
    """Return the part of the own rating that is at stake after so many rated games (seed 001: Am)."""
    return parameters.base + parameters.newcomer * math.exp(-parameters.fade * games)


def shares(points: Sequence[float]) -> list[float]:
    """Return each player's share of the squared points; negative points count as 0 (seed 001, cases 2 and 3).

    Nobody above 0: those without negative points share equally (our decision: the limit of a tie). Points are
    taken relative to the most, so that no square leaves the range of a float.
    """
    most = max(points)
    if most <= 0:
        even = sum(made >= 0 for made in points)
        return [1.0 / even if made >= 0 else 0.0 for made in points]
    relative = [made / most if made > 0 else 0.0 for made in points]
    squares = [part * part for part in relative]
    total = math.fsum(squares)
    return [square / total for square in squares]


def expectations(ratings: Sequence[float]) -> list[float]:
    """Return each player's expected share: that of the ratings, none of them below 0.

    Equal shares when nobody has a rating above 0, which only imports can bring about (our decision).
    """
    total = math.fsum(ratings)
    if total <= 0:
        return [1.0 / len(ratings)] * len(ratings)
    return [rating / total for rating in ratings]


def changes(
    points: Sequence[float], ratings: Sequence[float], games: Sequence[int], parameters: Parameters
) -> list[float]:
    """Return each player's change, as if nobody had abandoned the game; it never takes a rating below 0.

    A rating below 0, which only an import can give, counts as 0 and stays where it is.
    """
    counted = [rating if rating > 0 else 0.0 for rating in ratings]
    return [
        # A base above 1 could otherwise cost more than there is.
        max((share - expected) * rating * weight(played, parameters), -rating)
        for share, expected, rating, played in zip(
            shares(points), expectations(counted), counted, games, strict=True
        )
    ]


def clipped(changes: Sequence[float], abandoned: Sequence[bool]) -> list[float]:
    """Return the changes after abandoning: who did cannot gain, who has an opponent who did cannot lose.

    Of two who both abandoned neither gains nor loses: each has an opponent who abandoned (seed 001).
    """
    quitters = sum(abandoned)
    limited = []
    for change, quitter in zip(changes, abandoned, strict=True):
        least = 0.0 if quitters > quitter else change
        limited.append(min(max(change, least), 0.0) if quitter else max(change, least))
    return limited


class Points(IncrementalSystem):
    """The points system on one ladder."""

    name = "points"
    parameters_type = Parameters
    min_players = MIN_PLAYERS
    max_players = MAX_PLAYERS
    gives_chances = True
    parameters: Parameters

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._weight = lru_cache(_KEPT_WEIGHTS)(partial(weight, parameters=self.parameters))

    def changes(
        self,
        game: Game,
        places: Sequence[int],  # noqa: ARG002 - only points decide
        ratings: Sequence[float],
        games: Sequence[int],
    ) -> Sequence[float | None] | str:
        """Return each player's change, or why the game does not count."""
        points = game.points
        if points is None:
            return "no-points"
        unclipped = changes(points, ratings, games, self.parameters)
        return unclipped if game.abandoned is None else clipped(unclipped, game.abandoned)

    def pair_changes(
        self, opened: OpenedGame, rating_one: float, rating_two: float, games_one: int, games_two: int
    ) -> tuple[float, float] | None:
        """Return what `changes` gives for a pair with ratings and points above 0 to share."""
        if opened.points is None:
            return None
        made_one, made_two = opened.points
        most = made_one if made_one >= made_two else made_two  # noqa: FURB136 - max takes as long as the rest
        total = rating_one + rating_two
        if rating_one < 0 or rating_two < 0 or most <= 0 or total <= 0:
            return None
        share_one = made_one / most if made_one > 0 else 0.0
        share_two = made_two / most if made_two > 0 else 0.0
        share_one *= share_one
        share_two *= share_two
        squares = share_one + share_two
        change_one = (share_one / squares - rating_one / total) * rating_one * self._weight(games_one)
        change_two = (share_two / squares - rating_two / total) * rating_two * self._weight(games_two)
        return (
            change_one if change_one >= -rating_one else -rating_one,  # noqa: FURB136 - as above
            change_two if change_two >= -rating_two else -rating_two,  # noqa: FURB136 - as above
        )

    def steps(self, seen: SeenGame) -> Sequence[Step]:
        """Return the steps to a player's change."""
        points = seen.game.points or ()
        position, most = seen.position, max(points)
        text = SHARE_EVEN if most <= 0 else SHARE_NEGATIVE if min(points) < 0 else SHARE
        share = shares(points)[position]
        # Of points whose squares leave the range of a float, their parts of the most, as in `shares`.
        unit = 1.0 if most <= 0 or _SQUARABLE < most < 1 / _SQUARABLE else most
        squared = [max(made / unit, 0.0) ** 2.0 for made in points]
        squares: dict[str, Value] = {"square": squared[position], "squares": squared}
        counted = [max(rating, 0.0) for rating in seen.ratings]
        likely = expectations(counted)[position]
        played, parameters = seen.games[position], self.parameters
        part = weight(played, parameters)
        fading = {"base": parameters.base, "newcomer": parameters.newcomer, "fade": parameters.fade}
        rating = counted[position]
        change = (share - likely) * rating * part
        parts = {"share": share, "expected": likely, "rating": rating, "weight": part}
        steps = [
            Step(text, {"points": points[position], "all": list(points), **squares}, share),
            Step(EXPECTED if max(counted) > 0 else EXPECTED_EVEN, {"rating": rating, "all": counted}, likely),
            Step(AT_STAKE, {"games": played, **fading}, part),
            Step(CHANGE, parts, change),
        ]
        if change < -rating:
            steps.append(Step(FLOOR, {"rating": rating}, -rating))
        return [*steps, *_clipping(seen, last_result(steps))]

    def expectation(self, rating: float, other: float) -> float:
        """Return the expected part of the squared points, taken for the chance to win: `A / (A + B)`."""
        return expectations([max(rating, 0.0), max(other, 0.0)])[0]


def _clipping(seen: SeenGame, change: float) -> list[Step]:
    """Return the step from a change to what abandoning leaves of it; none when it leaves all."""
    abandoned = seen.game.abandoned
    if abandoned is None or change == seen.change:
        return []
    values = {"change": change}
    if not abandoned[seen.position]:
        return [Step(QUIT_BY_OTHER, values, max(change, 0.0))]
    if sum(abandoned) == 1:
        return [Step(QUIT, values, min(change, 0.0))]
    return [Step(QUIT_BY_BOTH, values, 0.0)]
