"""Points: the share of the points made, against the share the ratings expect (seed 001).

Pure: standard library only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from streams.core.events import Game
from streams.core.ratings.parameters import number
from streams.core.ratings.system import IncrementalSystem, LadderContext

MIN_PLAYERS = 2
MAX_PLAYERS = 4
# Of so many numbers of games the weight is kept, once it was computed.
_KEPT_WEIGHTS = 4096


@dataclass(frozen=True)
class Parameters:
    """Everyone starts at `start`; `base + newcomer * e^(-fade * games)` of the rating is at stake."""

    start: float = number(1000.0, 0.0, exclusive=True)
    base: float = number(0.1, 0.0)
    newcomer: float = number(0.2, 0.0)
    fade: float = number(0.1, 0.0)


def weight(games: int, parameters: Parameters) -> float:
    """Give the part of the own rating that is at stake after so many rated games (seed 001: Am)."""
    return parameters.base + parameters.newcomer * math.exp(-parameters.fade * games)


def shares(points: Sequence[float]) -> list[float]:
    """Give each player's share of the squared points; negative points count as 0 (seed 001, cases 2 and 3).

    Nobody above 0: those without negative points share equally (our decision: the limit of a tie). Points are
    taken relative to the most, so that no square leaves the range of a float.
    """
    most = max(points)
    if most <= 0:
        even = sum(own >= 0 for own in points)
        return [1.0 / even if own >= 0 else 0.0 for own in points]
    relative = [own / most if own > 0 else 0.0 for own in points]
    squares = [own * own for own in relative]
    total = math.fsum(squares)
    return [square / total for square in squares]


def expectations(ratings: Sequence[float]) -> list[float]:
    """Give each player's expected share: that of the ratings, none of them below 0.

    Equal shares when nobody has a rating above 0, which only imports can bring about (our decision).
    """
    total = math.fsum(ratings)
    if total <= 0:
        return [1.0 / len(ratings)] * len(ratings)
    return [rating / total for rating in ratings]


def changes(
    points: Sequence[float], ratings: Sequence[float], games: Sequence[int], parameters: Parameters
) -> list[float]:
    """Give each player's change, as if nobody had abandoned the game; it never takes a rating below 0.

    A rating below 0, which only an import can give, counts as 0 and stays where it is.
    """
    owned = [rating if rating > 0 else 0.0 for rating in ratings]
    return [
        # A base above 1 could otherwise cost more than there is.
        max((share - expected) * rating * weight(played, parameters), -rating)
        for share, expected, rating, played in zip(
            shares(points), expectations(owned), owned, games, strict=True
        )
    ]


def clipped(changes: Sequence[float], abandoned: Sequence[bool]) -> list[float]:
    """Give the changes after abandoning: who did cannot gain, who has an opponent who did cannot lose.

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
        """Give each player's change, or why the game does not count."""
        points = game.points
        if points is None:
            return "no-points"
        found = changes(points, ratings, games, self.parameters)
        return found if game.abandoned is None else clipped(found, game.abandoned)

    def duel(
        self,
        place: int,  # noqa: ARG002
        place_other: int,  # noqa: ARG002
        points: Sequence[float] | None,
        rating: float,
        rating_other: float,
        games: int,
        games_other: int,
    ) -> tuple[float, float] | None:
        """Give what `changes` gives for two with ratings and points above 0 to share."""
        if points is None:
            return None
        made, made_other = points
        most = made if made >= made_other else made_other  # noqa: FURB136 - max would take as long as the rest
        total = rating + rating_other
        if rating < 0 or rating_other < 0 or most <= 0 or total <= 0:
            return None
        made = made / most if made > 0 else 0.0
        made_other = made_other / most if made_other > 0 else 0.0
        made *= made
        made_other *= made_other
        squares = made + made_other
        change = (made / squares - rating / total) * rating * self._weight(games)
        change_other = (
            (made_other / squares - rating_other / total) * rating_other * self._weight(games_other)
        )
        return (
            change if change >= -rating else -rating,  # noqa: FURB136
            change_other if change_other >= -rating_other else -rating_other,  # noqa: FURB136
        )
