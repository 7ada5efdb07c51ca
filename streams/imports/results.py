"""Results of two-player games as people write them: `1-0`, `½-½`, `1/2-1/2`, `3:2`."""

import re

from streams.files.report import LineError

_RESULT = re.compile(r"(\d+(?:\.\d+)?)\s*[-:\u2013\u2014]\s*(\d+(?:\.\d+)?)")
_HALF_MORE = re.compile(r"(\d)½")


def read_result(text: str | None, label: str, decimal: str = ".") -> tuple[float, float]:
    """Return the points of the first and the second player. Raises LineError; `*` and nothing: unfinished."""
    if text is None or text == "*":
        raise LineError("unfinished", f"{label}: {text or ''!r} is no result: the game is not over")
    plain = text.replace(decimal, ".").replace("1/2", "½")
    plain = _HALF_MORE.sub(r"\1.5", plain).replace("½", "0.5")
    match = _RESULT.fullmatch(plain)
    if match is None:
        raise LineError("result", f"{label}: {text!r} is not a result such as 1-0, 0-1, ½-½ or 3-2")
    return float(match[1]), float(match[2])
