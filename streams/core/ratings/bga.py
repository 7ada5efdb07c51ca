"""Bga: an Elo of every pair of players at the table (seed 003).

Pure: standard library only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streams.core.events import MAX_PLAYERS, Game
from streams.core.ratings.elo_steps import expected
from streams.core.ratings.explanation import Step, last_result, message
from streams.core.ratings.incremental import IncrementalSystem, SeenGame
from streams.core.ratings.parameters import choice, number, whole
from streams.core.ratings.system import Details, LadderContext, OpenedGame

MIN_PLAYERS = 2
SCALE = 400.0
# Beyond this gap 10**x leaves the range of a float; a cap above it is no cap at all.
GAP_LIMIT = 300.0 * SCALE
# Titles are for ratings above these, strictly (seed 003).
GOOD = 1600.0
EXPERT = 1800.0
MASTER = 2000.0

QUIT_FIRST = message("You abandoned, the first to do so, and count as last.")
QUIT_BY_OTHER = message("{other} abandoned, the first to do so, and counts as last.")
WON = message("You did better than {other}: 1 - {expected:.4f} = {result:+.4f}.")
TIED = message("You tied with {other}: 0.5 - {expected:.4f} = {result:+.4f}.")
LOST = message("{other} did better than you: 0 - {expected:.4f} = {result:+.4f}.")
TOGETHER = message("Together: {parts:+.4f} = {result:+.4f}.")
NEWCOMER = message("You had fewer than {newcomer_games} rated games, {games}: K is {result}.")
SETTLED = message("You had {newcomer_games} rated games or more, {games}: K is {result}.")
PLAYERS = message("There were {players} players: K counts {players} / 2 = {result} times.")
ADVISED = message("The game is best with {advised} players: K counts {advised} / 2 = {result} times.")
CHANGE = message("{k} x {surplus:+.4f} = {result:+.2f}.")
CHANGE_OF_MANY = message("{k} x {multiplier} x {surplus:+.4f} / {opponents} opponents = {result:+.2f}.")
PENALTY = message("Who abandons pays {penalty} more: {change:+.2f} - {penalty} = {result:+.2f}.")
_SCORES = {WON: 1.0, TIED: 0.5, LOST: 0.0}


@dataclass(frozen=True)
class Parameters:
    """The Elo's numbers, and what becomes of a game that someone left.

    `quit_policy`: `quitter-only` rates only the first player to abandon, as last, less `quit_penalty`;
    `last-place` rates the others too, with that player last; `exclude` rates nobody.
    """

    start: float = number(1500.0)
    k: float = number(40.0, 0.0)
    k_newcomer: float = number(60.0, 0.0)
    newcomer_games: int = whole(30)
    cap: float = number(600.0, 0.0)
    quit_policy: str = choice("quitter-only", "exclude", "last-place")
    quit_penalty: float = number(10.0, 0.0)


_UNTITLED = Details(title="", title_before="")


def title(rating: float) -> str:
    """Return the title of a rating: Good, Expert, Master, or the empty string for none."""
    if rating <= GOOD:
        return ""
    if rating <= EXPERT:
        return "Good"
    return "Expert" if rating <= MASTER else "Master"


def expectation(rating: float, other: float, cap: float) -> float:
    """Return the expected result against one opponent; ratings count as at most `cap` apart."""
    gap = other - rating
    limit = min(cap, GAP_LIMIT)
    if not -limit <= gap <= limit:
        gap = math.copysign(limit, gap)
    return float(1.0 / (1.0 + 10.0 ** (gap / SCALE)))


def changes(
    places: Sequence[int],
    ratings: Sequence[float],
    games: Sequence[int],
    advised: int | None,
    parameters: Parameters,
) -> list[float]:
    """Return each player's change: K * multiplier * (results less expectations) / (N - 1).

    The multiplier is N/2, or A/2 when there are more players than the `advised` number A (seed 003). The
    division is our decision: the multiplier is there "so that there are more points to win", which the plain
    sum over all opponents would already give. Sums are exact, so that the order of the players does not
    matter.
    """
    count = len(places)
    multiplier = min(count, advised or count) / 2
    cap = parameters.cap
    changed = []
    for position, (place, rating, played) in enumerate(zip(places, ratings, games, strict=True)):
        surplus = math.fsum(
            (1.0 if place < places[other] else 0.5 if place == places[other] else 0.0)
            - expectation(rating, ratings[other], cap)
            for other in range(count)
            if other != position
        )
        k = parameters.k_newcomer if played < parameters.newcomer_games else parameters.k
        changed.append(k * multiplier * surplus / (count - 1))
    return changed


def first_quitter(game: Game) -> int | None:
    """Return the position in the list of the first player to abandon; None when nobody did.

    The earliest `left_at` counts, then the order of the list; a known time comes before an unknown one.
    """
    if game.abandoned is None:
        return None
    epochs = game.left_epochs or [None] * len(game.players)
    quitters = [
        (math.inf if epoch is None else epoch, position)
        for position, (quitter, epoch) in enumerate(zip(game.abandoned, epochs, strict=True))
        if quitter
    ]
    return min(quitters)[1]


class Bga(IncrementalSystem):
    """The bga system on one ladder."""

    name = "bga"
    parameters_type = Parameters
    min_players = MIN_PLAYERS
    max_players = MAX_PLAYERS
    unplayed = _UNTITLED
    gives_chances = True
    parameters: Parameters

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._limit = min(self.parameters.cap, GAP_LIMIT)

    def changes(
        self,
        game: Game,
        places: Sequence[int],
        ratings: Sequence[float],
        games: Sequence[int],
    ) -> Sequence[float | None] | str:
        """Return each player's change, None for those the quit policy leaves out, or why the game is."""
        quitter = first_quitter(game)
        if quitter is None:
            return self._elo(game, places, ratings, games)
        policy = self.parameters.quit_policy
        if policy == "exclude":
            return "left"
        places = _with_last(places, quitter)
        changed = self._elo(game, places, ratings, games)
        changed[quitter] -= self.parameters.quit_penalty
        if policy == "last-place":
            return changed
        return [change if position == quitter else None for position, change in enumerate(changed)]

    def pair_changes(
        self, opened: OpenedGame, rating_one: float, rating_two: float, games_one: int, games_two: int
    ) -> tuple[float, float] | None:
        """Return what `changes` gives for a pair.

        No advised number is below 2, so that the multiplier is 1.
        """
        parameters = self.parameters
        gap = rating_two - rating_one
        if not -self._limit <= gap <= self._limit:
            gap = math.copysign(self._limit, gap)
        exponent = gap / SCALE
        place_one, place_two = opened.place_one, opened.place_two
        result = 1.0 if place_one < place_two else 0.5 if place_one == place_two else 0.0
        newcomer_games = parameters.newcomer_games
        k_one = parameters.k_newcomer if games_one < newcomer_games else parameters.k
        k_two = parameters.k_newcomer if games_two < newcomer_games else parameters.k
        return (
            k_one * (result - 1.0 / (1.0 + 10.0**exponent)),
            k_two * (1.0 - result - 1.0 / (1.0 + 10.0**-exponent)),
        )

    def expectation(self, rating: float, other: float) -> float:
        """Return the expected result against one opponent."""
        return expectation(rating, other, self.parameters.cap)

    def steps(self, seen: SeenGame) -> Sequence[Step]:
        """Return the steps to a player's change."""
        places, quitter = seen.places, first_quitter(seen.game)
        steps: list[Step] = []
        if quitter is not None:
            places = _with_last(places, quitter)
            you = quitter == seen.position
            steps.append(Step(QUIT_FIRST) if you else Step(QUIT_BY_OTHER, {"other": seen.name(quitter)}))
        parts = []
        for other in seen.others():
            steps += self._against(seen, places, other)
            parts.append(last_result(steps))
        if len(parts) > 1:
            steps.append(Step(TOGETHER, {"parts": parts}, math.fsum(parts)))
        steps += self._weighted(seen, last_result(steps))
        if quitter == seen.position:
            change, penalty = last_result(steps), self.parameters.quit_penalty
            steps.append(Step(PENALTY, {"change": change, "penalty": penalty}, change - penalty))
        return steps

    def _against(self, seen: SeenGame, places: Sequence[int], other: int) -> list[Step]:
        """Return the steps to what was made of one opponent beyond what was expected."""
        rating, opponent, name = seen.rating, seen.ratings[other], seen.name(other)
        likely = self.expectation(rating, opponent)
        place, theirs = places[seen.position], places[other]
        text = WON if place < theirs else TIED if place == theirs else LOST
        return [
            expected(name, rating, opponent, SCALE, likely, self._limit),
            Step(text, {"other": name, "expected": likely}, _SCORES[text] - likely),
        ]

    def _weighted(self, seen: SeenGame, surplus: float) -> list[Step]:
        """Return the steps from what was made beyond what was expected to the change."""
        parameters, played = self.parameters, seen.games[seen.position]
        new = played < parameters.newcomer_games
        k = parameters.k_newcomer if new else parameters.k
        values = {"newcomer_games": parameters.newcomer_games, "games": played}
        steps = [Step(NEWCOMER if new else SETTLED, values, k)]
        count = len(seen.places)
        if count == MIN_PLAYERS:
            return [*steps, Step(CHANGE, {"k": k, "surplus": surplus}, k * surplus)]
        advised = self._advised(seen.game)
        if advised is not None and advised < count:
            steps.append(Step(ADVISED, {"advised": advised}, advised / 2))
        else:
            steps.append(Step(PLAYERS, {"players": count}, count / 2))
        multiplier = last_result(steps)
        parts = {"k": k, "multiplier": multiplier, "surplus": surplus, "opponents": count - 1}
        return [*steps, Step(CHANGE_OF_MANY, parts, k * multiplier * surplus / (count - 1))]

    def details(self, before: float, after: float) -> Details:
        """Return which title the player has now, and had before."""
        if before <= GOOD and after <= GOOD:
            return _UNTITLED
        return Details(title=title(after), title_before=title(before))

    def _elo(
        self, game: Game, places: Sequence[int], ratings: Sequence[float], games: Sequence[int]
    ) -> list[float]:
        return changes(places, ratings, games, self._advised(game), self.parameters)

    def _advised(self, game: Game) -> int | None:
        game_type = self.context.ladder if game.game_type is None else game.game_type
        return self.context.advised_players.get(game_type)


def _with_last(places: Sequence[int], quitter: int) -> list[int]:
    """Return the places with one player behind all others."""
    return [*places[:quitter], max(places) + 1, *places[quitter + 1 :]]
