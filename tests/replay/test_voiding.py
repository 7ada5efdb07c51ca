"""Which games a void means: by id or by player, on the log or still to come."""

import pytest
from helpers import LADDER, played, ranked

from streams.core.events import Game, GameVoided
from streams.replay.voiding import LadderGames, Voidable


def won(game_id: str, *players: str, **fields: object) -> Game:
    """Make a game that the first of its players has won."""
    return played(game_id, *(ranked(name, place) for place, name in enumerate(players, 1)), **fields)


def void(game_id: str, ladder: str = LADDER) -> GameVoided:
    return GameVoided(ladder, game_id, "cheat")


def voidable(*log: Game | GameVoided, game_ids: tuple[str, ...] = (), player: str | None = None) -> Voidable:
    games = LadderGames(LADDER, game_ids, player)
    for event in log:
        games.take(event)
    return games.voidable()


def test_a_game_on_the_log_is_told_from_one_still_to_come() -> None:
    assert voidable(won("1", "a", "b"), game_ids=("1", "2")) == Voidable(on_log=["1"], missing=["2"])


def test_a_game_of_another_ladder_is_not_on_the_log() -> None:
    elsewhere = won("1", "a", "b", ladder="other")

    assert voidable(elsewhere, void("1", "other"), game_ids=("1",)) == Voidable(missing=["1"])


def test_all_games_of_a_player_are_meant_and_no_others() -> None:
    log = [won("1", "a", "b"), won("2", "b", "c"), won("3", "c", "a")]

    assert voidable(*log, player="a") == Voidable(on_log=["1", "3"])


def test_a_game_named_twice_is_one_game() -> None:
    assert voidable(won("1", "a", "b"), game_ids=("1", "1"), player="a") == Voidable(on_log=["1"])


@pytest.mark.parametrize(
    "log",
    [
        [won("1", "a", "b"), void("1")],
        [won("1", "a", "b"), void("1"), won("1", "a", "b")],
        [void("1"), won("1", "a", "b")],
        [won("1", "a", "b", version=2), void("1"), won("1", "b", "a")],
    ],
)
def test_a_game_that_was_taken_back_stays_so_whatever_copies_come(log: list[Game | GameVoided]) -> None:
    assert voidable(*log, player="a") == Voidable(voided=["1"])


def test_a_higher_version_brings_a_game_back() -> None:
    log = [won("1", "a", "b"), void("1"), won("1", "b", "a", version=2)]

    assert voidable(*log, game_ids=("1",)) == Voidable(on_log=["1"])


def test_a_void_before_its_game_is_known_too() -> None:
    assert voidable(void("1"), game_ids=("1",)) == Voidable(voided_missing=["1"])


def test_who_plays_in_a_game_is_said_by_its_highest_version() -> None:
    log = [
        won("1", "a", "b"),
        won("1", "c", "b", version=2),
        won("2", "c", "b", version=2),
        won("2", "a", "b"),
    ]

    assert voidable(*log, player="a") == Voidable()


def test_everybody_on_the_ladder_is_known() -> None:
    games = LadderGames(LADDER, (), "nobody")
    games.take(won("1", "a", "b"))
    games.take(won("2", "d", "e", ladder="other"))

    assert games.players == {"a", "b"}
