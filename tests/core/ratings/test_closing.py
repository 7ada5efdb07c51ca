"""Closing a week: standings, revisions, late and early games."""

from itertools import pairwise

import orjson
import pytest
from closings import DURING, PARIS, W47, W48, W49, W50, closed, competition, final, midnight, outcomes, won
from helpers import LADDER, imported, ladder, outputs, played, ranked, reasons, shown, written
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from streams.core.events import (
    COMPETITION_CLOSED,
    GAME_IGNORED,
    RATING_CHANGED,
    Event,
    WeekEnded,
)
from streams.core.ladders import Ladders
from streams.core.outcomes import IGNORED, NOTED, RATED
from streams.core.publications import written_out
from streams.core.rules import parse_ladders
from streams.wire.schemas import validator

# Standings


def test_a_closing_gives_the_standings_of_the_week() -> None:
    drawn = played("2", ranked("a", 1), ranked("b", 1), ended_at=DURING[W48])
    left = played("3", ranked("a", 1), ranked("b", 2, left="abandoned"), ended_at=DURING[W48])
    out = outputs(competition(), [won("1", W48), drawn, left, midnight(W48)])

    assert out[-1].key == LADDER
    assert out[-1].body == {
        "ladder": LADDER,
        "week": W48,
        "revision": 1,
        "final": False,
        "ended_at": "2026-11-29T23:00:00Z",
        "standings": [
            {
                "player_id": "a",
                "rank": 1,
                "points": 21,
                "level": 1,
                "games": 3,
                "wins": 2,
                "losses": 0,
                "draws": 1,
                "abandons": 0,
            },
            {
                "player_id": "b",
                "rank": 2,
                "points": 0,
                "level": 1,
                "games": 3,
                "wins": 0,
                "losses": 2,
                "draws": 1,
                "abandons": 1,
            },
        ],
    }


def test_equal_points_share_a_rank_and_stand_by_id() -> None:
    points = {"d": 10, "c": 20, "b": 20, "a": 30, "e": 10}
    imports = [imported("weekly", player_id, own, week=W48) for player_id, own in points.items()]
    out = outputs(competition(), [*imports, midnight(W48)])

    assert [(place["player_id"], place["rank"]) for place in out[-1].body["standings"]] == [
        ("a", 1),
        ("b", 2),
        ("c", 2),
        ("d", 4),
        ("e", 4),
    ]


def test_the_members_of_a_team_stand_as_players() -> None:
    players = [ranked("a", 1, team="n"), ranked("b", 2, team="s"), ranked("c", 1, team="n")]
    out = outputs(competition(), [played("1", *players, ended_at=DURING[W48]), midnight(W48)])

    assert [(place["player_id"], place["rank"]) for place in out[-1].body["standings"]] == [
        ("a", 1),
        ("c", 1),
        ("b", 3),
    ]


def test_who_lost_every_game_stands_too() -> None:
    out = outputs(competition(), [won("1", W48), midnight(W48)])

    assert [place["points"] for place in out[-1].body["standings"]] == [10, 0]


def test_only_the_players_of_the_week_stand() -> None:
    events: list[Event] = [
        won("1", W47, "c", "d"),
        won("2", W48),
        won("3", W49, "e", "f"),
        midnight(W47),
        midnight(W48),
    ]
    out = outputs(competition(), events)

    assert [place["player_id"] for place in out[-1].body["standings"]] == ["a", "b"]


def test_what_a_closing_publishes_fits_its_schema() -> None:
    out = outputs(competition(), [won("1", W48), midnight(W48), midnight(W48), final(W48), won("2", W48)])

    assert [(output.topic, validator(output.topic).is_valid(output.body)) for output in out] == [
        (RATING_CHANGED, True),
        (RATING_CHANGED, True),
        (COMPETITION_CLOSED, True),
        (GAME_IGNORED, True),
        (COMPETITION_CLOSED, True),
        (GAME_IGNORED, True),
    ]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2026-11-30T00:00:00Z"),
        ("Europe/Paris", "2026-11-29T23:00:00Z"),
        ("America/Los_Angeles", "2026-11-30T08:00:00Z"),
        ("Asia/Kolkata", "2026-11-29T18:30:00Z"),
    ],
)
def test_a_week_ended_at_the_ladders_own_midnight(zone: str, expected: str) -> None:
    out = outputs(ladder("weekly", timezone=zone), [won("1", W48), midnight(W48)])

    assert expected == out[-1].body["ended_at"]


# Revisions


def test_the_first_closing_is_revision_one() -> None:
    assert closed(competition(), won("1", W48), midnight(W48)) == [(W48, 1, False)]


def test_a_week_is_closed_once() -> None:
    events = won("1", W48), midnight(W48), midnight(W48)

    assert closed(competition(), *events) == [(W48, 1, False)]


def test_a_second_closing_is_ignored_with_the_reason() -> None:
    out = outputs(competition(), [won("1", W48), midnight(W48), midnight(W48)])

    assert out[-1].topic == GAME_IGNORED
    assert out[-1].body == {
        "week": W48,
        "ladder": LADDER,
        "reasons": [{"system": "weekly", "reason": "already-closed"}],
    }


def test_the_final_closing_is_the_next_revision() -> None:
    events = won("1", W48), midnight(W48), final(W48)

    assert closed(competition(), *events) == [(W48, 1, False), (W48, 2, True)]


def test_a_final_closing_without_an_earlier_one_closes_at_once() -> None:
    assert closed(competition(), won("1", W48), final(W48)) == [(W48, 1, True)]


@pytest.mark.parametrize("again", [midnight(W48), final(W48), midnight(W47), final(W47)], ids=str)
def test_nothing_closes_a_final_week_or_one_before_it(again: WeekEnded) -> None:
    assert reasons(competition(), won("1", W48), final(W48), again) == ["already-closed"]


def test_a_closing_closes_the_open_weeks_before_it_in_order() -> None:
    events = won("1", W49), won("2", W47), won("3", W48), won("4", W50), midnight(W49)

    assert closed(competition(), *events) == [(W47, 1, False), (W48, 1, False), (W49, 1, False)]


def test_a_final_closing_makes_the_weeks_before_it_final_in_order() -> None:
    events = won("1", W49), won("2", W47), won("3", W48), midnight(W47), final(W49)

    assert closed(competition(), *events) == [
        (W47, 1, False),
        (W47, 2, True),
        (W48, 1, True),
        (W49, 1, True),
    ]


# Late and early games


def test_games_within_the_grace_time_amend_the_week_and_the_next_record_of_its_end_publishes_it() -> None:
    late = won("2", W48), won("3", W48)
    events = won("1", W48), midnight(W48), *late, midnight(W48), midnight(W48), won("4", W48), final(W48)

    assert closed(competition(), *events) == [(W48, 1, False), (W48, 2, False), (W48, 3, True)]


def test_amended_standings_have_every_late_game() -> None:
    fold = competition()
    outputs(fold, [won("1", W48), midnight(W48), won("2", W48), won("3", W48)])
    out = outputs(fold, [midnight(W48)])

    assert [output.topic for output in out] == [COMPETITION_CLOSED]
    assert [place["points"] for place in out[-1].body["standings"]] == [30, 0]


def test_a_closed_week_asks_to_be_published_again_as_long_as_it_is_amended() -> None:
    fold = competition()
    asked = []
    for event in (won("1", W48), midnight(W48), won("2", W48), won("3", W48, "c", "d"), midnight(W48)):
        outputs(fold, [event])
        asked.append(fold.weeks_amended())

    assert asked == [[], [], [(midnight(W48), 2)], [(midnight(W48), 4)], []]


def test_that_a_week_was_amended_outlives_a_restart() -> None:
    before = competition()
    outputs(before, [won("1", W48), midnight(W48), won("2", W48)])
    after = competition()
    for key, row in written(before):
        after.load(key, orjson.loads(row or b"null"))

    assert after.weeks_amended() == [(midnight(W48), 2)]
    assert closed(after, midnight(W48), midnight(W48)) == [(W48, 2, False)]


STEPS = st.lists(st.tuples(st.sampled_from([W47, W48]), st.sampled_from("ggge")), max_size=30)


@given(STEPS, st.lists(st.integers(0, 30), max_size=4))
def test_whatever_comes_when_a_week_has_no_more_revisions_than_ends_and_the_last_is_right(
    steps: list[tuple[str, str]], cuts: list[int]
) -> None:
    events: list[Event] = [
        midnight(week) if kind == "e" else won(str(number), week, *("ab", "bc")[number % 2])
        for number, (week, kind) in enumerate(steps)
    ]
    one_by_one, batches = competition(), competition()
    published = [output for event in events for output in outputs(one_by_one, [event])]
    folded = [
        output
        for start, end in pairwise(sorted({0, *cuts, len(events)}))
        for _, out, _ in batches.fold(events[start:end])
        for output in written_out(out)
    ]
    last = {
        output.body["week"]: output.body["standings"] for output in published if "revision" in output.body
    }
    amended = {ended.week for ended, _ in one_by_one.weeks_amended()}
    ends = sum(kind == "e" for _, kind in steps)
    system = one_by_one.competition(LADDER)

    assert published == shown(folded)
    # An end closes the week before it too, when that is open.
    assert sum("revision" in output.body for output in published) <= ends + 1
    assert system is not None or not events
    for week in last.keys() - amended:
        assert system is not None
        assert last[week] == to_builtins(system.standings(week))


def test_a_row_of_a_week_from_before_amendments_were_gathered_still_loads() -> None:
    fold = competition()
    fold.load(f"weekly-week/{LADDER}/{W48}", [3])

    assert fold.weeks_amended() == []
    assert closed(fold, won("1", W48), midnight(W48)) == [(W48, 4, False)]


def test_a_late_game_counts_for_its_own_week() -> None:
    out = outputs(competition(), [won("1", W48), midnight(W48), won("2", W49), won("3", W48)])

    assert [
        (output.body["week"], output.body["after"])
        for output in out
        if output.topic == RATING_CHANGED and output.body["player_id"] == "a"
    ] == [(W48, 10), (W49, 10), (W48, 20)]


def test_a_game_of_a_closed_week_that_does_not_count_does_not_amend_it() -> None:
    three = played("2", ranked("a", 1), ranked("b", 2), ranked("c", 3), ended_at=DURING[W48])
    unrated = won("3", W48, rated=False)

    assert closed(competition(), won("1", W48), midnight(W48), three, unrated) == [(W48, 1, False)]


def test_a_game_of_a_final_week_is_late() -> None:
    assert reasons(competition(), won("1", W48), final(W48), won("2", W48)) == ["late"]


def test_a_game_of_a_week_before_a_final_one_is_late() -> None:
    assert reasons(competition(), final(W48), won("1", W47)) == ["late"]


def test_a_game_right_after_its_week_was_played_and_made_final_is_late() -> None:
    # The week of the game before is remembered; that it became final must not be overlooked.
    fold = competition()
    found = outcomes(fold, won("1", W48), final(W48), won("2", W48), won("3", W49), won("4", W48))

    assert found == [RATED, NOTED, IGNORED, RATED, IGNORED]


def test_a_late_game_still_counts_for_the_other_systems() -> None:
    table = {"systems": ["weekly", "fundox"], "timezone": PARIS}
    fold = Ladders(parse_ladders({"ladders": {LADDER: table}}))
    outputs(fold, [final(W48)])
    out = outputs(fold, [won("1", W48)])

    assert [output.body.get("system") for output in out] == ["fundox", "fundox", None]
    assert out[-1].body["reasons"] == [{"system": "weekly", "reason": "late"}]


def test_a_game_of_a_week_to_come_counts_for_that_week() -> None:
    events = won("1", W49), won("2", W48), midnight(W48), final(W48), midnight(W49)
    out = [output for output in outputs(competition(), events) if output.topic == COMPETITION_CLOSED]

    assert [(output.body["week"], output.body["standings"][0]["points"]) for output in out] == [
        (W48, 10),
        (W48, 10),
        (W49, 10),
    ]
