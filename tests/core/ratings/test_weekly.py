"""Weekly: the seed's tables, draws, teams and abandons."""

from collections.abc import Sequence
from typing import Any

import pytest
from helpers import changes, imported, ladder, played, ranked, reasons
from hypothesis import strategies as st

from streams.core.events import Event, RatingImported
from streams.core.ladders import Ladders
from streams.core.outcomes import IGNORED, RATED
from streams.core.ratings.weekly import Parameters, level

WEEK = "2026-W48"
# Both tables of the seed: a line per own level from 10 down to 1, a column per opponent's level from 10 down.
WINS = """
10  9  8  7  6  5  4  3  2  1
11 10  9  8  7  6  5  4  3  2
12 11 10  9  8  7  6  5  4  3
13 12 11 10  9  8  7  6  5  4
14 13 12 11 10  9  8  7  6  5
15 14 13 12 11 10  9  8  7  6
16 15 14 13 12 11 10  9  8  7
17 16 15 14 13 12 11 10  9  8
18 17 16 15 14 13 12 11 10  9
19 18 17 16 15 14 13 12 11 10
"""
LOSSES = """
10  9  8  7  6  5  4  3  2  1
 9 10  9  8  7  6  5  4  3  2
 8  9 10  9  8  7  6  5  4  3
 7  8  9 10  9  8  7  6  5  4
 6  7  8  9 10  9  8  7  6  5
 5  6  7  8  9 10  9  8  7  6
 4  5  6  7  8  9 10  9  8  7
 3  4  5  6  7  8  9 10  9  8
 2  3  4  5  6  7  8  9 10  9
 1  2  3  4  5  6  7  8  9 10
"""
LEFT: list[str | None] = [None, "abandoned", "disconnected"]
POINTS = st.integers(0, 600)
RANKS = st.integers(1, 3)


def cells(table: str) -> list[Any]:
    """Give (own level, opponent's level, points) of every cell."""
    lines = zip(range(10, 0, -1), table.split("\n")[1:], strict=False)
    return [
        pytest.param(own, other, int(cell), id=f"{own} against {other}")
        for own, line in lines
        for other, cell in zip(range(10, 0, -1), line.split(), strict=True)
    ]


def middle(own: int) -> int:
    """Give points in the middle of a level, from which no game leaves it below 0."""
    return 50 * own - 25


def start(player_id: str, points: float, week: str | None = WEEK, games: int = 1) -> RatingImported:
    return imported("weekly", player_id, points, games, week=week)


def moves(figures: dict[str, float], *players: dict[str, Any]) -> dict[str, float]:
    """Play one game from those points of the week, and give each player's change."""
    found = changes(ladder("weekly"), *(start(*known) for known in figures.items()), played("1", *players))
    return {change["player_id"]: change["after"] - change["before"] for change in found}


def member(player_id: str, team: str, rank: int, left: str | None = None) -> dict[str, Any]:
    fields = {} if left is None else {"left": left}
    return ranked(player_id, rank, team=team, **fields)


def apply(ladders: Ladders, event: Event) -> str:
    return ladders.apply(event, [])


@pytest.mark.parametrize(("own", "other", "expected"), cells(WINS))
def test_a_win_brings_what_the_seeds_table_says(own: int, other: int, expected: int) -> None:
    found = moves({"a": middle(own), "b": middle(other)}, ranked("a", 1), ranked("b", 2))

    assert expected == found["a"]


@pytest.mark.parametrize(("own", "other", "expected"), cells(LOSSES))
def test_a_loss_costs_what_the_seeds_table_says(own: int, other: int, expected: int) -> None:
    found = moves({"a": middle(own), "b": middle(other)}, ranked("a", 2), ranked("b", 1))

    assert -expected == found["a"]


def test_both_tables_are_complete() -> None:
    assert [len(cells(WINS)), len(cells(LOSSES))] == [100, 100]


@pytest.mark.parametrize(
    ("points", "expected"),
    [(0, 1), (49, 1), (50, 2), (356, 8), (166, 4), (261, 6), (399, 8), (400, 9), (449, 9), (450, 10)],
)
def test_a_level_is_fifty_points(points: int, expected: int) -> None:
    assert expected == level(points, Parameters())


def test_there_is_no_level_above_the_tenth() -> None:
    assert level(1e300, Parameters()) == 10


def test_a_half_point_below_a_level_is_not_that_level() -> None:
    assert level(49.5, Parameters()) == 1


def test_the_only_level_of_one_is_the_first() -> None:
    assert level(0, Parameters(levels=1)) == 1


def test_points_never_fall_below_zero() -> None:
    assert moves({"a": 4, "b": 4}, ranked("a", 1), ranked("b", 2)) == {"a": 10, "b": -4}


def test_a_newcomer_of_the_week_starts_at_zero() -> None:
    found = changes(ladder("weekly"), played("1", ranked("a", 1), ranked("b", 2)))

    assert [(change["before"], change["after"]) for change in found] == [(0, 10), (0, 0)]


def test_a_draw_brings_both_one_point_whatever_their_levels() -> None:
    assert moves({"a": 0, "b": 400}, ranked("a", 1), ranked("b", 1)) == {"a": 1, "b": 1}


def test_two_ranks_that_are_equal_but_not_first_are_a_draw() -> None:
    assert moves({"a": 0, "b": 400}, ranked("a", 2), ranked("b", 2)) == {"a": 1, "b": 1}


def test_a_change_shows_the_level_before_and_after() -> None:
    found = changes(ladder("weekly"), start("a", 45), played("1", ranked("a", 1), ranked("b", 2)))

    assert [(change["level_before"], change["level"]) for change in found] == [(1, 2), (1, 1)]


def test_a_change_names_its_week() -> None:
    found = changes(ladder("weekly"), played("1", ranked("a", 1), ranked("b", 2)))

    assert [change["week"] for change in found] == [WEEK, WEEK]


def test_a_new_week_starts_from_zero_and_counts_from_one() -> None:
    found = changes(
        ladder("weekly", timezone="Europe/Paris"),
        played("1", ranked("a", 1), ranked("b", 2), ended_at="2026-11-29T22:59:59.999999Z"),
        played("2", ranked("a", 1), ranked("b", 2), ended_at="2026-11-29T23:00:00Z"),
    )

    assert [
        (change["week"], change["before"], change["sequence"]) for change in found if change["after"]
    ] == [("2026-W48", 0, 1), ("2026-W49", 0, 1)]


def test_a_week_ends_to_the_microsecond_also_when_a_float_cannot_tell() -> None:
    players = ranked("a", 1), ranked("b", 2)
    found = changes(
        ladder("weekly"),
        played("1", *players, ended_at="9000-01-05T12:00:00Z"),
        played("2", *players, ended_at="9000-01-05T23:59:59.999999Z"),
        played("3", *players, ended_at="9000-01-06T00:00:00Z"),
    )

    assert [change["week"] for change in found[::2]] == ["9000-W01", "9000-W01", "9000-W02"]


def test_games_of_two_weeks_that_arrive_in_turn_each_go_on_with_their_own() -> None:
    sunday, monday = {"ended_at": "2026-11-30T00:59:00+02:00"}, {"ended_at": "2026-11-30T00:00:00+01:00"}
    players = ranked("a", 1), ranked("b", 2)
    found = changes(
        ladder("weekly", timezone="Europe/Paris"),
        played("1", *players, **sunday),
        played("2", *players, **monday),
        played("3", *players, **sunday),
        played("4", *players, **monday),
    )

    assert [(change["week"], change["after"]) for change in found if change["after"]] == [
        ("2026-W48", 10),
        ("2026-W49", 10),
        ("2026-W48", 20),
        ("2026-W49", 20),
    ]


def test_every_game_of_a_week_is_counted_in_sequence() -> None:
    games = [played(str(number), ranked("a", 1), ranked("b", 2)) for number in range(3)]
    found = changes(ladder("weekly"), *games)

    assert [change["sequence"] for change in found if change["player_id"] == "b"] == [1, 2, 3]


# Teams


def test_a_teams_level_is_that_of_the_mean_of_its_members() -> None:
    found = moves(
        {"a": 356, "c": 166, "b": 310, "d": 310},
        member("a", "n", 1),
        member("c", "n", 1),
        member("b", "s", 2),
        member("d", "s", 2),
    )

    assert found == {"a": 11, "c": 11, "b": -9, "d": -9}


def test_a_mean_is_not_rounded() -> None:
    # 49.5 is level 1 and would be 50, level 2, if it were rounded.
    found = moves({"a": 49, "c": 50, "b": 0}, member("a", "n", 1), member("c", "n", 1), member("b", "s", 2))

    assert found == {"a": 10, "c": 10, "b": 0}


@pytest.mark.parametrize("order", ["acd", "adc", "cad", "cda", "dac", "dca"])
def test_a_mean_is_that_of_the_exact_sum(order: str) -> None:
    # 50.0, which is level 2; added up from left to right it is a little less in some orders.
    figures = {"a": 90.1, "c": 3.1, "d": 56.8}
    found = changes(
        ladder("weekly"),
        *(start(*known) for known in figures.items()),
        played("1", member("b", "s", 1), *(member(player_id, "n", 2) for player_id in order)),
    )

    assert found[0]["after"] == 11


def test_a_team_has_the_rank_of_its_best_member() -> None:
    found = moves({}, member("a", "n", 1), member("b", "s", 2), member("c", "n", 3))

    assert found == {"a": 10, "b": 0, "c": 10}


def test_two_teams_whose_best_members_are_equal_draw() -> None:
    found = moves({}, member("a", "n", 1), member("b", "s", 1), member("c", "n", 3))

    assert found == {"a": 1, "b": 1, "c": 1}


def test_a_member_below_zero_is_held_there_alone() -> None:
    found = moves({"b": 4, "d": 30}, member("a", "n", 1), member("b", "s", 2), member("d", "s", 2))

    assert found == {"a": 10, "b": -4, "d": -10}


@pytest.mark.parametrize(
    "players",
    [
        [ranked("a", 1), ranked("b", 2), ranked("c", 3)],
        [member("a", "n", 1), member("b", "s", 2), member("c", "w", 3)],
        [member("a", "n", 1), member("b", "n", 2)],
        [member("a", "n", 1), member("b", "n", 1), member("c", "s", 2), ranked("d", 2)],
    ],
    ids=["three individuals", "three teams", "one team", "a player without team among teams"],
)
def test_a_game_of_other_than_two_sides_does_not_count(players: Sequence[dict[str, Any]]) -> None:
    assert reasons(ladder("weekly"), played("1", *players)) == ["player-count"]


# Abandons


def test_who_abandons_loses_whatever_the_ranks_and_pays_five_more() -> None:
    found = moves({"a": 120, "b": 140}, ranked("a", 1, left="abandoned"), ranked("b", 2))

    assert found == {"a": -15, "b": 10}


def test_who_abandons_a_drawn_game_loses_it() -> None:
    found = moves({"a": 120, "b": 140}, ranked("a", 1), ranked("b", 1, left="abandoned"))

    assert found == {"a": 10, "b": -15}


def test_who_abandons_at_few_points_stops_at_zero() -> None:
    found = moves({"a": 12, "b": 0}, ranked("a", 2, left="abandoned"), ranked("b", 1))

    assert found == {"a": -12, "b": 10}


def test_who_was_disconnected_did_not_abandon() -> None:
    found = moves({"a": 120, "b": 140}, ranked("a", 1, left="disconnected"), ranked("b", 2))

    assert found == {"a": 10, "b": -10}


def test_a_quitters_team_loses_and_the_quitter_alone_pays_more() -> None:
    found = moves(
        {"a": 120, "b": 120, "c": 120, "d": 120},
        member("a", "n", 1, "abandoned"),
        member("c", "n", 1),
        member("b", "s", 2),
        member("d", "s", 2, "disconnected"),
    )

    assert found == {"a": -15, "c": -10, "b": 10, "d": 10}


def test_nobody_wins_when_both_abandon() -> None:
    found = moves({"a": 120, "b": 220}, ranked("a", 1, left="abandoned"), ranked("b", 2, left="abandoned"))

    assert found == {"a": -13, "b": -13}


def test_who_stayed_in_a_game_that_both_teams_abandoned_pays_nothing() -> None:
    found = moves(
        {"a": 120, "b": 120, "c": 120, "d": 120},
        member("a", "n", 1, "abandoned"),
        member("c", "n", 1),
        member("b", "s", 2, "abandoned"),
        member("d", "s", 2),
    )

    assert found == {"a": -15, "b": -15, "c": 0, "d": 0}


# Outcomes and parameters


def test_a_game_that_counts_is_rated() -> None:
    assert apply(ladder("weekly"), played("1", ranked("a", 1), ranked("b", 2))) == RATED


def test_a_game_that_does_not_count_is_ignored_and_leaves_only_itself() -> None:
    fold = ladder("weekly")
    outcome = apply(fold, played("1", ranked("a", 1), ranked("b", 2), ranked("c", 3)))

    assert outcome == IGNORED
    assert [key for key, _ in fold.changed_rows()] == ["game/l/1"]


def test_a_game_writes_a_row_of_the_week_for_each_of_its_players() -> None:
    fold = ladder("weekly")
    players = ranked("a", 1), ranked("b", 2, left="abandoned")
    apply(fold, played("1", *players))
    rows = dict(fold.changed_rows())

    assert {key: row for key, row in rows.items() if key.startswith("weekly")} == {
        # points, games, wins, losses, draws, abandons, sequence
        "weekly-player/l/2026-W48/a": [10, 1, 1, 0, 0, 0, 1],
        "weekly-player/l/2026-W48/b": [0, 1, 0, 1, 0, 1, 1],
    }


def test_every_number_is_a_parameter() -> None:
    parameters = {"stake": 20.5, "draw": 2, "level_size": 10, "levels": 3, "abandon_penalty": 7}
    events: list[Event] = [
        start("a", 100),
        start("b", 100),
        played("1", ranked("a", 1), ranked("c", 2)),
        played("2", ranked("a", 1), ranked("c", 1)),
        played("3", ranked("b", 2, left="abandoned"), ranked("d", 1)),
    ]
    found = changes(ladder("weekly", parameters), *events)

    assert [change["after"] - change["before"] for change in found] == [18.5, 0, 2, 2, -25.5, 22.5]


def test_a_win_never_costs_and_a_loss_never_pays_however_many_levels() -> None:
    fold = ladder("weekly", {"levels": 100})
    found = changes(fold, start("a", 5000), start("b", 49), played("1", ranked("a", 1), ranked("b", 2)))

    assert [change["after"] - change["before"] for change in found] == [0, 0]
