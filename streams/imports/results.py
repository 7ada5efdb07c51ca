"""Results of games for two sides as people write them: `1-0`, `½-½`, `3:2 (n.P.)`, `6-4 7-5`, `+/-`, `W/O`.

One reader for every format. What it does not know it refuses: a result that is taken for another one would
never be noticed.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from streams.files.report import LineError, PassedOverError
from streams.imports.words import DRAWS, is_forfeit, is_retired, is_unplayed

_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)"
_SCORE = re.compile(rf"({_NUMBER})\s*[-:\u2013\u2014\u2212]\s*({_NUMBER})")
_HALF_MORE = re.compile(r"(\d)\s?½")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
# "7-6(4)", "7-6 (7-3)": how a set was won when it stood even.
_TIE_BREAK = re.compile(r"(?<=\d)\s?[(\[]\d+(?:[-:]\d+)?[)\]](?=[\s,;]|$)")
_BRACKETS = re.compile(r"\s*[(\[]([^)\]]*)[)\]]\s*$")
# Behind a score: after extra time, after penalties; in English and in German.
_REMARK = re.compile(
    r"(?<=\d)\s*,?\s*(a\.?e\.?t\.?|o\.?t\.?|s\.?o\.?|n\.? ?v\.?|n\.? ?p\.?|i\.? ?e\.?"
    r"|p(?:en|ens|enalties|en\.)?|pk)\s*$",
    re.IGNORECASE,
)
_SHOOT_OUT = re.compile(r"\b(?:p|pen|pens|penalties|pk|so|n\.?\s?p|i\.?\s?e)\b", re.IGNORECASE)
_NOTHING = "\ufeff\u200b\u00a0 \t"
_FIRST_WON = ("+/-", "+:-", "+-", "+--", "+ - -", "1-0f", "1f-0f", "1-0ff", "1:0f", "+-0")
_SECOND_WON = ("-/+", "-:+", "-+", "--+", "- - +", "0-1f", "0f-1f", "0-1ff", "0:1f", "0-+")
_DECIDED = {**dict.fromkeys(_FIRST_WON, (1.0, 0.0)), **dict.fromkeys(_SECOND_WON, (0.0, 1.0))}
_BOTH_LOST = frozenset(("-/-", "-:-", "--", "- - -", "---", "0f-0f", "0-0f", "0-0ff"))


class Result(NamedTuple):
    """What a result says of the first and the second side.

    `points` is None where it only says that the game ended early (a walkover, somebody retired); `ranks` are
    given where points do not say who won. `forfeit`: the game was decided without being played.
    """

    points: tuple[float, float] | None
    ranks: tuple[int, int] | None = None
    forfeit: bool = False


def read_result(text: str | None, label: str, decimal: str = ".", *, nil_is_forfeit: bool = False) -> Result:
    """Return what a result says. Raises LineError; `*` and nothing: the game is not over.

    Raises PassedOverError for a game that was not played.

    `nil_is_forfeit`: 0-0 says that both have lost by forfeit, as in chess; else it is a draw without points.
    """
    plain = (text or "").strip(_NOTHING)
    if plain in {"", "*", "?"}:
        raise LineError("unfinished", f"{label}: {text or ''!r} is no result: the game is not over")
    word = plain.casefold()
    if word in _BOTH_LOST or (nil_is_forfeit and word.replace(" ", "") in {"0-0", "0:0"}):
        raise PassedOverError("unplayed", f"{label}: {text!r}: both have lost by forfeit: no result")
    if is_unplayed(word):
        raise PassedOverError("unplayed", f"{label}: {text!r}: the game was not played")
    if word in DRAWS:
        return Result((0.5, 0.5))
    decided = _DECIDED.get(word)
    if decided is not None:
        return Result(decided, forfeit=True)
    if is_forfeit(word):
        return Result(None, forfeit=True)
    if is_retired(word):
        return Result(None)
    result = _scores(plain, decimal)
    if result is None:
        raise LineError(
            "result",
            f"{label}: {text!r} is not a result such as 1-0, 0-1, ½-½, 3-2 or 6-4 7-5 (what it means: "
            f"--value result:TEXT=MEANING)",
        )
    return result


@lru_cache(maxsize=1000)
def _scores(plain: str, decimal: str) -> Result | None:
    """Return what a score, or one for each set, says; None when it is neither."""
    if decimal == ",":
        plain = _DECIMAL_COMMA.sub(".", plain)
    plain = _HALF_MORE.sub(r"\1.5", plain.replace("1/2", "½")).replace("½", "0.5")
    sets = _sets(plain)
    if sets is not None:
        return sets
    bracketed = _BRACKETS.search(plain)
    beside = "" if bracketed is None else bracketed[1]
    plain = plain if bracketed is None else plain[: bracketed.start()]
    remark = _REMARK.search(plain)
    if remark is not None:
        beside += f" {remark[1]}"
        plain = plain[: remark.start()]
    score = _SCORE.fullmatch(plain.strip())
    if score is None:
        return _with_a_word(plain, beside)
    points = _points(score)
    if is_forfeit(beside):
        return Result(points, forfeit=True)
    if points[0] == points[1] and _SHOOT_OUT.search(beside):
        return _after_penalties(points, beside)
    return Result(points)


def _with_a_word(plain: str, beside: str) -> Result | None:
    """Return what a score with a word behind it says, as in `0-1 W/O`; None when it is none of these."""
    score, _, word = plain.strip().rpartition(" ")
    match = _SCORE.fullmatch(score.strip())
    if match is None or beside:
        return None
    if is_forfeit(word):
        return Result(_points(match), forfeit=True)
    # Who was behind may have been the one who stayed.
    return Result(None) if is_retired(word) else None


def _after_penalties(points: tuple[float, float], beside: str) -> Result | None:
    """Return a draw that penalties have decided; None when they are not said, and it may be anybody's."""
    penalties = _SCORE.search(beside)
    if penalties is None:
        return None
    first, second = _points(penalties)
    return None if first == second else Result(points, ranks=(1, 2) if first > second else (2, 1))


def _sets(plain: str) -> Result | None:
    """Return the sets that each side has won; None when there is not more than one."""
    parts = [part for part in re.split(r"[\s,;]+", _TIE_BREAK.sub("", plain)) if part]
    retired = bool(parts) and is_retired(parts[-1])
    scores = [_SCORE.fullmatch(part) for part in (parts[:-1] if retired else parts)]
    if len(scores) <= 1 or None in scores:
        return None
    if retired:
        return Result(None)
    won = [_points(score) for score in scores if score is not None]
    first = sum(one > other for one, other in won)
    second = sum(one < other for one, other in won)
    return Result((float(first), float(second)))


def _points(score: re.Match[str]) -> tuple[float, float]:
    return float(score[1]), float(score[2])
