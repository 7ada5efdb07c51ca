"""Corrections: as if the voided games had never been and the corrected ones had been right."""

from contextlib import suppress
from typing import Any

import pytest
from helpers import LADDER, Shown, outputs, played, ranked, reasons, shown
from msgspec.structs import replace

from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import (
    COMPETITION_CLOSED,
    RATING_CHANGED,
    CorrectionsApplied,
    Event,
    Game,
    GameVoided,
    Output,
    Rejected,
    WeekEnded,
)
from streams.core.ladders import Ladders
from streams.core.outcomes import IGNORED, NOTED, RATED
from streams.core.rules import parse_ladders

SYSTEMS = ["fundox", "points", "closeness", "bga", "weekly"]
RULES = parse_ladders({"ladders": {LADDER: {"systems": SYSTEMS}}})
APP = "site"


def won(game_id: str, winner: str, loser: str, **fields: Any) -> Game:
    players = (ranked(winner, 1, points=20), ranked(loser, 2, points=10))
    return played(game_id, *players, **fields)


def marker(until: int) -> CorrectionsApplied:
    return CorrectionsApplied(LADDER, APP, until)


def corrected(log: list[Event], app_id: str = APP) -> tuple[CorrectedLadders, list[Shown]]:
    """Fold a log whose offsets are its places."""
    plan = CorrectionPlan(app_id)
    for offset, event in enumerate(log):
        plan.note(event, offset)
    fold = CorrectedLadders(RULES, plan)
    out: list[Output] = []
    for offset, event in enumerate(log):
        with suppress(Rejected):
            fold.apply(event, offset, out)
    return fold, shown(out)


def clean(log: list[Event]) -> list[Event]:
    """Give the log as it should have been from the start."""
    voided = {event.game_id for event in log if isinstance(event, GameVoided)}
    right: dict[str, Game] = {}
    for event in log:
        if isinstance(event, Game) and event.version >= right.get(event.game_id, event).version:
            right[event.game_id] = event
    kept: list[Event] = []
    seen: set[str] = set()
    for event in log:
        if not isinstance(event, Game):
            kept.append(event)
        elif event.game_id not in seen | voided:
            seen.add(event.game_id)
            kept.append(replace(right[event.game_id], version=1))
    return kept


def figures(fold: Ladders) -> dict[Any, Any]:
    """Give every rating with its games, and every player's statistics, of those who played."""
    found: dict[Any, Any] = {}
    for system in SYSTEMS:
        for player_id, rating, games in fold.ratings(LADDER, system):
            if games:
                found[system, player_id] = (rating, games, fold.statistics(LADDER, player_id))
    return found


def folded(log: list[Event]) -> Ladders:
    fold = Ladders(RULES)
    for event in log:
        with suppress(Rejected):
            fold.apply(event, [])
    return fold


def closings(out: list[Shown]) -> dict[str, Any]:
    last = {body["week"]: body for topic, _, body in out if topic == COMPETITION_CLOSED}
    return {week: body["standings"] for week, body in last.items() if body["standings"]}


def test_a_voided_game_is_noted_and_changes_nothing_live() -> None:
    log: list[Event] = [won("1", "ann", "bob"), GameVoided(LADDER, "1", "cheat")]

    fold, out = corrected(log)

    assert figures(fold.live) == figures(folded(log[:1]))
    assert {body.get("reason") for topic, _, body in out if topic == RATING_CHANGED} == {None}


def test_a_higher_version_is_noted_live() -> None:
    fold = Ladders(RULES)

    outcomes = [fold.apply(event, []) for event in (won("1", "a", "b"), won("1", "b", "a", version=2))]

    assert outcomes == [RATED, NOTED]


def test_the_same_correction_again_is_a_duplicate() -> None:
    fold = Ladders(RULES)
    events = [won("1", "a", "b"), won("1", "b", "a", version=2), won("1", "b", "a", version=2)]

    assert [fold.apply(event, []) for event in events] == [RATED, NOTED, IGNORED]


def test_once_in_force_a_correction_is_the_version_that_is_known() -> None:
    correction = won("1", "b", "a", version=2)
    fold, _ = corrected([won("1", "a", "b"), correction, marker(2), correction])

    assert dict(fold.changed_rows())[f"amendment/{LADDER}/1"][::2] == [2, False]
    assert reasons(fold.live, correction) == ["duplicate"] * 5


def test_an_equal_version_with_other_content_is_a_conflict_and_says_how_to_correct() -> None:
    fold = Ladders(RULES)
    outputs(fold, [won("1", "a", "b"), won("1", "b", "a", version=3)])

    with pytest.raises(Rejected, match="other content; to correct the game, send it with a version above 3"):
        fold.apply(won("1", "a", "c", version=3), [])


@pytest.mark.parametrize("version", [1, 2])
def test_a_lower_version_is_superseded_whatever_it_says(version: int) -> None:
    fold = Ladders(RULES)
    outputs(fold, [won("1", "a", "b"), won("1", "b", "a", version=3)])

    assert reasons(fold, won("1", "a", "c", version=version)) == ["superseded"] * 5


def test_the_first_of_fifty_games_is_taken_back() -> None:
    names = "abcdef"
    games: list[Event] = [
        won(str(n), names[n % 6], names[(n * n + 1) % 6]) for n in range(50) if n % 6 != (n * n + 1) % 6
    ]
    log = [*games, GameVoided(LADDER, "0", "cheat"), marker(100)]

    fold, _ = corrected(log)

    assert figures(fold.live) == figures(folded(games[1:]))


def test_the_winner_of_a_game_is_corrected() -> None:
    games: list[Event] = [won("1", "a", "b"), won("2", "b", "c"), won("3", "c", "a")]
    log = [*games, won("1", "b", "a", version=2), marker(100)]

    fold, _ = corrected(log)

    assert figures(fold.live) == figures(folded([won("1", "b", "a"), *games[1:]]))


def test_a_player_whose_games_are_all_taken_back_is_back_at_the_start() -> None:
    log: list[Event] = [
        won("1", "cheat", "b"),
        won("2", "b", "c"),
        GameVoided(LADDER, "1", "ban"),
        marker(100),
    ]

    _, out = corrected(log)
    (body,) = [
        body
        for topic, key, body in out
        if topic == RATING_CHANGED and key == "cheat" and body["system"] == "bga" and body.get("reason")
    ]

    assert body == {
        "change_id": "l/bga/%correction-3/cheat",
        "ladder": "l",
        "system": "bga",
        "player_id": "cheat",
        "sequence": 2,
        "before": 1530.0,
        "after": 1500.0,
        "statistics": {"games": 0, "wins": 0, "losses": 0, "draws": 0},
        "reason": "correction",
        "title": "",
        "title_before": "",
    }


def test_a_voided_game_does_not_come_back() -> None:
    log: list[Event] = [won("1", "a", "b"), GameVoided(LADDER, "1", "cheat"), marker(2), won("1", "a", "b")]

    fold, out = corrected(log)

    assert figures(fold.live) == {}
    assert out[-1].body["reasons"][0]["reason"] == "voided"


def test_a_correction_after_a_void_restores_the_game() -> None:
    log: list[Event] = [
        won("1", "a", "b"),
        GameVoided(LADDER, "1", "mistake"),
        won("1", "a", "b", version=2),
        marker(3),
    ]

    fold, out = corrected(log)

    assert figures(fold.live) == figures(folded(log[:1]))
    assert [body for _, _, body in out if body.get("reason") == "correction"] == []


def test_a_closed_week_gets_a_new_revision() -> None:
    week = WeekEnded(LADDER, "2026-W48", final=False)
    log: list[Event] = [
        won("1", "a", "b"),
        won("2", "c", "d"),
        week,
        GameVoided(LADDER, "1", "cheat"),
        marker(9),
    ]

    _, out = corrected(log)
    last = [body for topic, _, body in out if topic == COMPETITION_CLOSED][-1]

    assert last["revision"] == 2
    assert [place["player_id"] for place in last["standings"]] == ["c", "d"]


def test_a_final_week_is_corrected_too() -> None:
    week = WeekEnded(LADDER, "2026-W48", final=True)
    log: list[Event] = [
        won("1", "a", "b"),
        won("2", "c", "d"),
        week,
        GameVoided(LADDER, "1", "cheat"),
        marker(9),
    ]

    _, out = corrected(log)
    last = [body for topic, _, body in out if topic == COMPETITION_CLOSED][-1]

    assert (last["revision"], last["final"]) == (2, True)
    assert [place["player_id"] for place in last["standings"]] == ["c", "d"]


def test_another_deployments_marker_changes_nothing() -> None:
    log: list[Event] = [won("1", "a", "b"), GameVoided(LADDER, "1", "cheat"), marker(2)]

    fold, _ = corrected(log, app_id="other")

    assert figures(fold.live) == figures(folded(log[:1]))


def test_pending_is_what_was_said_behind_the_last_marker() -> None:
    log: list[Event] = [won("1", "a", "b"), GameVoided(LADDER, "1", "x"), marker(2), won("2", "a", "b")]

    fold, _ = corrected([*log, won("2", "b", "a", version=2), GameVoided(LADDER, "1", "x")])

    assert fold.live.pending(LADDER) == 2


def test_a_first_report_waits_for_no_rebuild_whatever_its_version() -> None:
    fold, _ = corrected([won("1", "a", "b", version=2)])

    assert fold.live.pending(LADDER) == 0


def test_a_week_whose_only_game_was_voided_goes_on_with_its_sequence() -> None:
    log: list[Event] = [won("1", "a", "b"), GameVoided(LADDER, "1", "x"), marker(2), won("2", "a", "b")]

    _, out = corrected(log)

    changes = [body for topic, _, body in out if topic == RATING_CHANGED and body["system"] == "weekly"]
    assert [body["sequence"] for body in changes if body["player_id"] == "a"] == [1, 2, 3]


def test_a_closed_week_whose_only_game_was_voided_goes_on_with_its_revisions() -> None:
    ended = WeekEnded(LADDER, "2026-W49", final=False)
    log: list[Event] = [
        won("1", "a", "b"),
        ended,
        GameVoided(LADDER, "1", "x"),
        marker(3),
        won("2", "b", "a"),
        WeekEnded(LADDER, "2026-W48", final=False),
    ]

    _, out = corrected(log)

    revisions = [body["revision"] for topic, _, body in out if topic == COMPETITION_CLOSED]
    assert revisions == [1, 2, 3]
