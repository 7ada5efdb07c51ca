"""Fundox: losers pay the winner, and the sum of all ratings never moves."""

import math

import pytest
from helpers import ladder, outputs, played, ranked, ratings, reasons
from hypothesis import given
from hypothesis import strategies as st

from streams.core.ratings.fundox import Parameters, changes, price

RATINGS = st.floats(-1e6, 1e6)


def test_the_seeds_example() -> None:
    assert price(2000, 1600, Parameters()) == pytest.approx(3.84, abs=0.005)
    assert price(1600, 2000, Parameters()) == pytest.approx(12.16, abs=0.005)


def test_equal_players_pay_eight() -> None:
    assert price(1600, 1600, Parameters()) == 8


def test_in_a_game_of_four_equal_players_the_winner_takes_three_times_eight() -> None:
    assert changes([1, 2, 3, 4], [1600] * 4, Parameters()) == [24, -8, -8, -8]


def test_losers_pay_nothing_to_each_other() -> None:
    assert changes([2, 1, 2], [1700, 1600, 1500], Parameters())[0] == -price(1600, 1700, Parameters())


def test_nobody_pays_when_first_place_is_shared() -> None:
    assert changes([1, 1, 3], [1700, 1600, 1500], Parameters()) == [0, 0, 0]


def test_who_is_best_has_won_whatever_the_number() -> None:
    assert changes([7, 3], [1600, 1600], Parameters()) == [-8, 8]


def test_five_players_do_not_count() -> None:
    game = played("1", *(ranked(name, place) for place, name in enumerate("abcde", start=1)))

    assert reasons(ladder("fundox"), game) == ["player-count"]


def test_teams_do_not_count() -> None:
    assert reasons(ladder("fundox"), played("1", ranked("a", 1, team="n"), ranked("b", 2, team="s"))) == [
        "teams"
    ]


def test_stake_start_and_scale_are_parameters() -> None:
    fold = ladder("fundox", {"start": 1000, "stake": 32, "scale": 400})

    assert ratings(fold, played("1", ranked("a", 1), ranked("b", 2))) == {"a": 1016, "b": 984}


@given(RATINGS, RATINGS)
def test_what_two_players_can_win_from_each_other_is_the_stake(one: float, other: float) -> None:
    both = price(one, other, Parameters()) + price(other, one, Parameters())

    assert both == pytest.approx(16)


@given(st.lists(st.tuples(RATINGS, st.integers(1, 4)), min_size=2, max_size=4))
def test_the_changes_of_a_game_sum_to_nothing_and_are_finite(players: list[tuple[float, int]]) -> None:
    found = changes([rank for _, rank in players], [rating for rating, _ in players], Parameters())

    assert math.fsum(found) == pytest.approx(0, abs=1e-9)
    assert all(map(math.isfinite, found))


@given(
    st.lists(st.tuples(RATINGS, st.integers(1, 4)), min_size=2, max_size=4).flatmap(
        lambda p: st.tuples(st.just(p), st.permutations(p))
    )
)
def test_the_order_of_the_players_does_not_matter(
    orders: tuple[list[tuple[float, int]], list[tuple[float, int]]],
) -> None:
    found = [
        sorted(
            zip(
                players,
                changes([rank for _, rank in players], [rating for rating, _ in players], Parameters()),
                strict=True,
            )
        )
        for players in orders
    ]

    assert found[0] == found[1]


@given(
    st.lists(
        st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=4, unique=True), min_size=1, max_size=60
    )
)
def test_the_sum_of_all_ratings_never_moves(tables: list[list[str]]) -> None:
    fold = ladder("fundox")
    games = [
        played(str(n), *(ranked(p, place) for place, p in enumerate(table, 1)))
        for n, table in enumerate(tables)
    ]

    outputs(fold, games)
    found = fold.ratings("l", "fundox")

    assert math.fsum(rating for _, rating, _ in found) == pytest.approx(1600 * len(found), abs=1e-6)
