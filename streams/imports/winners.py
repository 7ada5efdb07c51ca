"""Places made of who won: what apps for board games write down of a play, beside points or without them."""

from collections.abc import Sequence
from typing import NamedTuple

from streams.files.report import LineError

_WON = frozenset(("true", "1", "yes", "y", "won", "win", "w", "winner"))
_LOST = frozenset(("false", "0", "no", "n", "lost", "loss", "l", "loser", ""))
_HIGHEST = {**dict.fromkeys(("true", "1", "yes"), True), **dict.fromkeys(("false", "0", "no"), False)}


class Seat(NamedTuple):
    """What is said of a player: place, whether he won, and points; all as texts, empty when not said."""

    rank: str
    won: str
    points: str


def finish_seats(seats: Sequence[Seat], highest_wins: str, decimal: str = ".") -> list[Seat]:
    """Return the seats with places, where who won says them, and without points that contradict these.

    Those who won are first. The others follow by their points, if the points of those who won are the best
    ones; else they are all equal. Places that are given to all stay. `highest_wins` says whether more points
    are better; empty: as those who won have them. Raises LineError for a word that is none known.
    """
    if all(seat.rank for seat in seats):
        return list(seats)
    won = [_flag(seat.won) for seat in seats]
    points = _numbers([seat.points for seat in seats], decimal)
    highest = _highest(highest_wins)
    if all(won) or not any(won):
        if points is None:
            return [seat._replace(rank="") for seat in seats]
        # All won or nobody did: the points alone decide.
        up = highest is not False
        ranks = _ranked([value if up else -value for value in points])
    else:
        up, ranks = _behind_winners(won, points, (True, False) if highest is None else (highest,))
    keep = points is None or (up and ranks == _ranked(points))
    return [
        seat._replace(rank=str(rank), points=seat.points if keep else "")
        for seat, rank in zip(seats, ranks, strict=True)
    ]


def _behind_winners(
    won: Sequence[bool], points: Sequence[float] | None, directions: Sequence[bool]
) -> tuple[bool, list[int]]:
    """Return whether more points are better, of the directions that there may be, and the places."""
    if points is not None:
        for up in directions:
            signed = [value if up else -value for value in points]
            best_of_others = max(value for value, first in zip(signed, won, strict=True) if not first)
            if all(value >= best_of_others for value, first in zip(signed, won, strict=True) if first):
                # Nobody who won is behind another one.
                top = max(signed) + 1
                return up, _ranked(
                    [top if first else value for value, first in zip(signed, won, strict=True)]
                )
    return True, _ranked([float(first) for first in won])


def _ranked(values: Sequence[float]) -> list[int]:
    """Return the place of each value, the greatest first; equal ones have the same."""
    return [1 + sum(other > value for other in values) for value in values]


def _numbers(texts: Sequence[str], decimal: str) -> list[float] | None:
    """Return the numbers that all texts are; None when one is none."""
    try:
        return [float(text.replace(decimal, ".")) for text in texts]
    except ValueError:
        return None


def _flag(text: str) -> bool:
    plain = text.casefold()
    if plain not in _WON | _LOST:
        raise LineError("value", f"won: {text!r} is none of {', '.join(sorted(_WON | _LOST - {''}))}")
    return plain in _WON


def _highest(text: str) -> bool | None:
    plain = text.casefold()
    if plain and plain not in _HIGHEST:
        raise LineError("value", f"highest_wins: {text!r} is none of {', '.join(_HIGHEST)}")
    return _HIGHEST.get(plain)
