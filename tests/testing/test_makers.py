"""Makers make what is valid, and refuse what is not with a message that names it."""

import msgspec
import pytest

from streams import events, testing
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


MADE = [
    testing.registered("ann"),
    testing.connected("ann"),
    testing.disconnected("ann", "g-1", "d-1"),
    testing.returned("ann", "g-1", "d-1"),
    testing.game_started("ann", "g-1"),
    testing.deal_started("ann", "g-1", "d-1"),
    testing.abandoned("ann", "g-1"),
    testing.reputation("ann", 1, by="bob"),
    testing.sanctioned("ann", "demon", until="2026-12-01T00:00:00Z"),
    testing.pardoned("ann"),
    testing.appointed("ann", "seraph", event_id="report-7"),
    testing.erased("ann"),
]


def test_there_is_a_maker_for_all_that_a_site_says_of_players() -> None:
    by_ladderlog = {events.Played, events.ActJudged, events.StatusDue}

    assert {type(event) for event in MADE} | by_ladderlog == set(events.PLAYER_EVENTS.values())


@pytest.mark.parametrize("event", MADE, ids=events.name_of)
def test_what_happens_to_a_player_fits_its_schema(event: events.PlayerEvent) -> None:
    assert validator(events.name_of(event)).is_valid(msgspec.to_builtins(event))


def test_an_event_has_an_id_of_its_own_unless_it_is_given_one() -> None:
    assert len({event.event_id for event in MADE}) == len(MADE)
    assert "report-7" in {event.event_id for event in MADE}


def test_what_would_be_rejected_of_a_player_is_refused() -> None:
    with pytest.raises(InvalidEventError, match=r'schema: grade: "seraph" is not one of'):
        testing.sanctioned("ann", "seraph")
