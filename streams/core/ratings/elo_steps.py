"""The step that systems of the Elo kind share: how you stood against an opponent, and what was expected.

Pure: standard library only.
"""

from streams.core.ratings.explanation import Step, message

ABOVE = message("You stood {gap:.1f} above {other}: expected {result:.4f}.")
BELOW = message("You stood {gap:.1f} below {other}: expected {result:.4f}.")
LEVEL = message("You stood level with {other}: expected {result:.4f}.")
CAPPED_ABOVE = message("You stood {gap:.1f} above {other}, which counts as {cap}: expected {result:.4f}.")
CAPPED_BELOW = message("You stood {gap:.1f} below {other}, which counts as {cap}: expected {result:.4f}.")


def expected(
    other: str, rating: float, opponent: float, scale: float, expectation: float, cap: float | None = None
) -> Step:
    """Return the step from the ratings to the expected result; a `cap` is the most that counts."""
    gap = abs(opponent - rating)
    values: dict[str, float | str] = {"gap": gap, "other": other, "scale": scale}
    if cap is not None:
        values["cap"] = cap
    capped = cap is not None and gap > cap
    if rating > opponent:
        return Step(CAPPED_ABOVE if capped else ABOVE, values, expectation)
    if rating < opponent:
        return Step(CAPPED_BELOW if capped else BELOW, values, expectation)
    return Step(LEVEL, values, expectation)
