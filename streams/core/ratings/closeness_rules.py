"""The arithmetic of closeness: distances, averages, and what they score (seed 002).

Distances are kept as whole numbers of units, so that their sums are exact.

Pure: standard library only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streams.core.ratings.parameters import number

FIRST = 100
TIE_BREAK = 75
PER_AVERAGE = 25
NOTHING_AT = TIE_BREAK // PER_AVERAGE  # times the average distance

# One minus a float is a multiple of 2^-53, so that in these units every distance is a whole number.
UNITS = 2.0**53
# Negative points make distances above 1; nothing real is this far, and sums stay finite.
FURTHEST = 2.0**64


@dataclass(frozen=True)
class Parameters:
    """`handicap` is added to the maximum possible score, so that few games cannot give a high rating."""

    handicap: float = number(500.0, 0.0)


def distance(points: float, winning: float) -> float:
    """Return how far `points` are behind the winner's, as a part of those, which are above 0."""
    behind = 1.0 - points / winning
    if behind <= 0:
        return 0.0
    return behind if behind < FURTHEST else FURTHEST  # noqa: FURB136 - min would take twice as long


def winning_points(points: Sequence[float], places: Sequence[int]) -> float:
    """Return the winner's points, the most of them when first place is shared (our decision)."""
    first = min(places)
    if places.count(first) == 1:
        return points[places.index(first)]
    return max(made for made, place in zip(points, places, strict=True) if place == first)


def reach_of(total: int, losers: int) -> int:
    """Return the furthest distance, in units, that still scores: just below three times the average."""
    return (NOTHING_AT * total - 1) // losers
