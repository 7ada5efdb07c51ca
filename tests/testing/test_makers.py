"""Makers make what is valid, and refuse what is not with a message that names it."""

import msgspec
import pytest

from streams import events
from streams.testing import CLUB_LADDERS, Driver, InvalidEventError, club_games, finished, ranked, scored
from streams.wire.schemas import validator


def test_of_players_by_their_ids_the_first_has_won() -> None:
    game = finished("g-1", "ann", "bob", "eve")

    assert game.players == [ranked("ann", 1), ranked("bob", 2), ranked("eve", 3)]


def test_a_game_may_say_everything_that_its_schema_has() -> None:
    game = finished(
        "g-1",
        scored("ann", 12.5, team="n", rank=1),
        scored("bob", -3, team="s", rank=2, left="abandoned", left_at="2026-11-25T19:50:00Z"),
        ladder="belote",
        ended_at="2026-11-25T20:00:00+01:00",
        game_type="belote-teams",
        started_at="2026-11-25T19:00:00+01:00",
        rated=False,
        version=2,
    )

    assert validator(events.GAME_FINISHED).is_valid(msgspec.to_builtins(game))


@pytest.mark.parametrize(
    ("players", "fields", "message"),
    [
        (("ann",), {}, "schema: players: .* has less than 2 items"),
        (("ann", "ann"), {}, "same-player-twice: players: 'ann' appears twice"),
        (("ann", ranked("bob", 0)), {}, r"schema: players\[1\].rank: 0 is less than the minimum of 1"),
        (("ann", "bob"), {"ended_at": "yesterday"}, "schema: ended_at: "),
        (("ann", "bob"), {"started_at": "2026-11-26T00:00:00Z"}, "started-after-ended: started_at: "),
    ],
)
def test_what_would_be_rejected_is_refused(players: tuple, fields: dict, message: str) -> None:
    with pytest.raises(InvalidEventError, match=message):
        finished("g-1", *players, **fields)


def test_the_club_plays_on_the_ladders_of_its_file() -> None:
    driver = Driver(CLUB_LADDERS)

    driver.send(*club_games(50))

    assert driver.counts.read >= 50
    assert driver.counts.rejected == 0


def test_equal_seeds_give_equal_games() -> None:
    assert list(club_games(20, seed=7)) == list(club_games(20, seed=7)) != list(club_games(20, seed=8))
