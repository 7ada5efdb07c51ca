"""The arithmetic of the weekly competition: levels, who won, what is paid (seed 004).

Pure: standard library only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from streams.core.events import Game
from streams.core.ratings.parameters import duration, number, whole

# The sides of a game of two individuals, of whom (as a rule) neither abandoned.
SOLO = (0, 1)
STAYED = (False, False)


@dataclass(frozen=True)
class Parameters:
    """A win against an equal brings `stake` and a draw `draw`; a level spans `level_size` points.

    Who abandons pays `abandon_penalty` more; a closed week is amended by games that arrive within `grace`.
    """

    stake: float = number(10, 0.0)
    draw: float = number(1, 0.0)
    level_size: float = number(50, 0.0, exclusive=True)
    levels: int = whole(10, 1)
    abandon_penalty: float = number(5, 0.0)
    grace: timedelta = duration(timedelta(hours=24))  # noqa: RUF009 - it declares the field


Result = Literal["won", "lost", "drawn"]


def level(points: float, parameters: Parameters) -> int:
    """Return the level of a number of points: 1 at 0, the highest from 450 on.

    The seed prints 400-449 for level 10 as for level 9; 450 and more is meant (our decision).
    """
    size = parameters.level_size
    if points >= size * (parameters.levels - 1):
        return parameters.levels
    return int(points // size) + 1


def team_level(points: Sequence[float], parameters: Parameters) -> int:
    """Return a team's level, that of the arithmetic mean of its members' points (seed 004).

    The sum is exact, so that the order of the members does not matter.
    """
    return level(math.fsum(points) / len(points), parameters)


def results(sides: Sequence[int], places: Sequence[int], abandoned: Sequence[bool]) -> tuple[Result, Result]:
    """Return what sides 0 and 1 made of the game.

    A side with a member who abandoned loses whatever the places say, and both sides may lose that way, in
    which case nobody wins (our decision).
    """
    if True in abandoned:
        quitters = {side for side, quitter in zip(sides, abandoned, strict=True) if quitter}
        return ("lost" if 0 in quitters else "won"), ("lost" if 1 in quitters else "won")
    first, second = places[sides.index(0)], places[sides.index(1)]
    if first == second:
        return "drawn", "drawn"
    return ("won", "lost") if first < second else ("lost", "won")


def payments(
    outcome: tuple[Result, Result], levels: tuple[int, int], parameters: Parameters
) -> tuple[float, float]:
    """Return what every member of either side gains or, below 0, loses.

    The loss is that of the seed's table, stake - |difference of levels|; the sentence above it gives another
    number when a stronger side loses (our decision). A win never costs and a loss never pays, however many
    levels there are.
    """
    if outcome[0] == "drawn":
        return parameters.draw, parameters.draw
    stake = parameters.stake
    gap = levels[0] - levels[1]
    loss = -max(0, stake - abs(gap))
    return (
        max(0, stake - gap) if outcome[0] == "won" else loss,
        max(0, stake + gap) if outcome[1] == "won" else loss,
    )


def quitting_changes(
    changes: Sequence[float],
    outcome: tuple[Result, Result],
    abandoned: Sequence[bool],
    parameters: Parameters,
) -> list[float]:
    """Make the changes of a game into those of one that somebody abandoned: the quitter pays the penalty too.

    When both sides abandoned, those who stayed pay nothing (our decision: only every quitter pays).
    """
    nobody_won = outcome == ("lost", "lost")
    return [
        change - parameters.abandon_penalty if quitter else 0 if nobody_won else change
        for change, quitter in zip(changes, abandoned, strict=True)
    ]


def sides_of(game: Game) -> Sequence[int] | None:
    """Return every player's side, 0 or 1; None when there are not exactly two."""
    teams = game.teams
    if teams is None:
        return SOLO if len(game.players) == len(SOLO) else None
    if len(set(teams)) != len(SOLO):
        return None
    return [0 if team == teams[0] else 1 for team in teams]
