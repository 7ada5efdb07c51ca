"""Weeks that end: those without games, what is due, what the rows keep, and what holds of any stream."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest
from closings import (
    DURING,
    END_OF_W48,
    GRACE,
    PARIS,
    SECOND,
    W47,
    W48,
    W49,
    W50,
    closed,
    competition,
    due,
    final,
    midnight,
    own_rows,
    won,
)
from helpers import LADDER, imported, ladder, outputs, played, ranked, reasons, written
from hypothesis import given
from hypothesis import strategies as st

from streams.core.events import (
    COMPETITION_CLOSED,
    RATING_CHANGED,
    Event,
    Output,
    Rejected,
    WeekEnded,
)
from streams.core.ladders import Ladders
from streams.core.outcomes import NOTED
from streams.core.rules import parse_ladders

# Weeks without games, ladders without competition, weeks that do not exist


@pytest.mark.parametrize("ended", [midnight(W48), final(W48)], ids=str)
def test_a_week_without_games_publishes_nothing_but_is_noted(ended: WeekEnded) -> None:
    out: list[Output] = []
    outcome = competition().apply(ended, out)

    assert (outcome, out) == (NOTED, [])


def test_a_late_game_of_a_closed_week_without_games_gives_its_first_standings() -> None:
    events = midnight(W48), won("1", W48), midnight(W48)

    assert closed(competition(), *events) == [(W48, 1, False)]


def test_a_closed_week_without_games_is_closed() -> None:
    assert reasons(competition(), midnight(W48), midnight(W48)) == ["already-closed"]


def test_a_closing_on_a_ladder_without_competition_is_ignored() -> None:
    out = outputs(ladder("fundox"), [midnight(W48)])

    assert [output.body for output in out] == [
        {"week": W48, "ladder": LADDER, "reasons": [{"system": "weekly", "reason": "no-competition"}]}
    ]


@pytest.mark.parametrize("week", ["2026-W54", "2025-W53", "0000-W01"])
def test_a_week_that_does_not_exist_is_rejected_and_changes_nothing(week: str) -> None:
    fold = competition()
    outputs(fold, [won("1", W48)])
    list(fold.changed_rows())

    with pytest.raises(Rejected, match=week) as caught:
        fold.apply(midnight(week), [])

    assert caught.value.reason == "schema"
    assert list(fold.changed_rows()) == []


def test_week_53_of_a_year_that_has_one_closes() -> None:
    sylvester = played("1", ranked("a", 1), ranked("b", 2), ended_at="2027-01-03T22:59:59Z")

    assert closed(competition(), sylvester, midnight("2026-W53")) == [("2026-W53", 1, False)]


# Rows


def test_a_closed_week_keeps_its_revision_beside_its_players() -> None:
    rows = own_rows(competition(), won("1", W48), midnight(W48), won("2", W48))

    assert rows == {
        "weekly-player/l/2026-W48/a": [20, 2, 2, 0, 0, 0, 2],
        "weekly-player/l/2026-W48/b": [0, 2, 0, 2, 0, 0, 2],
        # Revision 1 is published, and amended since.
        "weekly-week/l/2026-W48": [1, 1],
    }


def test_the_rows_of_a_final_week_are_gone_but_for_one_mark() -> None:
    fold = competition()
    outputs(fold, [won("1", W48), midnight(W48)])
    list(fold.changed_rows())
    outputs(fold, [final(W48)])

    assert dict(fold.changed_rows()) == {
        "weekly-player/l/2026-W48/a": None,
        "weekly-player/l/2026-W48/b": None,
        "weekly-week/l/2026-W48": None,
        "weekly-final/l/last": [W48],
    }


def test_the_mark_is_one_row_however_many_weeks_are_final() -> None:
    fold = competition()
    events: list[Event] = [won("1", W47), final(W47), won("2", W48), final(W48), final(W49)]

    assert own_rows(fold, *events) == {"weekly-final/l/last": [W49]}


def test_a_player_whose_id_has_slashes_keeps_its_row() -> None:
    fold = competition()
    outputs(fold, [won("1", W48, "a/b%2F", "b")])
    again = reloaded(table_of(fold, {}))
    out = outputs(again, [midnight(W48)])

    assert [place["player_id"] for place in out[0].body["standings"]] == ["a/b%2F", "b"]


# What is due


def test_nothing_is_due_before_midnight() -> None:
    fold = competition()
    outputs(fold, [won("1", W48)])

    assert due(fold, END_OF_W48 - SECOND) == []


def test_a_week_with_games_is_due_at_midnight() -> None:
    fold = competition()
    outputs(fold, [won("1", W48)])

    assert fold.weeks_due(END_OF_W48) == [midnight(W48)]


def test_a_closed_week_is_due_when_its_grace_time_is_over() -> None:
    fold = competition()
    outputs(fold, [won("1", W48), midnight(W48)])

    assert due(fold, END_OF_W48 + GRACE - SECOND) == []
    assert due(fold, END_OF_W48 + GRACE) == [(W48, True)]


def test_the_grace_time_is_a_parameter() -> None:
    fold = ladder("weekly", {"grace": "2h"}, timezone=PARIS)
    outputs(fold, [won("1", W48), midnight(W48)])

    assert due(fold, END_OF_W48 + timedelta(hours=2)) == [(W48, True)]


def test_a_final_week_is_never_due_again() -> None:
    fold = competition()
    outputs(fold, [won("1", W48), final(W48)])

    assert due(fold, END_OF_W48 + 10 * GRACE) == []


def test_missed_midnights_are_due_in_order_whatever_the_order_of_the_games() -> None:
    fold = competition()
    outputs(fold, [won("1", W50), won("2", W48), won("3", W47), won("4", W49), midnight(W47)])

    assert due(fold, END_OF_W48 + timedelta(days=7)) == [(W47, True), (W48, False), (W49, False)]


def test_a_closed_week_without_games_becomes_final_too() -> None:
    fold = competition()
    outputs(fold, [midnight(W48)])

    assert due(fold, END_OF_W48 + GRACE) == [(W48, True)]


def test_a_week_without_games_is_not_due() -> None:
    fold = competition()
    outputs(fold, [won("1", W48), final(W48)])

    assert due(fold, END_OF_W48 + timedelta(days=30)) == []


def test_what_is_due_is_of_ladders_with_a_competition() -> None:
    tables = {
        "one": {"systems": ["weekly"], "timezone": "Asia/Kolkata"},
        "two": {"systems": ["fundox"]},
        "three": {"systems": ["fundox", "weekly"], "timezone": "America/Los_Angeles"},
    }
    fold = Ladders(parse_ladders({"ladders": tables}))
    outputs(fold, [won("1", W48, ladder=name) for name in tables])

    assert fold.weeks_due(END_OF_W48) == [midnight(W48, "one")]
    assert fold.weeks_due(END_OF_W48 + timedelta(hours=9)) == [midnight(W48, "one"), midnight(W48, "three")]


def test_nothing_is_due_when_what_was_due_is_applied() -> None:
    fold = competition()
    outputs(fold, [won("1", W47), won("2", W48)])
    now = END_OF_W48 + GRACE
    for _ in range(2):
        outputs(fold, fold.weeks_due(now))

    assert fold.weeks_due(now) == []


# Of any stream

PLAYERS = st.permutations("abcd")
EVENTS = st.one_of(
    st.tuples(
        st.just("game"),
        st.sampled_from(list(DURING)),
        PLAYERS,
        st.sampled_from([2, 2, 2, 3, 4]),
        st.sampled_from([None, None, "abandoned", "disconnected"]),
        st.sampled_from([1, 2]),
    ),
    st.tuples(st.just("import"), st.sampled_from(list(DURING)), PLAYERS, st.floats(0, 500)),
    st.tuples(st.just("end"), st.sampled_from(list(DURING)), st.booleans()),
)


def event(number: int, drawn: Sequence[Any]) -> Event:
    """Make an event of what was drawn; games of four are of two teams."""
    kind, week, *rest = drawn
    if kind == "end":
        return WeekEnded(LADDER, week, *rest)
    if kind == "import":
        return imported("weekly", rest[0][0], rest[1], week=week)
    ids, count, left, second = rest
    players = [
        ranked(player_id, second if index % 2 else 1, **({"team": "ns"[index % 2]} if count == 4 else {}))
        for index, player_id in enumerate(ids[:count])
    ]
    if left is not None:
        players[0].left = left
    return played(str(number), *players, ended_at=DURING[week])


def table_of(fold: Ladders, table: dict[str, bytes]) -> dict[str, bytes]:
    """Bring a table of rows up to date, as a changelog does."""
    for key, row in written(fold):
        if row is None:
            table.pop(key, None)
        else:
            table[key] = row
    return table


def reloaded(table: dict[str, bytes]) -> Ladders:
    fold = competition()
    for key, row in table.items():
        fold.load(key, orjson.loads(row))
    return fold


@given(st.lists(st.tuples(EVENTS, st.booleans()), max_size=30))
def test_a_fold_that_is_reloaded_at_any_point_goes_on_as_if_it_were_not(
    drawn: list[tuple[tuple[Any, ...], bool]],
) -> None:
    events = [event(number, what) for number, (what, _) in enumerate(drawn)]
    whole = competition()
    expected = outputs(whole, events)

    fold, table, found = competition(), dict[str, bytes](), []
    for each, (_, reload) in zip(events, drawn, strict=True):
        found += outputs(fold, [each])
        if reload:
            fold = reloaded(table_of(fold, table))

    assert orjson.dumps([output.body for output in expected]) == orjson.dumps(
        [output.body for output in found]
    )
    assert table_of(whole, {}) == table_of(fold, table)


@given(st.lists(EVENTS, max_size=30))
def test_the_revisions_of_every_week_count_from_one_and_end_with_the_final_one(
    drawn: list[tuple[Any, ...]],
) -> None:
    events = [event(number, what) for number, what in enumerate(drawn)]
    found = closed(competition(), *events)

    for week in DURING:
        revisions = [(revision, last) for label, revision, last in found if label == week]

        assert [revision for revision, _ in revisions] == list(range(1, len(revisions) + 1))
        assert not any(last for _, last in revisions[:-1])


@given(st.lists(EVENTS, max_size=30))
def test_the_last_standings_are_the_last_points_of_every_player(drawn: list[tuple[Any, ...]]) -> None:
    events = [event(number, what) for number, what in enumerate(drawn)]
    out = outputs(competition(), [*events, final(W50)])
    points: dict[tuple[str, str], float] = {}
    standing: dict[tuple[str, str], float] = {}
    for output in out:
        body = output.body
        if output.topic == RATING_CHANGED:
            assert points.get((body["week"], body["player_id"]), 0) == body["before"]
            points[body["week"], body["player_id"]] = body["after"]
        elif output.topic == COMPETITION_CLOSED and body["final"]:
            standing |= {(body["week"], place["player_id"]): place["points"] for place in body["standings"]}

    assert points == standing
