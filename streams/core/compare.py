"""What if: the final ratings under two sets of rules, side by side.

Pure: standard library only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log10, sqrt
from statistics import fmean, quantiles
from typing import NamedTuple

from streams.core.rankings import shown, shown_change

_BINS = 20
_MIN_FOR_CORRELATION = 2

Ratings = Mapping[str, float]


class Moved(NamedTuple):
    """A player under both sets of rules, ratings in full; equal ones share a rank (1, 2, 2, 4)."""

    player_id: str
    before: float
    after: float
    rank_before: int
    rank_after: int

    @property
    def difference(self) -> float:
        """Return how far the rating moves as it is shown: the difference of the shown ratings."""
        return float(shown_change(self.before, self.after))


class Bin(NamedTuple):
    """How many players move by `low` or more and less than `high`."""

    low: float
    high: float
    players: int


class Figure(NamedTuple):
    """One figure of the tally under both sets of rules; None where there is none."""

    name: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Spread:
    """How the differences as they are shown are distributed: the extremes are those of two players."""

    mean: float
    lowest: float
    lower_quartile: float
    median: float
    upper_quartile: float
    highest: float


@dataclass(frozen=True)
class Comparison:
    """One system of one ladder under both sets of rules.

    `players` are those rated under both, by the size of their move; `only_before` and `only_after` counts the
    others. `spread` and `correlation` (Spearman's) are None when there are too few players to tell.
    """

    ladder: str
    system: str
    players: Sequence[Moved]
    only_before: int
    only_after: int
    spread: Spread | None
    correlation: float | None
    histogram: Sequence[Bin]
    tally: Sequence[Figure] = field(default_factory=tuple)


def compare(
    ladder: str, system: str, before: Ratings, after: Ratings, tally: Sequence[Figure] = ()
) -> Comparison:
    """Compare the ratings of one system of one ladder."""
    ranks_before, ranks_after = _ranks(before), _ranks(after)
    players = [
        Moved(player_id, rating, after[player_id], ranks_before[player_id], ranks_after[player_id])
        for player_id, rating in before.items()
        if player_id in after
    ]
    differences = {moved.player_id: moved.difference for moved in players}
    players.sort(key=lambda moved: (-abs(differences[moved.player_id]), moved.player_id))
    return Comparison(
        ladder,
        system,
        players,
        len(before) - len(players),
        len(after) - len(players),
        _spread(differences.values()),
        spearman([moved.before for moved in players], [moved.after for moved in players]),
        # In full: where one that is rounded lies on a border of two bins, the arithmetic may miss it.
        histogram([moved.after - moved.before for moved in players]),
        tally,
    )


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, ties with their mean rank; None when either is all ties."""
    if len(first) < _MIN_FOR_CORRELATION:
        return None
    one, other = _mean_ranks(first), _mean_ranks(second)
    mean = (len(first) + 1) / 2
    spreads = sqrt(sum((rank - mean) ** 2 for rank in one) * sum((rank - mean) ** 2 for rank in other))
    if not spreads:
        return None
    return sum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True)) / spreads


def histogram(values: Sequence[float], bins: int = _BINS) -> list[Bin]:
    """Return how many values are in each of about `bins` bins of one round width; 0 is a border of two."""
    if not values:
        return []
    width = _round_width((max(values) - min(values)) / bins)
    places = [floor(value / width) for value in values]
    counts = dict.fromkeys(range(min(places), max(places) + 1), 0)
    for place in places:
        counts[place] += 1
    return [Bin(place * width, (place + 1) * width, count) for place, count in counts.items()]


def text(comparison: Comparison, top: int) -> str:
    """Return a comparison as lines of text, with the `top` players that move most."""
    lines = [f"{comparison.ladder}, {comparison.system}: {summary(comparison)}"]
    movers = [moved for moved in comparison.players[:top] if moved.difference]
    width = max((len(moved.player_id) for moved in movers), default=0)
    lines += [
        f"  {moved.player_id:<{width}}  {shown(moved.before):>9} to {shown(moved.after):>9}  "
        f"{signed(moved.difference):>9}  rank {moved.rank_before:>5} to {moved.rank_after:>5}"
        for moved in movers
    ]
    lines += [
        f"  {name}: {figure_text(before)} to {figure_text(after)}" for name, before, after in comparison.tally
    ]
    return "\n".join(lines)


def summary(comparison: Comparison) -> str:
    """Return in a line how much the ratings move."""
    parts = [f"{len(comparison.players)} players"]
    if comparison.only_before or comparison.only_after:
        parts.append(f"{comparison.only_before} only before, {comparison.only_after} only after")
    spread = comparison.spread
    if spread is not None and spread.lowest == spread.highest == 0:
        still = all(moved.before == moved.after for moved in comparison.players)
        return "; ".join([*parts, "nobody moves" if still else "nobody moves as far as is shown"])
    if spread is not None:
        parts.append(
            f"moves {signed(spread.lowest)} to {signed(spread.highest)}, half of them "
            f"{signed(spread.lower_quartile)} to {signed(spread.upper_quartile)}, mean {signed(spread.mean)}"
        )
    if comparison.correlation is not None:
        parts.append(f"rank correlation {comparison.correlation:.4f}")
    return "; ".join(parts)


def signed(value: float) -> str:
    """Return a difference as it is shown: one digit, with its sign."""
    shown_value = f"{value:+.1f}"
    return "0.0" if shown_value in ("+0.0", "-0.0") else shown_value.replace("-", "\N{MINUS SIGN}")


def figure_text(value: float | None) -> str:
    """Return a figure of a tally as it is shown."""
    return "-" if value is None else f"{value:,.4f}".rstrip("0").rstrip(".")


def _ranks(ratings: Ratings) -> dict[str, int]:
    ranks: dict[str, int] = {}
    last: float | None = None
    rank = 0
    for place, (player_id, rating) in enumerate(
        sorted(ratings.items(), key=lambda rated: (-rated[1], rated[0])), start=1
    ):
        if rating != last:
            rank, last = place, rating
        ranks[player_id] = rank
    return ranks


def _mean_ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks


def _spread(values: Iterable[float]) -> Spread | None:
    ordered = sorted(values)
    if not ordered:
        return None
    quarters = quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else [ordered[0]] * 3
    return Spread(fmean(ordered), ordered[0], quarters[0], quarters[1], quarters[2], ordered[-1])


def _round_width(width: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** floor(log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))
