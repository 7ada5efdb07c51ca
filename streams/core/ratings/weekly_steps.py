"""The steps to a player's points of a week: the levels, what they pay, and what abandoning costs.

Pure: standard library only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streams.core.ratings.explanation import Step, last_result, message
from streams.core.ratings.weekly_rules import Parameters, level, payments, results, team_level

YOUR_LEVEL = message("In week {week} you had {points} points: level {result}.")
THEIR_LEVEL = message("{other} had {points} points: level {result}.")
YOUR_TEAMS_LEVEL = message("In week {week} your team had {mean:.2f} points on average: level {result}.")
THEIR_TEAMS_LEVEL = message("The other team had {mean:.2f} points on average: level {result}.")
QUITTERS = message("Who abandons has lost, with the whole side, whatever the ranks say: {others}.")
WON = message("You won: {stake} - ({own} - {theirs}) = {result:+}.")
WON_NOTHING = message("You won: {stake} - ({own} - {theirs}) is below 0, and a win never costs: {result}.")
LOST = message("You lost: -({stake} - |{own} - {theirs}|) = {result:+}.")
LOST_NOTHING = message("You lost: {stake} - |{own} - {theirs}| is below 0, and a loss never pays: {result}.")
DREW = message("You drew: {result:+}.")
STAYED = message("Both sides were abandoned: you stayed, and pay nothing.")
PENALTY = message("Who abandons pays {penalty} more: {change:+} - {penalty} = {result:+}.")
GAIN = message("Your points: {before} + {gain} = {result}.")
LOSS = message("Your points: {before} - {loss} = {result}.")
NOTHING_LEFT = message("Your points: {before} - {loss} is below 0, and counts as {result}.")


@dataclass(frozen=True)
class CountedGame:
    """A game of a week: in the order of its players their sides, places, who abandoned, and their points.

    `position` is that of the player who asks.
    """

    week: str
    players: Sequence[str]
    sides: Sequence[int]
    places: Sequence[int]
    abandoned: Sequence[bool]
    points: Sequence[float]
    position: int
    parameters: Parameters


def steps(game: CountedGame) -> list[Step]:
    """Return the steps to the player's points after the game."""
    side = game.sides[game.position]
    levels = [_level_step(game, side), _level_step(game, 1 - side)]
    made = list(levels)
    quitters = [player for player, quit_it in zip(game.players, game.abandoned, strict=True) if quit_it]
    if quitters:
        made.append(Step(QUITTERS, {"others": quitters}))
    made.append(_payment_step(game, int(levels[0].result or 0), int(levels[1].result or 0)))
    if game.abandoned[game.position]:
        change, penalty = last_result(made), game.parameters.abandon_penalty
        made.append(Step(PENALTY, {"change": change, "penalty": penalty}, change - penalty))
    return [*made, _points_step(game.points[game.position], last_result(made))]


def _points_step(before: float, change: float) -> Step:
    after = before + change
    if change >= 0:
        return Step(GAIN, {"before": before, "gain": change}, after)
    values = {"before": before, "loss": -change}
    return Step(NOTHING_LEFT, values, 0) if after < 0 else Step(LOSS, values, after)


def _level_step(game: CountedGame, side: int) -> Step:
    """Return the step to the level of a side, the player's own or the other."""
    members = [position for position, of in enumerate(game.sides) if of == side]
    points = [game.points[position] for position in members]
    mine = game.sides[game.position] == side
    if len(members) == 1:
        reached = level(points[0], game.parameters)
        if mine:
            return Step(YOUR_LEVEL, {"week": game.week, "points": points[0]}, reached)
        return Step(THEIR_LEVEL, {"other": game.players[members[0]], "points": points[0]}, reached)
    mean = math.fsum(points) / len(points)
    reached = team_level(points, game.parameters)
    if mine:
        return Step(YOUR_TEAMS_LEVEL, {"week": game.week, "mean": mean, "points": points}, reached)
    return Step(THEIR_TEAMS_LEVEL, {"mean": mean, "points": points}, reached)


def _payment_step(game: CountedGame, own: int, theirs: int) -> Step:
    """Return the step to what the game pays or costs, but for the penalty of who abandons."""
    side, stake = game.sides[game.position], game.parameters.stake
    outcome = results(game.sides, game.places, game.abandoned)
    if outcome == ("lost", "lost") and not game.abandoned[game.position]:
        return Step(STAYED, result=0)
    levels = (own, theirs) if side == 0 else (theirs, own)
    paid = payments(outcome, levels, game.parameters)[side]
    if outcome[side] == "drawn":
        return Step(DREW, {"draw": game.parameters.draw}, paid)
    values = {"stake": stake, "own": own, "theirs": theirs}
    if outcome[side] == "won":
        return Step(WON_NOTHING if stake < own - theirs else WON, values, paid)
    return Step(LOST_NOTHING if stake < abs(own - theirs) else LOST, values, paid)
