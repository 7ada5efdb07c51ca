"""What holds of any game of the weekly competition."""

from typing import Any

from helpers import changes, imported, ladder, played, ranked
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from streams.core.events import Player, RatingImported

WEEK = "2026-W48"
LEFT: list[str | None] = [None, "abandoned", "disconnected"]
POINTS = st.integers(0, 600)
RANKS = st.integers(1, 3)


def start(player_id: str, points: float, week: str | None = WEEK, games: int = 1) -> RatingImported:
    return imported("weekly", player_id, points, games, week=week)


def member(player_id: str, team: str, rank: int, left: str | None = None) -> Player:
    return ranked(player_id, rank, team=team, left=left)


def any_game(count: int) -> st.SearchStrategy[list[tuple[int, int, str | None]]]:
    return st.lists(
        st.tuples(POINTS, RANKS, st.sampled_from(LEFT)),
        min_size=count,
        max_size=count,
    )


@given(any_game(4), st.lists(st.sampled_from("ns"), min_size=4, max_size=4))
def test_nobody_falls_below_zero(table: list[tuple[int, int, str | None]], teams: list[str]) -> None:
    figures = {str(index): row[0] for index, row in enumerate(table)}
    players = [
        member(str(index), team, row[1], row[2])
        for index, (row, team) in enumerate(zip(table, teams, strict=True))
    ]
    found = changes(ladder("weekly"), *(start(*known) for known in figures.items()), played("1", *players))

    assert all(change["after"] >= 0 for change in found)


@given(
    any_game(4),
    st.lists(st.sampled_from("ns"), min_size=4, max_size=4),
    st.permutations(range(4)),
    st.sampled_from([10, 0.1]),
)
def test_the_order_of_the_players_changes_nothing(
    table: list[tuple[int, int, str | None]], teams: list[str], order: list[int], stake: float
) -> None:
    players = [
        member(str(index), team, row[1], row[2])
        for index, (row, team) in enumerate(zip(table, teams, strict=True))
    ]

    def found(players: list[Player]) -> dict[str, Any]:
        imports = [start(str(index), row[0] + stake) for index, row in enumerate(table)]
        fold = ladder("weekly", {"stake": stake})
        return {change["player_id"]: change for change in changes(fold, *imports, played("1", *players))}

    assert found(players) == found([players[index] for index in order])


@given(any_game(2))
def test_a_player_alone_and_a_team_of_one_are_the_same(table: list[tuple[int, int, str | None]]) -> None:
    figures = {str(index): row[0] for index, row in enumerate(table)}
    teams = [member(str(index), str(index), row[1], row[2]) for index, row in enumerate(table)]
    alone = [replace(player, team=None) for player in teams]

    def found(players: list[Player]) -> list[Any]:
        imports = [start(*known) for known in figures.items()]
        return changes(ladder("weekly"), *imports, played("1", *players))

    assert found(teams) == found(alone)
