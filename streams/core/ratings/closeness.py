"""Closeness: how near a player comes to winning, measured by the average loser of each game type (seed 002).

A rating is always that of all own games under today's averages. Distances are kept as whole numbers, so that
sums are exact: they depend neither on the order of the games nor on batches or restarts.

Pure: standard library only.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streams.core.events import PAIR, Game, RatingImported
from streams.core.ratings.parameters import number
from streams.core.ratings.prefix_sums import PrefixSums
from streams.core.ratings.system import (
    Change,
    JsonRow,
    LadderContext,
    Notes,
    OpenedGame,
    PlayerRating,
    Rated,
    System,
    Verdict,
    ignored,
)
from streams.core.row_keys import join_key, split_key

FIRST = 100
TIE_BREAK = 75
PER_AVERAGE = 25
NOTHING_AT = TIE_BREAK // PER_AVERAGE  # times the average distance

# One minus a float is a multiple of 2^-53, so that in these units every distance is a whole number.
UNITS = 2.0**53
# Negative points make distances above 1; nothing real is this far, and sums stay finite.
FURTHEST = 2.0**64

_UNRATED: PlayerRating = (0.0, 0, 0)
_TYPE = "closeness-type"
_PLAYER = "closeness-player"
_RESULT = "closeness-result"


@dataclass(frozen=True)
class Parameters:
    """`handicap` is added to the maximum possible score, so that few games cannot give a high rating."""

    handicap: float = number(500.0, 0.0)


def distance(points: float, winning: float) -> float:
    """Give how far `points` are behind the winner's, as a part of those, which are above 0."""
    behind = 1.0 - points / winning
    if behind <= 0:
        return 0.0
    return behind if behind < FURTHEST else FURTHEST  # noqa: FURB136 - min would take twice as long


def winning_points(points: Sequence[float], places: Sequence[int]) -> float:
    """Give the winner's points, the most of them when first place is shared (our decision)."""
    first = min(places)
    if places.count(first) == 1:
        return points[places.index(first)]
    return max(made for made, place in zip(points, places, strict=True) if place == first)


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
        self.reach = (NOTHING_AT * self.total - 1) // self.losers


class _Results(PrefixSums):
    """One player's losses in one game type of which the score depends on the average."""

    __slots__ = ("game_type",)

    def __init__(self, game_type: _GameType) -> None:
        super().__init__()
        self.game_type = game_type

    def score(self) -> float:
        """Give the sum of `(75 - 25 * distance/average) * players` over all that are above 0.

        The quotient is that of whole numbers, correctly rounded, and so never above 3 times the players.
        """
        average = self.game_type
        reach = average.reach
        if not self._from <= reach < self._to:
            self._answer_for(reach)
        return PER_AVERAGE * (NOTHING_AT * self._weight - average.losers * self._product / average.total)


class _Own:
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

    def __init__(self, parameters: Any, context: LadderContext) -> None:
        super().__init__(parameters, context)
        self._handicap = self.parameters.handicap
        self._types: dict[str, _GameType] = {}
        self._own: dict[str, _Own] = {}
        # An id for every change, most of them again and again.
        self._changed_types: list[str] = []
        self._changed_players: list[str] = []
        self._new_results: list[tuple[str, str, int, float, int]] = []

    def rate(self, game: Game, places: Sequence[int]) -> Verdict:
        """Score a game, and give its players their ratings under the averages that include it."""
        if game.teams is not None:
            return ignored("teams")
        if game.points is None:
            return ignored("no-points")
        scored = self._score(game, places, game.points)
        return list(map(self._publish, game.players, scored)), None

    def rate_all(self, opened: Iterable[OpenedGame], notes: Notes) -> list[Rated]:
        """Score games one after the other: the usual ones, if one has won, without further ado."""
        found: list[Rated] = []
        name = self.name
        find = self._own.get
        publish = self._publish
        changed = self._changed_players
        for one, two, place_one, place_two, points, game_type, _, game, places in opened:
            if one is None or points is None or place_one == place_two:
                self.rate_unusual(game, places, found, notes)
                continue
            first = find(one) or self._player(one)
            second = find(two) or self._player(two)
            first.possible += FIRST * PAIR
            second.possible += FIRST * PAIR
            changed.append(one)
            changed.append(two)
            if place_one < place_two:
                winning, made = points
                first.fixed += FIRST * PAIR
                loser, own = two, second
            else:
                made, winning = points
                second.fixed += FIRST * PAIR
                loser, own = one, first
            if winning > 0:
                self._lose(loser, own, game_type, distance(made, winning), PAIR).settle()
            elif made >= winning:
                own.fixed += TIE_BREAK * PAIR
            found.append((name, (publish(one, first), publish(two, second))))
        return found

    def rating(self, player_id: str) -> float:
        """Give a player's rating under today's averages; 0 without games.

        The cost is O(log m) for each game type the player has played, m being the player's results in it.
        """
        own = self._own.get(player_id)
        return 0.0 if own is None else self._rating(own)

    def ratings(self) -> list[tuple[str, float, int]]:
        """Give (player, rating, games) of everyone, under today's averages."""
        return [
            (player_id, self.rating(player_id), games) for player_id, (_, games, _) in self.players.items()
        ]

    def start(self, imported: RatingImported) -> Change | str:  # noqa: ARG002 - whatever it says
        """Refuse: a rating is computed from the player's own games, and an import brings none."""
        return "not-importable"

    def load_row(self, kind: str, key: str, row: Any) -> None:
        """Take back a row as `changed_rows` gave it out, in any order, each result once."""
        if kind == _TYPE:
            average = self._game_type(key)
            average.total, average.losers = int(row[0]), row[1]
            average.settle()
        elif kind == _PLAYER:
            own = self._player(key)
            own.fixed, own.possible = row
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
            own = self._own[player_id]
            yield _PLAYER, player_id, [own.fixed, own.possible]
        self._changed_players.clear()
        for player_id, game_type, count, behind, players in self._new_results:
            yield _RESULT, join_key(player_id, game_type, str(count)), [behind, players]
        self._new_results.clear()

    def drop_changes(self) -> None:
        """Forget which own rows have changed."""
        self._changed_types.clear()
        self._changed_players.clear()
        self._new_results.clear()

    def _score(self, game: Game, places: Sequence[int], points: Sequence[float]) -> list[_Own]:
        count = len(points)
        first = min(places)
        winning = winning_points(points, places)
        everyone = [self._own.get(player_id) or self._player(player_id) for player_id in game.players]
        for player_id, own, place, made in zip(game.players, everyone, places, points, strict=True):
            own.possible += FIRST * count
            if place == first:
                own.fixed += FIRST * count
            elif winning > 0:
                self._lose(player_id, own, game.game_type, distance(made, winning), count)
            elif made >= winning:
                own.fixed += TIE_BREAK * count
        self._changed_players += game.players
        average = self._types.get(self.context.ladder if game.game_type is None else game.game_type)
        if average is not None:
            average.settle()
        return everyone

    def _lose(self, player_id: str, own: _Own, game_type: str | None, behind: float, count: int) -> _GameType:
        if game_type is None:
            game_type = self.context.ladder
        average = self._types.get(game_type) or self._game_type(game_type)
        average.losers += 1
        self._changed_types.append(game_type)
        if not behind:
            own.fixed += TIE_BREAK * count
            return average
        units = int(behind * UNITS)
        average.total += units
        results = own.results.get(game_type) or self._results(own, game_type)
        results.add(units, count)
        self._new_results.append((player_id, game_type, results.count, behind, count))
        return average

    def _rating(self, own: _Own) -> float:
        possible = self._handicap + own.possible
        if not possible:
            return 0.0
        only = own.only
        if only is not None:
            # The sum of two is exact before it is rounded, with or without fsum.
            return 100.0 * (own.fixed + only.score()) / possible
        scores = [found.score() for found in own.results.values()]
        return 100.0 * math.fsum([own.fixed, *scores]) / possible

    def _publish(self, player_id: str, own: _Own) -> Change:
        before, games, sequence = self.players.get(player_id, _UNRATED)
        after = self._rating(own)
        sequence += 1
        self.players[player_id] = after, games + 1, sequence
        return player_id, before, after, sequence, None

    def _game_type(self, game_type: str) -> _GameType:
        found = self._types.get(game_type)
        if found is None:
            found = self._types[game_type] = _GameType()
        return found

    def _player(self, player_id: str) -> _Own:
        found = self._own.get(player_id)
        if found is None:
            found = self._own[player_id] = _Own()
        return found

    def _results(self, own: _Own, game_type: str) -> _Results:
        found = own.results.get(game_type)
        if found is None:
            found = own.results[game_type] = _Results(self._game_type(game_type))
            own.only = found if len(own.results) == 1 else None
        return found
