"""Preview: what a waiting table promises is what the fold then gives."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers import LADDER, changes, imported, ladder, outputs, played, ranked, scored
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.cli.main import cli
from streams.core.events import Game, RatingImported
from streams.core.preview import (
    NEEDS_ROWS,
    Known,
    Prospect,
    WaitingTable,
    possible_games,
    preview_text,
    prospects,
    rows_of,
)
from streams.core.rankings import shown_change
from streams.core.ratings import SYSTEMS
from streams.core.rules import LadderRules, parse_ladders

MOMENT = datetime(2026, 11, 25, 20, tzinfo=UTC)
WEEK = "2026-W48"
# What four players can make of a game: each their points, of which the ranks follow.
MADE = (-1, 0, 1, 5)
FIGURES = st.tuples(st.floats(0, 3000), st.integers(0, 60))

CHESS = """
[ladders.chess]
systems = ["fundox"]
[ladders.words]
systems = ["points", "closeness", "fundox"]
[ladders.belote]
systems = ["weekly"]
timezone = "Europe/Paris"
"""


def rules(*systems: str, **parameters: Mapping[str, Any]) -> LadderRules:
    return parse_ladders({"ladders": {LADDER: {"systems": list(systems), **parameters}}})[LADDER]


def table(*sides: str) -> WaitingTable:
    """Make a table of sides such as "a" or "ab", a team of a and b."""
    return WaitingTable(LADDER, [list(side) for side in sides], MOMENT)


def figures(system: str, known: Mapping[str, tuple[float, int]]) -> list[RatingImported]:
    week = WEEK if system == "weekly" else None
    return [
        imported(system, player_id, rating, games, week=week) for player_id, (rating, games) in known.items()
    ]


def after(system: str, known: Mapping[str, tuple[float, int]], game: Game) -> dict[str, float]:
    fold = ladder(system)
    outputs(fold, figures(system, known))
    return {body["player_id"]: body["after"] for body in changes(fold, game)}


def of(found: Iterable[Prospect], player_id: str) -> Prospect:
    return next(prospect for prospect in found if prospect.player_id == player_id)


def earned_and_lost(prospect: Prospect) -> tuple[str, str]:
    assert prospect.best is not None
    assert prospect.worst is not None
    return (
        str(shown_change(prospect.rating, prospect.best)),
        str(-shown_change(prospect.rating, prospect.worst)),
    )


def by_points(made: Sequence[float], names: str) -> Game:
    return played("1", *(scored(name, points) for name, points in zip(names, made, strict=True)))


def history() -> list[Game]:
    """Give games in which everyone has won and lost by various distances."""
    return [
        played("h1", scored("a", 40), scored("b", 32), scored("c", 28), game_type="x"),
        played("h2", scored("b", 30), scored("a", 10), game_type="x"),
        played("h3", scored("z", 9), scored("a", 3), scored("b", 8), game_type="y"),
        played("h4", scored("a", 12), scored("c", 11), game_type="x"),
    ]


def test_the_seeds_figures() -> None:
    known = Known(figures=figures("fundox", {"a": (1600, 50), "b": (1796, 50)}))

    found = prospects(rules("fundox"), table("a", "b"), known)

    assert earned_and_lost(of(found, "a")) == ("10.2", "5.8")
    assert earned_and_lost(of(found, "b")) == ("5.8", "10.2")


def test_fundox_loses_most_to_the_weakest_at_the_table() -> None:
    known = {"a": (1600.0, 9), "b": (1200.0, 9), "c": (2000.0, 9)}

    found = of(prospects(rules("fundox"), table("a", "b", "c"), Known(figures=figures("fundox", known))), "a")

    assert found.worst == pytest.approx(1600 - 12.16, abs=0.005)
    assert found.best == pytest.approx(1600 + 3.84 + 12.16, abs=0.01)


def test_points_promises_the_whole_share_and_threatens_with_none() -> None:
    found = of(prospects(rules("points"), table("a", "b"), Known()), "a")

    assert (found.best, found.worst) == (1150, 850)


def test_weekly_goes_by_the_levels_and_stops_at_zero() -> None:
    known = Known(figures=figures("weekly", {"a": (310, 20), "b": (460, 20), "c": (3, 1)}))

    strong = prospects(rules("weekly"), table("a", "b"), known)
    poor = of(prospects(rules("weekly"), table("c", "b"), known), "c")

    assert earned_and_lost(of(strong, "a")) == ("13.0", "7.0")
    assert earned_and_lost(of(strong, "b")) == ("7.0", "7.0")
    assert earned_and_lost(poor) == ("19.0", "1.0")


def test_weekly_knows_teams() -> None:
    known = Known(figures=figures("weekly", {"a": (356, 20), "b": (166, 20)}))

    found = prospects(rules("weekly"), table("ab", "cd"), known)

    assert [earned_and_lost(prospect) for prospect in found] == [("5.0", "5.0")] * 2 + [("15.0", "0.0")] * 2


def test_weekly_takes_the_points_of_the_week_in_which_the_game_would_end() -> None:
    known = Known(figures=[imported("weekly", "a", 310, week="2026-W47")])

    assert of(prospects(rules("weekly"), table("a", "b"), known), "a").rating == 0


def test_bga_counts_as_advised_for_the_game_type() -> None:
    advised = parse_ladders({"ladders": {LADDER: {"systems": ["bga"], "advised_players": {"x": 2}}}})[LADDER]
    sides = [["a"], ["b"], ["c"], ["d"]]

    usual = of(prospects(advised, WaitingTable(LADDER, sides, MOMENT, "x"), Known()), "a")
    other = of(prospects(advised, WaitingTable(LADDER, sides, MOMENT, "y"), Known()), "a")

    assert (usual.best, other.best) == (1530, 1560)


def test_closeness_has_no_prospects_without_the_ladders_rows() -> None:
    found = of(prospects(rules("closeness"), table("a", "b"), Known()), "a")

    assert (found.best, found.worst, found.reason) == (None, None, NEEDS_ROWS)


def test_a_game_that_would_not_be_rated_says_why() -> None:
    found = prospects(rules("fundox", "bga"), table(*"abcde"), Known())

    assert {(prospect.system, prospect.reason) for prospect in found} == {
        ("fundox", "player-count"),
        ("bga", None),
    }


@pytest.mark.parametrize("system", ["fundox", "points", "bga"])
@given(st.lists(FIGURES, min_size=2, max_size=3))
@settings(max_examples=15)
def test_no_result_gives_more_than_the_best_or_less_than_the_worst(
    system: str, given_figures: list[tuple[float, int]]
) -> None:
    names = "abc"[: len(given_figures)]
    known = dict(zip(names, given_figures, strict=True))

    found = prospects(rules(system), table(*names), Known(figures=figures(system, known)))
    possible = [after(system, known, by_points(made, names)) for made in product(MADE, repeat=len(names))]

    for name in names:
        ratings = [result[name] for result in possible]
        expected = of(found, name)
        assert expected.best == pytest.approx(max(ratings), rel=1e-12)
        assert expected.worst == pytest.approx(min(ratings), rel=1e-12)


@given(st.tuples(FIGURES, FIGURES))
@settings(max_examples=15)
def test_no_result_of_two_gives_more_or_less_in_the_weekly_competition(
    given_figures: tuple[tuple[float, int], tuple[float, int]],
) -> None:
    known = dict(zip("ab", given_figures, strict=True))

    found = prospects(rules("weekly"), table("a", "b"), Known(figures=figures("weekly", known)))
    decided = [
        after("weekly", known, played("1", ranked("a", a), ranked("b", b))) for a, b in ((1, 2), (2, 1))
    ]

    for name in "ab":
        assert of(found, name).best == max(result[name] for result in decided)
        assert of(found, name).worst == min(result[name] for result in decided)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_best_of_a_deployments_rows_is_what_the_whole_fold_gives_for_a_win_alone(system: str) -> None:
    whole = ladder(system)
    outputs(whole, history())
    rows = list(whole.changed_rows())
    asked = WaitingTable(LADDER, [["a"], ["c"]], MOMENT, "x")

    found = of(prospects(rules(system), asked, Known(rows_of(rows, rules(system), asked))), "a")
    won = changes(whole, played("1", scored("a", 1), scored("c", 0), game_type="x"))

    assert found.best == won[0]["after"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_worst_of_a_deployments_rows_is_what_the_whole_fold_gives_for_a_defeat(system: str) -> None:
    whole = ladder(system)
    outputs(whole, history())
    rows = list(whole.changed_rows())
    asked = WaitingTable(LADDER, [["a"], ["c"]], MOMENT, "x")

    found = of(prospects(rules(system), asked, Known(rows_of(rows, rules(system), asked))), "a")
    lost = changes(whole, played("1", scored("a", 0), scored("c", 1), game_type="x"))

    assert found.worst == lost[0]["after"]


def test_closeness_starts_from_todays_rating_not_from_the_last_published() -> None:
    whole = ladder("closeness")
    outputs(whole, history())
    rows = list(whole.changed_rows())
    asked = WaitingTable(LADDER, [["b"], ["c"]], MOMENT, "x")
    system = whole.system(LADDER, "closeness")
    assert system is not None
    today = {player_id: rating for player_id, rating, _ in system.ratings()}

    found = of(prospects(rules("closeness"), asked, Known(rows_of(rows, rules("closeness"), asked))), "b")

    assert found.rating == today["b"]
    assert found.rating != system.players["b"].rating


def test_a_preview_needs_the_rows_of_its_own_players_only() -> None:
    whole = ladder("closeness")
    outputs(whole, history())
    rows = [*whole.changed_rows(), ("watermark/0", {"offset": 4})]

    kept = [key for key, _ in rows_of(rows, rules("closeness"), table("c", "z"))]

    assert sorted(kept) == [
        "closeness-player/l/c",
        "closeness-player/l/z",
        "closeness-result/l/c/x/1",
        "closeness-result/l/c/x/2",
        "closeness-type/l/x",
        "closeness-type/l/y",
        "player/l/c",
        "player/l/z",
    ]


def test_a_table_has_two_results_for_each_side() -> None:
    assert [list(game.ranks or []) for game in possible_games(table("a", "b", "c"))] == [
        [1, 2, 2],
        [2, 1, 1],
        [2, 1, 2],
        [1, 2, 1],
        [2, 2, 1],
        [1, 1, 2],
    ]


def test_a_shown_change_is_the_difference_of_the_shown_ratings() -> None:
    assert shown_change(1600.06, 1608.04) == Decimal("7.9")


def test_an_unrated_table_shows_ratings_in_brackets() -> None:
    found = prospects(rules("fundox"), table("a", "b"), Known())

    assert preview_text(LADDER, found, unrated=True).splitlines()[-1].split() == [
        "b",
        "(1600.0)",
        "0",
        "games",
        "unrated:",
        "nothing",
        "to",
        "win",
        "or",
        "lose",
    ]


def preview(tmp_path: Path, *options: str) -> Result:
    file = tmp_path / "ladders.toml"
    file.write_text(CHESS)
    return CliRunner().invoke(cli, ["preview", "--ladders", str(file), *options], env={})


def test_the_command_shows_the_seeds_figures(tmp_path: Path) -> None:
    result = preview(
        tmp_path, "--ladder", "chess", "--players", "ann,Tweedledum", "--rating", "Tweedledum=1796"
    )

    assert result.output == (
        "chess, fundox\n"
        "  ann           1600.0       0 games   earn 10.2, lose 5.8\n"
        "  Tweedledum    1796.0       0 games   earn 5.8, lose 10.2\n"
    )


def test_the_command_shows_every_system_of_the_ladder(tmp_path: Path) -> None:
    result = preview(tmp_path, "--ladder", "words", "--players", "ann,bob")

    assert "words, points\n  ann    1000.0       0 games   earn 150.0, lose 150.0\n" in result.output
    assert "words, closeness\n  ann         ?       0 games   depends on all games" in result.output
    assert "words, fundox\n  ann    1600.0       0 games   earn 8.0, lose 8.0\n" in result.output


def test_the_command_takes_teams_and_the_week_of_the_end(tmp_path: Path) -> None:
    options = ("--at", "2026-11-25T20:00:00Z", "--rating", "a=356", "--rating", "b=166")

    result = preview(tmp_path, "--ladder", "belote", "--team", "a,b", "--team", "c,d", *options)

    assert result.output.splitlines()[3] == "  c       0.0       0 games   earn 15.0, lose 0.0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ladder", "go", "--players", "a,b"), "there is no ladder 'go'"),
        (("--ladder", "chess", "--players", "a,b", "--system", "bga"), "'bga' is not a system of chess"),
        (("--ladder", "chess"), "say who plays"),
        (("--ladder", "chess", "--players", "a,b", "--team", "a,b"), "say who plays"),
        (("--ladder", "chess", "--players", "a,a"), "2 to 32 different players"),
        (("--ladder", "chess", "--players", "a"), "2 to 32 different players"),
        (("--ladder", "chess", "--players", "a,"), "somebody without a name"),
        (("--ladder", "chess", "--players", "a,b", "--rating", "a"), "'a' is not PLAYER=RATING"),
        (("--ladder", "chess", "--players", "a,b", "--rating", "a=nan"), "'a=nan' is not PLAYER=RATING"),
        (("--ladder", "chess", "--players", "a,b", "--games", "a=1.5"), "'a=1.5' is not PLAYER=GAMES"),
        (("--ladder", "chess", "--players", "a,b", "--games", "c=1"), "'c' is not at the table"),
        (("--ladder", "words", "--players", "a,b", "--games", "a=1"), "need --system"),
        (
            ("--ladder", "words", "--players", "a,b", "--games", "a=1", "--system", "closeness"),
            "computed from all games",
        ),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = preview(tmp_path, *options)

    assert result.exit_code == 2
    assert message in result.output
