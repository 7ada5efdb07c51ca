"""Closeness: what the vectors leave open, every ignore reason, its rows and cost, what holds of any game."""

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from types import FrameType
from typing import Any

import orjson
import pytest
from helpers import (
    LADDER,
    changes,
    imported,
    ladder,
    outputs,
    played,
    ranked,
    ratings,
    reasons,
    scored,
    written,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from streams.core.events import Game, places
from streams.core.ladders import Ladders
from streams.core.ratings.closeness import Closeness
from streams.core.ratings.system import OpenedGame

MAX_INTEGER = 2**53


@st.composite
def streams_of_games(draw: st.DrawFn, most: int = 16) -> list[Game]:
    """Games of five players in three game types, with any ranks, or none, beside their points."""
    points = st.integers(-20, 60) | st.sampled_from([0, 30, 30.5, -400])
    games = []
    for number in range(draw(st.integers(1, most))):
        with_ranks = draw(st.booleans())
        players = [
            scored(player_id, draw(points), **({"rank": draw(st.integers(1, 3))} if with_ranks else {}))
            for player_id in draw(st.lists(st.sampled_from("abcde"), min_size=2, max_size=4, unique=True))
        ]
        game_type = draw(st.sampled_from([{}, {"game_type": "t"}, {"game_type": "a/b"}]))
        games.append(played(str(number), *players, **game_type))
    return games


def of(fold: Ladders) -> Closeness:
    system = fold.system(LADDER, "closeness")
    assert isinstance(system, Closeness)
    return system


def fed(*games: Game, **parameters: Any) -> Ladders:
    fold = ladder("closeness", parameters)
    outputs(fold, games)
    return fold


def today(fold: Ladders) -> dict[str, float]:
    return {player_id: of(fold).rating(player_id) for player_id in "abcde"}


def losing_distances(game: Game) -> list[Fraction | None]:
    """Give each player's distance; None for the first, and for all when the winner has no points."""
    found = places(game) or []
    points = list(map(Fraction, game.points or []))
    winning = max(made for made, place in zip(points, found, strict=True) if place == min(found))
    return [
        None if place == min(found) or winning <= 0 else max(Fraction(0), 1 - made / winning)
        for made, place in zip(points, found, strict=True)
    ]


def direct_score(game: Game, own: int, average: Fraction | None) -> Fraction:
    """Give the score of one player in one game, as the seed words it."""
    found = places(game) or []
    behind = losing_distances(game)[own]
    if found[own] == min(found):
        return Fraction(100)
    if behind is None:
        points = game.points or []
        winning = max(made for made, place in zip(points, found, strict=True) if place == min(found))
        return Fraction(75 if points[own] >= winning else 0)
    if not behind:
        return Fraction(75)
    assert average
    return max(Fraction(0), 75 - 25 * behind / average)


def direct_ratings(games: Sequence[Game]) -> dict[str, float]:
    """Compute everyone's rating in the two stages of the seed, from all games."""
    distances: dict[str | None, list[Fraction]] = {}
    for game in games:
        found = [behind for behind in losing_distances(game) if behind is not None]
        distances.setdefault(game.game_type, []).extend(found)
    averages = {kind: sum(found, Fraction(0)) / len(found) for kind, found in distances.items() if found}
    total = dict.fromkeys("abcde", Fraction(0))
    possible = dict.fromkeys("abcde", 0)
    for game in games:
        everyone = len(game.players)
        for own, player_id in enumerate(game.players):
            total[player_id] += everyone * direct_score(game, own, averages.get(game.game_type))
            possible[player_id] += everyone * 100
    return {player_id: float(100 * total[player_id] / (500 + possible[player_id])) for player_id in total}


def test_a_shared_first_place_is_worth_a_hundred_to_each() -> None:
    found = ratings(ladder("closeness"), played("1", scored("a", 30), scored("b", 30)))

    assert pytest.approx({"a": 100 * 200 / 700, "b": 100 * 200 / 700}) == found


def test_the_winning_points_are_the_most_of_those_who_share_first_place() -> None:
    players = [scored("a", 40, rank=1), scored("b", 20, rank=1), scored("c", 20, rank=3)]
    other = [scored("a", 100, rank=1), scored("c", 0, rank=2)]

    found = ratings(ladder("closeness"), played("1", *players), played("2", *other))

    # Distances 0.5 and 1, average 0.75.
    assert pytest.approx(100 * (3 * (75 - 50 / 3) + 2 * (75 - 100 / 3)) / 1000) == found["c"]


def test_negative_points_are_further_away_than_none() -> None:
    events = [played("1", scored("a", 10), scored("b", -10)), played("2", scored("a", 10), scored("c", 0))]

    found = ratings(ladder("closeness"), *events)

    # Distances 2 and 1, average 1.5.
    assert pytest.approx(100 * 2 * (75 - 50 / 3) / 700) == found["c"]


def test_game_types_have_averages_of_their_own() -> None:
    events = [
        played("1", scored("a", 100), scored("b", 90), game_type="close"),
        played("2", scored("a", 100), scored("b", 10), game_type="wide"),
    ]

    # The average loser of its type, twice.
    assert pytest.approx(100 * 200 / 900) == ratings(ladder("closeness"), *events)["b"]


def test_a_game_without_type_is_of_the_type_named_like_the_ladder() -> None:
    events = [
        played("1", scored("a", 100), scored("b", 90)),
        played("2", scored("a", 100), scored("c", 70), game_type=LADDER),
    ]

    # Distances 0.1 and 0.3, average 0.2.
    assert pytest.approx(100 * 2 * (75 - 37.5) / 700) == ratings(ladder("closeness"), *events)["c"]


def test_the_handicap_is_a_parameter() -> None:
    found = ratings(ladder("closeness", {"handicap": 0}), played("1", scored("a", 30), scored("b", 15)))

    assert found == {"a": 100.0, "b": 50.0}


def test_a_rating_moves_with_the_average_without_own_games() -> None:
    fold = fed(played("1", scored("a", 100), scored("b", 90)))
    before = of(fold).rating("b")

    outputs(fold, [played("2", scored("c", 100), scored("d", 70))])

    # At the average of 0.1 it scored 50; at half of the average of 0.2 it scores 62.5.
    assert pytest.approx([100 * 100 / 700, 100 * 125 / 700]) == [before, of(fold).rating("b")]


def test_only_the_players_of_the_game_are_published() -> None:
    fold = fed(played("1", scored("a", 100), scored("b", 90)))

    found = changes(fold, played("2", scored("c", 100), scored("d", 70)))

    assert [change["player_id"] for change in found] == ["c", "d"]


def test_before_is_the_last_published_rating_though_the_average_moved() -> None:
    fold = ladder("closeness")
    first = changes(fold, played("1", scored("a", 100), scored("b", 90)))[1]

    outputs(fold, [played("2", scored("c", 100), scored("d", 70))])
    second = changes(fold, played("3", scored("a", 100), scored("b", 90)))[1]

    assert (first["after"], 2) == (second["before"], second["sequence"])


def test_a_player_without_games_has_no_rating() -> None:
    assert of(fed(played("1", scored("a", 100), scored("b", 90)))).rating("z") == 0.0


def test_an_abandoned_game_is_rated_as_reported() -> None:
    players = [scored("a", 100, left="abandoned"), scored("b", 90)]

    assert pytest.approx({"a": 100 * 200 / 700, "b": 100 * 100 / 700}) == ratings(
        ladder("closeness"), played("1", *players)
    )


@pytest.mark.parametrize(
    ("winning", "losing"), [(5e-324, -1e15), (5e-324, 1e15), (1e15, -1e15), (1, -1e15), (1e15, 5e-324)]
)
def test_ratings_stay_within_bounds_whatever_the_points(winning: float, losing: float) -> None:
    fold = ladder("closeness")
    events = [
        played("1", scored("a", winning, rank=1), scored("b", losing, rank=2)),
        played("2", scored("a", 10, rank=1), scored("b", 9, rank=2)),
    ]

    assert all(0 <= rating <= 100 for rating in ratings(fold, *events).values())


def test_a_team_game_is_ignored() -> None:
    players = [scored("a", 4, team="n"), scored("b", 3, team="s")]

    assert reasons(ladder("closeness"), played("1", *players)) == ["teams"]


def test_a_game_in_which_one_player_has_no_points_is_ignored() -> None:
    players = [scored("a", 4, rank=1), ranked("b", 2)]

    assert reasons(ladder("closeness"), played("1", *players)) == ["no-points"]


def test_an_ignored_game_leaves_no_rows() -> None:
    fold = fed(played("1", ranked("a", 1), ranked("b", 2)))

    assert [key.partition("/")[0] for key, _ in written(fold)] == ["game"]


def test_an_import_is_ignored() -> None:
    assert reasons(ladder("closeness"), imported("closeness", "a", 60.0)) == ["not-importable"]


@given(streams_of_games())
def test_ratings_are_those_of_two_stages_over_all_games(games: list[Game]) -> None:
    assert pytest.approx(direct_ratings(games), abs=1e-9) == today(fed(*games))


@given(streams_of_games())
def test_ratings_are_between_0_and_100(games: list[Game]) -> None:
    assert all(0 <= rating <= 100 for rating in today(fed(*games, handicap=0)).values())


@given(streams_of_games(), st.randoms(use_true_random=False))
def test_the_order_of_games_and_players_changes_no_rating(games: list[Game], random: Random) -> None:
    straight = today(fed(*games))
    random.shuffle(games)
    shuffled = [reseated(game, random.sample(range(len(game.players)), len(game.players))) for game in games]

    assert straight == today(fed(*shuffled))


def reseated(game: Game, order: Sequence[int]) -> Game:
    """Give the same game with its players in another order."""
    columns = ("players", "ranks", "points", "teams")
    found = {name: column for name in columns if (column := getattr(game, name)) is not None}
    return replace(game, **{name: [column[own] for own in order] for name, column in found.items()})


def reloaded(stored: Mapping[str, bytes], random: Random) -> Ladders:
    fold = ladder("closeness")
    for key in random.sample(sorted(stored), len(stored)):
        fold.load(key, orjson.loads(stored[key]))
    return fold


def store(stored: dict[str, bytes], fold: Ladders) -> None:
    for key, row in written(fold):
        assert row is not None
        stored[key] = row


@given(streams_of_games(), st.sets(st.integers(0, 15)), st.randoms(use_true_random=False))
def test_restarts_change_neither_events_nor_rows(
    games: list[Game], restarts: set[int], random: Random
) -> None:
    straight, restarted = ladder("closeness"), ladder("closeness")
    expected, found = outputs(straight, games), []
    rows: dict[str, bytes] = {}
    rows_restarted: dict[str, bytes] = {}
    for number, game in enumerate(games):
        found += outputs(restarted, [game])
        store(rows_restarted, restarted)
        if number in restarts:
            restarted = reloaded(rows_restarted, random)
    store(rows, straight)

    assert expected == found
    assert rows == rows_restarted
    assert today(straight) == today(restarted)


def test_no_result_is_written_twice() -> None:
    fold = ladder("closeness")
    keys = []
    for number in range(20):
        outputs(fold, [played(str(number), scored("a", 100), scored("b", number))])
        keys += [key for key, _ in written(fold) if key.startswith("closeness-result/")]

    assert sorted(f"closeness-result/{LADDER}/b/{LADDER}/{count}" for count in range(1, 21)) == sorted(keys)


def test_the_number_of_rows_of_a_game_and_their_size_do_not_grow() -> None:
    fold = ladder("closeness")
    sizes = []
    for number in range(2_000):
        outputs(fold, [played(str(number), scored("a", 1000), scored("b", -(number % 977)))])
        rows = [row for key, row in written(fold) if key.startswith("closeness")]
        sizes.append((len(rows), max(len(row or b"") for row in rows)))

    assert {4} == {count for count, _ in sizes}
    assert max(size for _, size in sizes) < 50


def test_no_number_of_a_row_is_beyond_those_of_json() -> None:
    fold = fed(*(played(str(number), scored("a", 3), scored("b", -number)) for number in range(50)))
    numbers = [
        number
        for key, row in fold.changed_rows()
        if key.startswith("closeness")
        for number in row or ()
        if isinstance(number, int)
    ]

    assert max(numbers) < MAX_INTEGER


def with_results(count: int) -> Closeness:
    """Make a system in which two players have that many stored results each, some within reach, some not."""
    random = Random(count)
    fold = ladder("closeness")
    fold.load(f"closeness-type/{LADDER}/{LADDER}", [str(2**51 * count), 2 * count])
    for player_id in "ab":
        for number in range(1, count + 1):
            fold.load(f"closeness-result/{LADDER}/{player_id}/{LADDER}/{number}", [random.random(), 2])
    return of(fold)


def most_steps(system: Closeness) -> int:
    """Count the lines of the program that a game executes, and give the most of a few games."""
    steps = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        if "/ratings/" not in frame.f_code.co_filename:
            return None
        steps += event == "line"
        return count

    found = []
    random = Random(1)
    former = sys.gettrace()
    for number in range(40):
        winner, loser = random.sample("ab", 2)
        made = random.randrange(10_000)
        game = played(str(number), scored(winner, 10_000), scored(loser, made))
        opened = OpenedGame(winner, loser, 1, 2, (10_000, made), None, game.ended_epoch, game, (1, 2))
        steps = 0
        sys.settrace(count)
        try:
            system.rate_batch([opened], {})
        finally:
            sys.settrace(former)
        found.append(steps)
    return max(found)


def test_a_game_after_a_hundred_times_the_results_costs_little_more() -> None:
    few, many = most_steps(with_results(1_000)), most_steps(with_results(100_000))

    assert many <= 1.3 * few
