"""Closeness: how near a player comes to winning, measured by the average loser of each game type (seed 002).

A rating is always that of all own games under today's averages. Distances are kept as whole numbers, so that
sums are exact: they depend neither on the order of the games nor on batches or restarts.

Pure: no clock, no I/O.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from streams.core.events import PAIR, Game, RatingImported
from streams.core.ratings.closeness_rules import (
    FIRST,
    NOTHING_AT,
    PER_AVERAGE,
    TIE_BREAK,
    UNITS,
    Parameters,
    distance,
    reach_of,
    winning_points,
)
from streams.core.ratings.closeness_steps import Average, Own, Scored, steps
from streams.core.ratings.explanation import Step
from streams.core.ratings.prefix_sums import PrefixSums
from streams.core.ratings.system import (
    Change,
    JsonRow,
    LadderContext,
    Notes,
    OpenedGame,
    PlayerRating,
    System,
    SystemChanges,
    Verdict,
)
from streams.core.row_keys import join_key, split_key

_UNRATED = PlayerRating(0.0, 0, 0)
_TYPE = "closeness-type"
_PLAYER = "closeness-player"
_RESULT = "closeness-result"


class _GameType:
    """The average losing distance of a game type: exact, in units.

    `reach` is the furthest distance that still scores, below three times the average.
    """

    __slots__ = ("losers", "reach", "total")

    def __init__(self) -> None:
        self.losers = 0
        self.total = 0
        self.reach = -1

    def settle(self) -> None:
        self.reach = reach_of(self.total, self.losers)


class _Results(PrefixSums):
    """One player's losses in one game type of which the score depends on the average."""

    __slots__ = ("game_type",)

    def __init__(self, game_type: _GameType) -> None:
        super().__init__()
        self.game_type = game_type

    def score(self) -> float:
        """Return the sum of `(75 - 25 * distance/average) * players` over all that are above 0.

        The quotient is that of whole numbers, correctly rounded, and so never above 3 times the players.
        """
        average = self.game_type
        reach = average.reach
        if not self._from <= reach < self._to:
            self._answer_for(reach)
        return PER_AVERAGE * (NOTHING_AT * self._weight - average.losers * self._product / average.total)


class _Scores:
    """One player's scores that never change, the most that was possible, and the other results by type.

    `only` is the one of the results when there is just one: it spares looking it up.
    """

    __slots__ = ("fixed", "only", "possible", "results")

    def __init__(self) -> None:
        self.fixed = 0
        self.possible = 0
        self.only: _Results | None = None
        self.results: dict[str, _Results] = {}


class Closeness(System):
    """The closeness system on one ladder.

    Its rows: one a game type (the sum of the losing distances, how many), one a player (fixed scores, most
    possible), and one a result whose score moves with the average (distance, number of players), numbered
    per player and type, so that no row is large and none of these is written twice.
    """

    name = "closeness"
    parameters_type = Parameters
    parameters: Parameters
    row_kinds = (_TYPE, _PLAYER, _RESULT)
    needs_all_games = True
    importable = False

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._handicap = self.parameters.handicap
        self._types: dict[str, _GameType] = {}
        self._scores: dict[str, _Scores] = {}
        # An id for every change, most of them again and again.
        self._changed_types: list[str] = []
        self._changed_players: list[str] = []
        self._new_results: list[tuple[str, str, int, float, int]] = []

    def rate_general(self, game: Game, places: Sequence[int]) -> Verdict:
        """Score any game, and give its players their ratings under the averages that include it."""
        if game.teams is not None:
            return self.ignored("teams")
        if game.points is None:
            return self.ignored("no-points")
        scored = self._score(game, places, game.points)
        return list(map(self._publish, game.players, scored)), None

    def rate_batch(self, games: Iterable[OpenedGame], notes: Notes) -> list[SystemChanges]:
        """Score games one after the other, pairs of which one has won by the shorter way."""
        rated: list[SystemChanges] = []
        name = self.name
        get = self._scores.get
        publish = self._publish
        changed = self._changed_players
        for opened in games:
            one, two, points = opened.one, opened.two, opened.points
            place_one, place_two = opened.place_one, opened.place_two
            if one is None or points is None or place_one == place_two:
                self.rate_next(opened, rated, notes)
                continue
            scores_one = get(one) or self._player(one)
            scores_two = get(two) or self._player(two)
            scores_one.possible += FIRST * PAIR
            scores_two.possible += FIRST * PAIR
            changed.append(one)
            changed.append(two)
            if place_one < place_two:
                winning, made = points
                scores_one.fixed += FIRST * PAIR
                loser, losing = two, scores_two
            else:
                made, winning = points
                scores_two.fixed += FIRST * PAIR
                loser, losing = one, scores_one
            if winning > 0:
                self._lose(loser, losing, opened.game_type, distance(made, winning), PAIR).settle()
            elif made >= winning:
                losing.fixed += TIE_BREAK * PAIR
            rated.append(SystemChanges(name, (publish(one, scores_one), publish(two, scores_two))))
        return rated

    def rating(self, player_id: str) -> float:
        """Return a player's rating under today's averages; 0 without games.

        The cost is O(log m) for each game type the player has played, m being the player's results in it.
        """
        scores = self._scores.get(player_id)
        return 0.0 if scores is None else self._rating(scores)

    def rating_at(self, player_id: str, moment: datetime) -> tuple[float, int]:  # noqa: ARG002 - today's
        """Return a player's rating under today's averages, and rated games."""
        return self.rating(player_id), self.players.get(player_id, _UNRATED).games

    def ratings(self) -> list[tuple[str, float, int]]:
        """Return (player, rating, games) of everyone, under today's averages."""
        return [
            (player_id, self.rating(player_id), known.games)
            for player_id, known in self.players.items()
            if known.games
        ]

    def explain(self, game: Game, places: Sequence[int], player_id: str) -> Sequence[Step]:
        """Return the steps to a player's rating after a game, from all scores under the averages with it."""
        if game.teams is not None or game.points is None:
            return ()
        game_type = self.context.ladder if game.game_type is None else game.game_type
        known = self._types.get(game_type)
        before = None if known is None else Average(known.total, known.losers)
        own = Own.of(game_type, game.points, places, game.players.index(player_id), before)
        averages = {name: Average(moving.total, moving.losers) for name, moving in self._types.items()}
        if own.average is not None:
            averages[game_type] = own.average
        scores = self._scores.get(player_id) or _Scores()
        sums = {
            name: results.up_to(averages[name].reach)
            for name, results in scores.results.items()
            if averages[name].losers
        }
        scored = Scored(
            *(scores.fixed, scores.possible, sums, averages),
            published=self.players.get(player_id, _UNRATED).rating,
            just_before=self._rating(scores),
            handicap=self._handicap,
        )
        return steps(own, scored)

    def start(self, imported: RatingImported) -> Change | str:  # noqa: ARG002 - whatever it says
        """Refuse: a rating is computed from the player's own games, and an import brings none."""
        return "not-importable"

    @classmethod
    def player_of_row(cls, kind: str, key: str) -> str | None:
        """Return the player that an own row belongs to; None for the row of a game type."""
        if kind == _TYPE:
            return None
        return key if kind == _PLAYER else split_key(key, 3)[0]

    def load_row(self, kind: str, key: str, row: Any) -> None:
        """Take back a row as `changed_rows` gave it out, in any order, each result once."""
        if kind == _TYPE:
            average = self._game_type(key)
            average.total, average.losers = int(row[0]), row[1]
            average.settle()
        elif kind == _PLAYER:
            scores = self._player(key)
            scores.fixed, scores.possible = row
        else:
            player_id, game_type, _ = split_key(key, 3)
            behind, players = row
            self._results(self._player(player_id), game_type).add(int(behind * UNITS), players)

    def changed_rows(self) -> Iterator[tuple[str, str, JsonRow | None]]:
        """Yield the types, players and results changed since the last call."""
        for game_type in dict.fromkeys(self._changed_types):
            average = self._types[game_type]
            # The sum is beyond the whole numbers of JSON readers.
            yield _TYPE, game_type, [str(average.total), average.losers]
        self._changed_types.clear()
        for player_id in dict.fromkeys(self._changed_players):
            scores = self._scores[player_id]
            yield _PLAYER, player_id, [scores.fixed, scores.possible]
        self._changed_players.clear()
        for player_id, game_type, count, behind, players in self._new_results:
            yield _RESULT, join_key(player_id, game_type, str(count)), [behind, players]
        self._new_results.clear()

    def drop_changes(self) -> None:
        """Forget which own rows have changed, for a fold that stores none."""
        self._changed_types.clear()
        self._changed_players.clear()
        self._new_results.clear()

    def _score(self, game: Game, places: Sequence[int], points: Sequence[float]) -> list[_Scores]:
        count = len(points)
        first = min(places)
        winning = winning_points(points, places)
        everyone = [self._scores.get(player_id) or self._player(player_id) for player_id in game.players]
        for player_id, scores, place, made in zip(game.players, everyone, places, points, strict=True):
            scores.possible += FIRST * count
            if place == first:
                scores.fixed += FIRST * count
            elif winning > 0:
                self._lose(player_id, scores, game.game_type, distance(made, winning), count)
            elif made >= winning:
                scores.fixed += TIE_BREAK * count
        self._changed_players += game.players
        average = self._types.get(self.context.ladder if game.game_type is None else game.game_type)
        if average is not None:
            average.settle()
        return everyone

    def _lose(
        self, player_id: str, scores: _Scores, game_type: str | None, behind: float, count: int
    ) -> _GameType:
        if game_type is None:
            game_type = self.context.ladder
        average = self._types.get(game_type) or self._game_type(game_type)
        average.losers += 1
        self._changed_types.append(game_type)
        if not behind:
            scores.fixed += TIE_BREAK * count
            return average
        units = int(behind * UNITS)
        average.total += units
        results = scores.results.get(game_type) or self._results(scores, game_type)
        results.add(units, count)
        self._new_results.append((player_id, game_type, results.count, behind, count))
        return average

    def _rating(self, scores: _Scores) -> float:
        possible = self._handicap + scores.possible
        if not possible:
            return 0.0
        only = scores.only
        if only is not None:
            # The sum of two is exact before it is rounded, with or without fsum.
            return 100.0 * (scores.fixed + only.score()) / possible
        moving = [results.score() for results in scores.results.values()]
        return 100.0 * math.fsum([scores.fixed, *moving]) / possible

    def _publish(self, player_id: str, scores: _Scores) -> Change:
        known = self.players.get(player_id, _UNRATED)
        after = self._rating(scores)
        sequence = known.sequence + 1
        self.players[player_id] = PlayerRating(after, known.games + 1, sequence)
        return Change(player_id, known.rating, after, sequence)

    def _game_type(self, game_type: str) -> _GameType:
        average = self._types.get(game_type)
        if average is None:
            average = self._types[game_type] = _GameType()
        return average

    def _player(self, player_id: str) -> _Scores:
        scores = self._scores.get(player_id)
        if scores is None:
            scores = self._scores[player_id] = _Scores()
        return scores

    def _results(self, scores: _Scores, game_type: str) -> _Results:
        results = scores.results.get(game_type)
        if results is None:
            results = scores.results[game_type] = _Results(self._game_type(game_type))
            scores.only = results if len(scores.results) == 1 else None
        return results
