"""Rankings from the rows of a fold: who leads a system of a ladder; and how every rating and change is shown.

Pure: standard library only.
"""

from decimal import Decimal
from typing import NamedTuple

from streams.core.ladders import Ladders


class Ranked(NamedTuple):
    """A player's place in a ranking; equal ratings share a rank (1, 2, 2, 4)."""

    rank: int
    player_id: str
    rating: float
    games: int


def ranking(fold: Ladders, ladder: str, system: str, limit: int | None = None) -> list[Ranked]:
    """Rank a ladder's players in a system by rating, descending, then by id."""
    rated = fold.ratings(ladder, system)
    rated.sort(key=lambda player: (-player[1], player[0]))
    ranked: list[Ranked] = []
    for place, (player_id, rating, games) in enumerate(rated, start=1):
        tied = bool(ranked) and ranked[-1].rating == rating
        ranked.append(Ranked(ranked[-1].rank if tied else place, player_id, rating, games))
        if limit is not None and len(ranked) == limit:
            break
    return ranked


def shown(rating: float) -> str:
    """Return a rating as it is shown: one digit behind the point, rounded half to even, and no -0.0."""
    text = f"{rating:.1f}"
    return "0.0" if text == "-0.0" else text


def shown_change(before: float, after: float) -> Decimal:
    """Return a change as it is shown: the difference of the shown ratings."""
    return Decimal(shown(after)) - Decimal(shown(before))


def ranking_text(fold: Ladders, ladder: str, system: str, limit: int) -> str:
    """Show the first of a ranking as lines of text."""
    ranked = ranking(fold, ladder, system, limit)
    width = max((len(player.player_id) for player in ranked), default=0)
    lines = [
        f"{player.rank:>4}  {player.player_id:<{width}}  {shown(player.rating):>8}  {player.games:>6} games"
        for player in ranked
    ]
    return "\n".join([f"\n{ladder}, {system}", *(lines or ["      nobody yet"])])
