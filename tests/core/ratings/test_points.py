"""Points: what the vectors leave open, every ignore reason, and what holds of any game."""

import math
from random import Random

import pytest
from helpers import imported, ladder, played, ranked, ratings, reasons, scored, without_order
from hypothesis import given
from hypothesis import strategies as st

from streams.core.ratings.points import Parameters, changes, shares, weight

GAMES = st.integers(0, 200)
POINTS = st.integers(-50, 500) | st.floats(-1e3, 1e3)
RATINGS = st.floats(0, 4000)
ANY_RATINGS = st.floats(-1e6, 1e6)
# Points, rating and number of games of each player.
TABLES = st.lists(st.tuples(POINTS, RATINGS, GAMES), min_size=2, max_size=4)


def columns(table: list[tuple[float, float, int]]) -> tuple[list[float], list[float], list[int]]:
    return [row[0] for row in table], [row[1] for row in table], [row[2] for row in table]


def test_the_first_game_weighs_three_times_the_limit() -> None:
    assert pytest.approx(3.0) == weight(0, Parameters()) / weight(10_000, Parameters())


def test_the_game_after_forty_weighs_one_point_04_times_the_limit() -> None:
    assert pytest.approx(1.04, abs=0.005) == weight(40, Parameters()) / weight(10_000, Parameters())


def test_zero_points_take_everything_from_a_negative_opponent() -> None:
    found = ratings(ladder("points"), played("1", scored("a", 0), scored("b", -5)))

    assert pytest.approx({"a": 1150.0, "b": 850.0}) == found


def test_zero_points_share_equally_beside_a_negative_third() -> None:
    assert shares([0, 0, -1]) == [0.5, 0.5, 0.0]


def test_the_sum_of_shares_is_one_of_points_whose_squares_are_too_large() -> None:
    assert shares([1e300, 1e300]) == [0.5, 0.5]


def test_the_result_is_that_of_the_points_whatever_the_ranks() -> None:
    players = [scored("a", 300, rank=2), scored("b", 400, rank=1)]
    swapped = [scored("a", 300, rank=1), scored("b", 400, rank=2)]

    assert ratings(ladder("points"), played("1", *players)) == ratings(
        ladder("points"), played("1", *swapped)
    )


def test_a_disconnected_player_can_gain() -> None:
    found = ratings(ladder("points"), played("1", scored("a", 400, left="disconnected"), scored("b", 300)))

    assert found["a"] > 1000.0


def test_of_two_who_abandoned_neither_gains_nor_loses() -> None:
    players = [scored("a", 400, left="abandoned"), scored("b", 300, left="abandoned")]

    assert ratings(ladder("points"), played("1", *players)) == {"a": 1000.0, "b": 1000.0}


def test_when_one_of_three_abandons_a_second_cannot_lose_and_a_third_can_gain() -> None:
    players = [scored("a", 400), scored("b", 100), scored("c", 90, left="abandoned")]

    found = ratings(ladder("points"), played("1", *players))

    assert (found["a"] > 1000.0, found["b"], found["c"] < 1000.0) == (True, 1000.0, True)


def test_without_ratings_above_zero_everyone_is_expected_to_share_equally() -> None:
    events = [imported("points", player_id, 0.0) for player_id in "ab"]

    found = ratings(ladder("points"), *events, played("1", scored("a", 4), scored("b", 3)))

    assert found == {"a": 0.0, "b": 0.0}


def test_a_rating_below_zero_stays_where_it_is() -> None:
    events = [imported("points", "a", -50.0), imported("points", "b", 1000.0)]

    found = ratings(ladder("points"), *events, played("1", scored("a", 4), scored("b", 3)))

    assert found["a"] == -50.0


def test_a_base_above_one_costs_no_more_than_there_is() -> None:
    fold = ladder("points", {"base": 5})

    found = ratings(fold, played("1", scored("a", 4), scored("b", -3)))

    assert found["b"] == 0.0


def test_a_team_game_is_ignored() -> None:
    players = [scored("a", 4, team="n"), scored("b", 3, team="s")]

    assert reasons(ladder("points"), played("1", *players)) == ["teams"]


def test_five_players_are_too_many() -> None:
    players = [scored(player_id, 4) for player_id in "abcde"]

    assert reasons(ladder("points"), played("1", *players)) == ["player-count"]


def test_a_game_without_points_is_ignored() -> None:
    assert reasons(ladder("points"), played("1", ranked("a", 1), ranked("b", 2))) == ["no-points"]


def test_a_game_in_which_one_player_has_no_points_is_ignored() -> None:
    players = [scored("a", 4, rank=1), ranked("b", 2)]

    assert reasons(ladder("points"), played("1", *players)) == ["no-points"]


def test_a_second_import_is_ignored() -> None:
    events = [imported("points", "a", 900.0), imported("points", "a", 800.0)]

    assert reasons(ladder("points"), *events) == ["already-rated"]


@given(TABLES, st.randoms(use_true_random=False), st.sets(st.integers(0, 3)))
def test_the_order_of_the_players_changes_nothing(
    table: list[tuple[float, float, int]], random: Random, quitters: set[int]
) -> None:
    figures = {f"p{own}": (rating, games) for own, (_, rating, games) in enumerate(table)}
    players = [
        scored(f"p{own}", points, **({"left": "abandoned"} if own in quitters else {}))
        for own, (points, _, _) in enumerate(table)
    ]
    shuffled = random.sample(players, len(players))

    assert without_order("points", figures, players) == without_order("points", figures, shuffled)


@given(TABLES)
def test_no_rating_falls_below_zero(table: list[tuple[float, float, int]]) -> None:
    points, known, games = columns(table)

    found = [
        rating + change
        for rating, change in zip(known, changes(points, known, games, Parameters()), strict=True)
    ]

    assert min(found) >= 0


@given(st.lists(st.floats(0, 1e3), min_size=2, max_size=4), RATINGS, GAMES)
def test_equal_ratings_and_games_exchange_what_they_win(
    points: list[float], rating: float, games: int
) -> None:
    everyone = len(points)

    found = changes(points, [rating] * everyone, [games] * everyone, Parameters())

    assert pytest.approx(0, abs=1e-9) == math.fsum(found)


@given(st.lists(st.tuples(POINTS | st.floats(-1e308, 1e308), ANY_RATINGS, GAMES), min_size=2, max_size=4))
def test_ratings_stay_finite(table: list[tuple[float, float, int]]) -> None:
    points, known, games = columns(table)

    assert all(math.isfinite(change) for change in changes(points, known, games, Parameters()))
