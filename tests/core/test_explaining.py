"""Why a rating moved, or did not: as the game stands after corrections, in the fold of its own ladder."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers import LADDER, played, ranked

from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import CorrectionsApplied, Event, Game, GameVoided, Rejected
from streams.core.explaining import Answer, Explained, ExplainedLadder, ExplanationError, Question, answer
from streams.core.ladder import Corrections
from streams.core.outcomes import IGNORED, NOTED, RATED
from streams.core.ratings import SYSTEMS
from streams.core.ratings.explanation import Step
from streams.core.ratings.fundox import Fundox
from streams.core.rules import parse_ladders

APP = "site"
DOCUMENT: dict[str, Any] = {"systems": ["fundox", "bga"]}


def won(game_id: str, winner: str, loser: str, **fields: Any) -> Game:
    return played(game_id, ranked(winner, 1), ranked(loser, 2), **fields)


def ask(log: Sequence[Event], game_id: str, player_id: str, document: dict[str, Any] = DOCUMENT) -> Answer:
    """Fold a log whose offsets are its places, and explain a game in it."""
    rules = parse_ladders({"ladders": {LADDER: document}})
    question = Question(LADDER, game_id, player_id)
    plan = CorrectionPlan(APP)
    for offset, event in enumerate(log):
        plan.note(event, offset)
    fold = CorrectedLadders(rules, plan)
    watched: list[ExplainedLadder] = []

    def watch(*args: Any) -> ExplainedLadder:
        watched.append(ExplainedLadder(question, *args))
        return watched[0]

    fold.fold_by(LADDER, watch)
    for offset, event in enumerate(log):
        with suppress(Rejected):
            fold.apply(event, offset, [])
    first = next(
        offset for offset, event in enumerate(log) if isinstance(event, Game) and event.game_id == game_id
    )
    return answer(question, watched[0].reports[0], first, plan)


def before_and_after(told: Answer, system: str = "fundox") -> tuple[float, float]:
    explained = of(told, system)
    assert explained.change is not None
    return explained.change.before, explained.change.after


def of(told: Answer, system: str) -> Explained:
    return next(explained for explained in told.report.systems if explained.system == system)


def reasons(told: Answer) -> dict[str, str | None]:
    return {explained.system: explained.reason for explained in told.report.systems}


LOG: list[Event] = [won("1", "ann", "bob"), won("2", "bob", "cid"), won("3", "ann", "cid")]


def test_a_game_is_explained_from_the_ratings_before_it() -> None:
    told = ask(LOG, "2", "bob")

    assert told.report.outcome == RATED
    assert before_and_after(told)[0] == 1592
    assert [step.result for step in of(told, "fundox").steps or ()][-1] == before_and_after(told)[1]
    assert (told.corrected_at, told.pending) == (None, False)


def test_games_folded_together_are_explained_as_if_alone() -> None:
    games = [game for game in LOG if isinstance(game, Game)]
    rules = parse_ladders({"ladders": {LADDER: DOCUMENT}})[LADDER]
    ladder = ExplainedLadder(Question(LADDER, "2", "bob"), rules, Corrections())

    outcomes = [outcome for outcome, _, _ in ladder.fold_games(games)]

    assert outcomes == [RATED] * 3
    assert ladder.reports == [ask(LOG, "2", "bob").report]


def test_a_corrected_game_is_explained_as_it_stands_now() -> None:
    log = [*LOG, won("2", "cid", "bob", version=2), CorrectionsApplied(LADDER, APP, 4)]

    told = ask(log, "2", "bob")

    assert told.report.game.version == 2
    assert (told.corrected_at, told.pending) == (4, False)
    assert before_and_after(told)[1] < before_and_after(told)[0]


def test_ratings_before_a_game_are_those_after_corrections_of_other_games() -> None:
    log = [*LOG, GameVoided(LADDER, "1", "cheat"), CorrectionsApplied(LADDER, APP, 4)]

    told = ask(log, "2", "bob")

    assert before_and_after(told) == (1600, 1608)
    assert (told.corrected_at, told.pending) == (None, False)


def test_a_game_that_was_taken_back_says_so() -> None:
    told = ask([*LOG, GameVoided(LADDER, "2", "cheat"), CorrectionsApplied(LADDER, APP, 4)], "2", "bob")

    assert told.report.outcome == IGNORED
    assert reasons(told) == {"fundox": "voided", "bga": "voided"}
    assert (told.corrected_at, told.pending) == (4, False)


def test_a_correction_that_no_rebuild_has_applied_is_pending() -> None:
    voided = ask([*LOG, GameVoided(LADDER, "2", "cheat")], "2", "bob")
    corrected = ask([*LOG, won("2", "cid", "bob", version=2)], "2", "bob")

    assert [told.pending for told in (voided, corrected)] == [True, True]
    assert [before_and_after(told)[0] for told in (voided, corrected)] == [1592, 1592]


def test_what_holds_at_once_is_not_pending() -> None:
    voided_ahead = ask([GameVoided(LADDER, "1", "cheat"), *LOG], "1", "ann")
    first_report = ask([won("1", "ann", "bob", version=3), *LOG[1:]], "1", "ann")
    repeated = ask([*LOG, won("1", "ann", "bob")], "1", "ann")

    assert [told.pending for told in (voided_ahead, first_report, repeated)] == [False] * 3
    assert [told.report.outcome for told in (voided_ahead, first_report, repeated)] == [IGNORED, RATED, RATED]


def test_a_version_of_a_game_taken_back_after_it_came_waits_for_a_rebuild() -> None:
    log = [GameVoided(LADDER, "1", "cheat"), *LOG, won("1", "ann", "bob", version=2)]

    told = ask(log, "1", "ann")

    assert (told.report.outcome, told.pending) == (IGNORED, True)


def test_the_markers_of_another_deployment_correct_nothing_here() -> None:
    told = ask([*LOG, GameVoided(LADDER, "2", "cheat"), CorrectionsApplied(LADDER, "other", 4)], "2", "bob")

    assert (told.report.outcome, told.corrected_at, told.pending) == (RATED, None, True)


def test_of_several_rebuilds_the_one_that_brought_the_last_word_is_named() -> None:
    log = [
        *LOG,
        won("2", "cid", "bob", version=2),
        CorrectionsApplied(LADDER, APP, 4),
        GameVoided(LADDER, "3", "cheat"),
        CorrectionsApplied(LADDER, APP, 6),
    ]

    assert ask(log, "2", "bob").corrected_at == 4
    assert ask(log, "3", "ann").corrected_at == 6


def test_a_game_that_does_not_count_says_why_in_each_system() -> None:
    unrated = ask([won("1", "ann", "bob", rated=False)], "1", "ann")
    five = ask([played("1", *(ranked(name, place) for place, name in enumerate("abcde", 1)))], "1", "a")

    assert reasons(unrated) == {"fundox": "unrated", "bga": "unrated"}
    assert reasons(five) == {"fundox": "player-count", "bga": None}
    assert of(five, "bga").change is not None


def test_who_is_left_out_of_a_game_that_counts_is_told_why() -> None:
    game = played("1", ranked("ann", 1), ranked("bob", 2, left="abandoned"))

    stayed, quitter = ask([game], "1", "ann"), ask([game], "1", "bob")

    assert reasons(stayed) == {"fundox": None, "bga": "left"}
    assert reasons(quitter) == {"fundox": None, "bga": None}


def test_a_version_that_waits_has_no_reason() -> None:
    log = [
        won("2", "ann", "bob", ended_at="2026-11-25T20:00:00Z"),
        won("1", "ann", "bob", version=2, ended_at="2025-01-01T20:00:00Z"),
    ]

    told = ask(log, "1", "ann")

    assert (told.report.outcome, told.report.systems, told.pending) == (NOTED, [], True)


def test_a_system_without_an_explanation_has_none_and_is_rated_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    monkeypatch.setattr("streams.core.ratings.SYSTEMS", SYSTEMS)
    from sixth_system import Streak  # noqa: PLC0415 - it registers itself, which ends with this test

    try:
        told = ask(LOG, "3", "ann", {"systems": ["streak", "fundox"]})
    finally:
        del SYSTEMS[Streak.name]
        del sys.modules["sixth_system"]

    assert of(told, "streak").steps is None
    assert before_and_after(told, "streak") == (10, 20)
    assert of(told, "fundox").steps


def test_steps_that_lead_elsewhere_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fundox, "steps", lambda *_: [Step("You won: {result}.", result=1.0)])

    with pytest.raises(ExplanationError, match="fundox: the steps for 'bob' in game '2' lead to 1593"):
        ask(LOG, "2", "bob")
