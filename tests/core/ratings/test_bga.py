"""Bga: its titles and quit policies, every ignore reason, and what holds of any game."""

import math
from random import Random

import pytest
from helpers import changes as published
from helpers import imported, ladder, played, ranked, ratings, reasons, without_order
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from streams.core.ratings import bga, fundox
from streams.core.ratings.bga import Parameters, changes, title

RANKS = st.integers(1, 8)
RATINGS = st.floats(-1e6, 1e6) | st.floats(1000, 2500)
GAMES = st.integers(0, 60)
# Rank, rating and number of games of each player.
TABLES = st.lists(st.tuples(RANKS, RATINGS, GAMES), min_size=2, max_size=8)
PARAMETERS = st.builds(Parameters, cap=st.sampled_from([0.0, 600.0, 1e300]))

QUIT = {"left": "abandoned"}


def quit_at(minute: int) -> dict[str, str]:
    return {"left": "abandoned", "left_at": f"2026-11-25T19:{minute:02}:00Z"}


def columns(table: list[tuple[int, float, int]]) -> tuple[list[int], list[float], list[int]]:
    return [row[0] for row in table], [row[1] for row in table], [row[2] for row in table]


@pytest.mark.parametrize(
    ("rating", "expected"),
    [
        (1600.0, ""),
        (1600.1, "Good"),
        (1800.0, "Good"),
        (1800.1, "Expert"),
        (2000.0, "Expert"),
        (2000.1, "Master"),
    ],
)
def test_a_title_is_for_more_than_its_threshold(rating: float, expected: str) -> None:
    assert expected == title(rating)


def test_a_change_shows_the_title_won_and_the_one_before() -> None:
    fold = ladder("bga")

    found = published(fold, imported("bga", "a", 1590.0), played("1", ranked("a", 1), ranked("b", 2)))

    assert [(change["player_id"], change["title"], change["title_before"]) for change in found] == [
        ("a", "Good", ""),
        ("b", "", ""),
    ]


def test_a_change_shows_the_title_lost() -> None:
    fold = ladder("bga")

    found = published(fold, imported("bga", "a", 1601.0), played("1", ranked("a", 2), ranked("b", 1)))

    assert (found[0]["title"], found[0]["title_before"]) == ("", "Good")


def test_the_advised_number_is_that_of_the_ladder_when_the_game_has_no_type() -> None:
    fold = ladder("bga", advised_players={"l": 2})

    found = ratings(fold, played("1", ranked("a", 1), ranked("b", 2), ranked("c", 3)))

    assert found == {"a": 1530.0, "b": 1500.0, "c": 1470.0}


def test_an_advised_number_above_the_players_changes_nothing() -> None:
    fold = ladder("bga", advised_players={"l": 5})

    found = ratings(fold, played("1", ranked("a", 1), ranked("b", 2), ranked("c", 3)))

    assert found == {"a": 1545.0, "b": 1500.0, "c": 1455.0}


def test_by_default_those_who_stayed_are_unrated() -> None:
    game = played("1", ranked("a", 1), ranked("b", 2, **QUIT))

    assert (reasons(ladder("bga"), game), ratings(ladder("bga"), game)) == (["left"], {"b": 1460.0})


def test_those_who_stayed_keep_their_number_of_games() -> None:
    fold = ladder("bga", {"newcomer_games": 1})

    found = ratings(
        fold, played("1", ranked("a", 1), ranked("b", 2, **QUIT)), played("2", ranked("a", 1), ranked("c", 2))
    )

    assert found["a"] == 1530.0


def test_exclude_rates_nobody() -> None:
    fold = ladder("bga", {"quit_policy": "exclude"})

    assert reasons(fold, played("1", ranked("a", 1), ranked("b", 2, **QUIT))) == ["left"]


def test_last_place_rates_the_others_as_before_the_quitter() -> None:
    fold = ladder("bga", {"quit_policy": "last-place"})

    found = ratings(fold, played("1", ranked("a", 2), ranked("b", 1, **QUIT)))

    assert found == {"a": 1530.0, "b": 1460.0}


def test_the_penalty_is_a_parameter() -> None:
    fold = ladder("bga", {"quit_penalty": 25})

    assert ratings(fold, played("1", ranked("a", 1), ranked("b", 2, **QUIT))) == {"b": 1445.0}


def test_only_the_first_to_quit_pays() -> None:
    players = [ranked("a", 1), ranked("b", 2, **quit_at(30)), ranked("c", 3, **quit_at(20))]

    assert list(ratings(ladder("bga"), played("1", *players))) == ["c"]


def test_without_times_the_first_of_the_list_quit_first() -> None:
    players = [ranked("a", 1), ranked("b", 2, **QUIT), ranked("c", 3, **QUIT)]

    assert list(ratings(ladder("bga"), played("1", *players))) == ["b"]


def test_a_known_time_of_quitting_comes_before_an_unknown_one() -> None:
    players = [ranked("a", 1), ranked("b", 2, **QUIT), ranked("c", 3, **quit_at(20))]

    assert list(ratings(ladder("bga"), played("1", *players))) == ["c"]


def test_a_later_quitter_keeps_the_reported_rank_under_last_place() -> None:
    fold = ladder("bga", {"quit_policy": "last-place"})
    players = [ranked("a", 3), ranked("b", 2, **quit_at(20)), ranked("c", 1, **quit_at(30))]

    assert ratings(fold, played("1", *players)) == {"a": 1500.0, "b": 1445.0, "c": 1545.0}


def test_a_disconnected_player_did_not_quit() -> None:
    game = played("1", ranked("a", 1, left="disconnected"), ranked("b", 2))

    assert ratings(ladder("bga"), game) == {"a": 1530.0, "b": 1470.0}


def test_a_team_game_is_ignored() -> None:
    players = [ranked("a", 1, team="n"), ranked("b", 2, team="s")]

    assert reasons(ladder("bga"), played("1", *players)) == ["teams"]


def test_thirty_two_players_are_rated() -> None:
    players = [ranked(f"p{rank}", rank) for rank in range(1, 33)]

    assert len(ratings(ladder("bga"), played("1", *players))) == 32


def test_thirty_three_players_are_too_many() -> None:
    players = [ranked(f"p{rank}", rank) for rank in range(1, 33)]
    game = played("1", *players)
    game = replace(game, players=[*game.players, "p33"], ranks=[*(game.ranks or []), 33])

    assert reasons(ladder("bga"), game) == ["player-count"]


def test_a_second_import_is_ignored() -> None:
    events = [imported("bga", "a", 1900.0), imported("bga", "a", 1800.0)]

    assert reasons(ladder("bga"), *events) == ["already-rated"]


@given(TABLES, st.randoms(use_true_random=False), st.sets(st.integers(0, 7)))
def test_the_order_of_the_players_changes_nothing(
    table: list[tuple[int, float, int]], random: Random, quitters: set[int]
) -> None:
    figures = {f"p{own}": (rating, games) for own, (_, rating, games) in enumerate(table)}
    players = [
        ranked(f"p{own}", rank, **(quit_at(own) if own in quitters else {}))
        for own, (rank, _, _) in enumerate(table)
    ]
    shuffled = random.sample(players, len(players))

    assert without_order("bga", figures, players) == without_order("bga", figures, shuffled)


@given(TABLES, RANKS, RATINGS, GAMES)
def test_tied_players_of_equal_rating_get_equal_changes(
    table: list[tuple[int, float, int]], rank: int, rating: float, games: int
) -> None:
    twin = (rank, rating, games)
    ranks, known, played_before = columns([twin, *table, twin])

    found = changes(ranks, known, played_before, None, Parameters())

    assert found[0] == found[-1]


@given(TABLES, GAMES)
def test_with_the_same_k_the_changes_sum_to_zero(table: list[tuple[int, float, int]], games: int) -> None:
    ranks, known, _ = columns(table)

    found = changes(ranks, known, [games] * len(ranks), None, Parameters())

    assert pytest.approx(0, abs=1e-9) == math.fsum(found)


@given(TABLES, PARAMETERS)
def test_ratings_stay_finite(table: list[tuple[int, float, int]], parameters: Parameters) -> None:
    ranks, known, games = columns(table)

    found = [
        *bga.changes(ranks, known, games, None, parameters),
        *fundox.changes(ranks, known, fundox.Parameters()),
    ]

    assert all(math.isfinite(change) for change in found)
