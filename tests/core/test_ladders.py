"""The ladders fold: one outcome for every event, and the same bytes whatever the batches."""

from typing import Any

import orjson
import pytest
from helpers import (
    LADDER,
    as_read,
    changes,
    game,
    imported,
    ladder,
    outputs,
    played,
    ranked,
    reasons,
    scored,
    written,
)
from hypothesis import given
from hypothesis import strategies as st

from streams.core.events import GAME_IGNORED, RATING_CHANGED, REASONS, GameVoided, Rejected
from streams.core.ladders import Ladders
from streams.core.outcomes import IGNORED, NOTED, RATED
from streams.core.rules import parse_ladders
from streams.testing import problems


def won(game_id: str, winner: str = "ann", loser: str = "bob", **fields: Any) -> Any:
    return played(game_id, ranked(winner, 1), ranked(loser, 2), **fields)


def test_a_rated_game_publishes_a_change_for_every_player() -> None:
    fold = ladder("fundox")

    (ann, bob) = changes(fold, won("g/1"))

    assert ann == {
        "change_id": "l/fundox/g%2F1/ann",
        "ladder": "l",
        "system": "fundox",
        "player_id": "ann",
        "game_id": "g/1",
        "sequence": 1,
        "before": 1600.0,
        "after": 1608.0,
        "ended_at": "2026-11-25T20:00:00Z",
        "statistics": {"games": 1, "wins": 1, "losses": 0, "draws": 0},
    }
    assert bob["statistics"] == {"games": 1, "wins": 0, "losses": 1, "draws": 0}


def test_a_shared_first_place_is_a_draw() -> None:
    fold = ladder("fundox")

    (ann, bob, eve) = changes(fold, played("1", ranked("ann", 1), ranked("bob", 1), ranked("eve", 3)))

    assert ann["statistics"] == {"games": 1, "wins": 0, "losses": 0, "draws": 1}
    assert bob["statistics"] == {"games": 1, "wins": 0, "losses": 0, "draws": 1}
    assert eve["statistics"] == {"games": 1, "wins": 0, "losses": 1, "draws": 0}


def test_members_of_a_team_win_together() -> None:
    fold = ladder("weekly")

    found = changes(
        fold,
        played(
            "1",
            ranked("ann", 1, team="n"),
            ranked("bob", 2, team="s"),
            ranked("eve", 3, team="n"),
            ranked("joe", 4, team="s"),
        ),
    )

    assert {body["player_id"]: body["statistics"]["wins"] for body in found} == {
        "ann": 1,
        "bob": 0,
        "eve": 1,
        "joe": 0,
    }


def test_ranks_are_derived_from_points_when_not_everyone_has_one() -> None:
    fold = ladder("fundox")

    (ann, bob) = changes(fold, played("1", scored("ann", 0), scored("bob", 12.5, rank=2)))

    assert bob["after"] > 1600 > ann["after"]


def test_a_game_without_a_result_is_ignored() -> None:
    assert reasons(ladder("fundox"), played("1", ranked("ann", 1), {"player_id": "bob"})) == ["no-result"]


def test_an_unrated_game_is_ignored_and_not_counted() -> None:
    fold = ladder("fundox")

    assert reasons(fold, won("1", rated=False)) == ["unrated"]
    assert changes(fold, won("2"))[0]["statistics"]["games"] == 1


def test_the_same_game_again_is_ignored() -> None:
    fold = ladder("fundox")
    changes(fold, won("1"))

    assert reasons(fold, won("1")) == ["duplicate"]
    assert changes(fold, won("2"))[0]["sequence"] == 2


def test_the_same_id_with_other_content_is_a_conflict() -> None:
    fold = ladder("fundox")
    changes(fold, won("1"))

    with pytest.raises(Rejected) as caught:
        fold.apply(won("1", "bob", "ann"), [])

    assert caught.value.reason == "conflict"
    assert "'1'" in caught.value.message


def test_an_unrated_game_is_remembered_too() -> None:
    fold = ladder("fundox")
    reasons(fold, won("1", rated=False))

    with pytest.raises(Rejected, match="other content"):
        fold.apply(won("1"), [])


def test_a_game_that_was_forgotten_is_too_old_to_come_again() -> None:
    fold = ladder("fundox", remember="2d")
    changes(fold, won("1", ended_at="2026-11-25T20:10:00Z"))
    changes(fold, won("2", ended_at="2026-11-27T20:50:00Z"))

    assert reasons(fold, won("1", ended_at="2026-11-25T20:10:00Z")) == ["duplicate"]

    changes(fold, won("3", ended_at="2026-11-27T21:00:00Z"))

    assert reasons(fold, won("1", ended_at="2026-11-25T20:10:00Z")) == ["too-old"]


@pytest.mark.parametrize(("ended_at", "why"), [("20:00:00", []), ("19:59:59", ["too-old"])])
def test_a_game_may_come_as_late_as_games_are_remembered(ended_at: str, why: list[str]) -> None:
    fold = ladder("fundox", remember="2d")
    changes(fold, won("1", ended_at="2026-11-27T20:59:59Z"))

    assert reasons(fold, won("late", ended_at=f"2026-11-25T{ended_at}Z")) == why


@pytest.mark.parametrize("remember", ["520w", "3650d"])
def test_games_may_be_remembered_for_years(remember: str) -> None:
    fold = ladder("fundox", remember=remember)
    changes(fold, won("1", ended_at="2017-01-01T00:00:00Z"))
    changes(fold, won("2", ended_at="2026-11-25T20:10:00Z"))

    assert reasons(fold, won("1", ended_at="2017-01-01T00:00:00Z")) == ["duplicate"]


def test_a_game_of_before_1970_is_rated_remembered_and_forgotten() -> None:
    fold = ladder("fundox", remember="2d")
    old = won("old", ended_at="1969-07-20T20:17:40Z")

    assert [fold.apply(event, []) for event in (old, old)] == [RATED, IGNORED]
    assert dict(written(fold))["game/l/old"] is not None
    fold.apply(won("new"), [])
    assert dict(written(fold))["game/l/old"] is None


def test_a_late_game_is_remembered_as_long_as_any() -> None:
    fold = ladder("fundox", remember="2d")
    changes(fold, won("1", ended_at="2026-11-25T20:00:00Z"))
    changes(fold, won("late", ended_at="2026-11-24T20:00:00Z"))
    changes(fold, won("2", ended_at="2026-11-27T20:00:00Z"))

    assert reasons(fold, won("late", ended_at="2026-11-24T20:00:00Z")) == ["duplicate"]


def test_forgotten_games_leave_the_table() -> None:
    fold = ladder("fundox", remember="2d")
    changes(fold, won("1", ended_at="2026-11-25T20:00:00Z"))
    rows = dict(written(fold))
    changes(fold, won("2", ended_at="2026-12-25T20:00:00Z"))

    rows |= dict(written(fold))

    assert rows["game/l/1"] is None
    assert rows["game/l/2"] is not None


def test_one_game_counts_for_one_system_and_not_for_another() -> None:
    fold = Ladders(parse_ladders({"ladders": {LADDER: {"systems": ["fundox", "bga"]}}}))
    five = played("1", *(ranked(name, place) for place, name in enumerate("abcde", start=1)))

    published = outputs(fold, [five])

    assert [output.body["system"] for output in published if output.topic == RATING_CHANGED] == ["bga"] * 5
    assert [output.body for output in published if output.topic == GAME_IGNORED] == [
        {"game_id": "1", "ladder": "l", "reasons": [{"system": "fundox", "reason": "player-count"}]}
    ]


def test_an_import_starts_a_player_and_its_sequence_goes_on() -> None:
    fold = ladder("fundox")

    (started,) = outputs(fold, [imported("fundox", "ann", 2000, games=29)])
    (ann, _) = changes(fold, won("1"))

    assert started.body == {
        "change_id": "l/fundox/%import/ann",
        "ladder": "l",
        "system": "fundox",
        "player_id": "ann",
        "sequence": 29,
        "before": 1600.0,
        "after": 2000,
        "statistics": {"games": 0, "wins": 0, "losses": 0, "draws": 0},
        "reason": "import",
    }
    assert (ann["sequence"], ann["before"]) == (30, 2000)


def test_an_import_for_a_player_with_games_is_ignored() -> None:
    fold = ladder("fundox")
    changes(fold, won("1"))

    (ignored,) = outputs(fold, [imported("fundox", "ann", 2000)])

    assert ignored.body == {
        "player_id": "ann",
        "ladder": "l",
        "reasons": [{"system": "fundox", "reason": "already-rated"}],
    }


def test_an_unknown_ladder_or_system_is_rejected() -> None:
    fold = ladder("fundox")

    with pytest.raises(Rejected, match="'chess' is not in the ladder file"):
        fold.apply(won("1", ladder="chess"), [])
    with pytest.raises(Rejected, match="'bga' is not a system"):
        fold.apply(imported("bga", "ann", 1500), [])


def test_every_event_has_an_outcome() -> None:
    fold = ladder("fundox")

    outcomes = [
        fold.apply(event, [])
        for event in (won("1"), won("1"), GameVoided(LADDER, "1", "cheat"), imported("fundox", "new", 1700))
    ]

    assert outcomes == [RATED, IGNORED, NOTED, NOTED]


NAMES = "abcdefg"
DAY = st.integers(1, 28)


@st.composite
def streams(draw: st.DrawFn) -> list[Any]:
    """Make a stream of games of every kind: ties, points, teams, abandons, unrated, duplicates, late ones."""
    games: list[Any] = []
    for number in range(draw(st.integers(1, 25))):
        if games and draw(st.integers(0, 9)) == 0:
            games.append(draw(st.sampled_from(games)))
            continue
        names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
        players = [
            {
                "player_id": name,
                "rank": draw(st.integers(1, 3)),
                "points": draw(st.integers(-5, 30)),
                **draw(st.sampled_from([{}, {}, {}, {"left": "abandoned"}])),
            }
            for name in names
        ]
        ended = f"2026-11-{draw(DAY):02}T{draw(st.integers(0, 23)):02}:30:00Z"
        games.append(
            game(
                {
                    "game_id": f"g{number}",
                    "players": players,
                    "ended_at": ended,
                    "rated": draw(st.integers(0, 9)) > 0,
                }
            )
        )
    return games


ALL_SYSTEMS = {
    "ladders": {LADDER: {"systems": ["fundox", "points", "closeness", "bga", "weekly"], "remember": "5d"}}
}


def folded(games: list[Any], batch: int, *, reload: bool) -> tuple[list[bytes], dict[str, bytes]]:
    """Fold games in batches, optionally into a new fold from the rows after each, and give all bytes."""
    rules = parse_ladders(ALL_SYSTEMS)
    fold, rows, published = Ladders(rules), {}, []
    for start in range(0, len(games), batch):
        published += [orjson.dumps([*output]) for output in outputs(fold, games[start : start + batch])]
        rows |= dict(written(fold))
        if reload:
            fold = Ladders(rules)
            for key, row in rows.items():
                if row is not None:
                    fold.load(key, orjson.loads(row))
    return published, {key: row for key, row in rows.items() if row is not None}


@given(streams(), st.integers(1, 7))
def test_batches_and_restarts_change_no_byte(games: list[Any], batch: int) -> None:
    at_once = folded(games, len(games), reload=False)

    assert folded(games, batch, reload=False) == at_once
    assert folded(games, batch, reload=True) == at_once


@given(streams())
def test_sequences_have_no_gap_and_before_is_the_previous_after(games: list[Any]) -> None:
    assert problems(as_read(outputs(Ladders(parse_ladders(ALL_SYSTEMS)), games))) == []


@given(streams())
def test_every_reason_is_a_documented_one(games: list[Any]) -> None:
    assert set(reasons(Ladders(parse_ladders(ALL_SYSTEMS)), *games)) <= set(REASONS)
