"""Imports into a week of the competition."""

import pytest
from helpers import LADDER, imported, ladder, outputs, played, ranked, reasons

from streams.core.events import Event, RatingImported, Rejected, WeekEnded
from streams.core.ladders import Ladders
from streams.core.outcomes import NOTED

WEEK = "2026-W48"


def start(player_id: str, points: float, week: str | None = WEEK, games: int = 1) -> RatingImported:
    return imported("weekly", player_id, points, games, week=week)


def apply(ladders: Ladders, event: Event) -> str:
    return ladders.apply(event, [])


def test_an_import_starts_a_player_in_its_week() -> None:
    out = outputs(ladder("weekly"), [start("a", 120, games=3)])

    assert [{**output.body, "statistics": None} for output in out] == [
        {
            "change_id": "l/weekly/%import/2026-W48/a",
            "ladder": LADDER,
            "system": "weekly",
            "player_id": "a",
            "sequence": 3,
            "before": 0,
            "after": 120,
            "statistics": None,
            "reason": "import",
            "week": WEEK,
            "level": 3,
            "level_before": 1,
        }
    ]


def test_an_import_below_zero_starts_at_zero() -> None:
    out = outputs(ladder("weekly"), [start("a", -5)])

    assert [output.body["after"] for output in out] == [0]


def test_imports_into_two_weeks_are_two_changes() -> None:
    out = outputs(ladder("weekly"), [start("a", 1), start("a", 1, "2026-W49")])

    assert len({output.body["change_id"] for output in out}) == 2


def test_an_import_without_week_is_ignored() -> None:
    assert reasons(ladder("weekly"), start("a", 120, None)) == ["no-week"]


def test_an_import_for_a_player_who_has_games_in_the_week_is_ignored() -> None:
    game = played("1", ranked("a", 1), ranked("b", 2))

    assert reasons(ladder("weekly"), game, start("a", 120)) == ["already-rated"]


def test_an_import_into_a_closed_week_is_ignored() -> None:
    events = start("b", 1), WeekEnded(LADDER, WEEK, final=False), start("a", 120)

    assert reasons(ladder("weekly"), *events) == ["already-closed"]


def test_an_import_into_a_final_week_is_ignored() -> None:
    assert reasons(ladder("weekly"), WeekEnded(LADDER, WEEK, final=True), start("a", 120)) == ["late"]


def test_an_import_into_a_week_that_does_not_exist_is_rejected() -> None:
    with pytest.raises(Rejected, match="2026-W54") as caught:
        apply(ladder("weekly"), start("a", 120, "2026-W54"))

    assert caught.value.reason == "schema"


def test_an_import_into_week_53_of_a_year_that_has_one_is_noted() -> None:
    assert apply(ladder("weekly"), start("a", 120, "2026-W53")) == NOTED


def test_an_ignored_import_leaves_no_rows() -> None:
    fold = ladder("weekly")
    apply(fold, start("a", 120, None))

    assert list(fold.changed_rows()) == []
