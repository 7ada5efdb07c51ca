"""Corrections: as if the voided games had never been and the corrected ones had been right."""

from contextlib import suppress
from typing import Any

import orjson
import pytest
from helpers import LADDER, Shown, game, outputs, played, ranked, reasons, shown
from hypothesis import given, settings
from hypothesis import strategies as st
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
    fold = Ladders(RULES, {"1": correction})

    assert [fold.apply(event, []) for event in (won("1", "a", "b"), correction)] == [RATED, IGNORED]
    assert dict(fold.changed_rows())[f"game/{LADDER}/1"][2] == 2


def test_an_equal_or_lower_version_with_other_content_is_a_conflict() -> None:
    fold = Ladders(RULES)
    outputs(fold, [won("1", "a", "b"), won("1", "b", "a", version=3)])

    for version in (1, 2, 3):
        with pytest.raises(Rejected, match="other content"):
            fold.apply(won("1", "a", "c", version=version), [])


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


def test_a_voided_game_does_not_come_back_as_a_duplicate() -> None:
    log: list[Event] = [won("1", "a", "b"), GameVoided(LADDER, "1", "cheat"), marker(2), won("1", "a", "b")]

    fold, out = corrected(log)

    assert figures(fold.live) == {}
    assert out[-1].body["reasons"][0]["reason"] == "duplicate"


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


def test_pending_corrections_are_those_without_a_marker() -> None:
    plan = CorrectionPlan(APP)
    for offset, event in enumerate(
        [won("1", "a", "b"), GameVoided(LADDER, "1", "x"), marker(2), GameVoided(LADDER, "2", "x")]
    ):
        plan.note(event, offset)

    assert plan.pending() == {LADDER: 1}


def test_the_reason_is_documented() -> None:
    plan_only = Ladders(RULES, {"1": None})

    assert reasons(plan_only, won("1", "a", "b")) == ["voided"] * 5


NAMES = "abcde"


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Make a log of games, week ends, voids, corrections, duplicates and markers."""
    log: list[Event] = []
    games: list[dict[str, Any]] = []
    closed = 0
    for number in range(draw(st.integers(1, 25))):
        kind = draw(st.integers(0, 11))
        if kind == 0 and games:
            log.append(GameVoided(LADDER, draw(st.sampled_from(games))["game_id"], "x"))
        elif kind == 1 and games:
            fields = draw(st.sampled_from(games))
            fields = {**fields, "version": number + 2, "players": [*reversed(fields["players"])]}
            for place, player in enumerate(fields["players"], start=1):
                fields["players"][place - 1] = {**player, "rank": place, "points": 30 - place}
            log.append(game(fields))
        elif kind == 2:
            log.append(marker(draw(st.integers(0, len(log)))))
        elif kind == 3 and closed < 4:
            closed += 1
            log.append(WeekEnded(LADDER, f"2026-W{44 + closed}", final=draw(st.booleans())))
        elif kind == 4 and games:
            log.append(game(draw(st.sampled_from(games))))
        else:
            names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True))
            players = [
                {"player_id": name, "rank": draw(st.integers(1, 2)), "points": draw(st.integers(0, 30))}
                for name in names
            ]
            ended = f"2026-11-{draw(st.integers(2, 28)):02}T20:00:00Z"
            fields = {"game_id": f"g{number}", "players": players, "ended_at": ended}
            games.append(fields)
            log.append(game(fields))
    return log


def same_history(log: list[Event]) -> None:
    """Check a log that ends in a marker over everything against the clean log."""
    log = [*log, marker(len(log))]
    # A void that is corrected later is no void any more; the clean log here knows the simple cases.
    fold, out = corrected(log)
    right = Ladders(RULES, _final_corrections(log))
    right_out: list[Output] = []
    for event in log:
        with suppress(Rejected):
            right.apply(event, right_out)

    assert figures(fold.live) == figures(right)
    assert closings(out) == closings(shown(right_out))


def _final_corrections(log: list[Event]) -> dict[str, Game | None]:
    plan = CorrectionPlan(APP)
    for offset, event in enumerate(log):
        plan.note(event, offset)
    return dict(plan.corrections(LADDER, len(log)))


@given(logs())
def test_any_log_settles_to_the_clean_history(log: list[Event]) -> None:
    same_history(log)


@pytest.mark.soak
@settings(max_examples=10_000)
@given(logs())
def test_ten_thousand_logs_settle_to_the_clean_history(log: list[Event]) -> None:
    same_history(log)


@given(logs())
def test_a_clean_log_gives_the_same_as_its_corrections(log: list[Event]) -> None:
    log = _without_second_thoughts(log)
    fold, _ = corrected([*log, marker(len(log))])
    right = folded([event for event in clean(log) if not isinstance(event, GameVoided | CorrectionsApplied)])

    assert figures(fold.live) == figures(right)


def _without_second_thoughts(log: list[Event]) -> list[Event]:
    """Leave out what `clean` does not know: games restored after a void, duplicates of forgotten games."""
    corrected_too = any(isinstance(event, Game) and event.version > 1 for event in log)
    kept: list[Event] = []
    seen: set[tuple[str, int]] = set()
    for event in log:
        if isinstance(event, GameVoided) and corrected_too:
            continue
        if isinstance(event, Game):
            if (event.game_id, event.version) in seen:
                continue
            seen.add((event.game_id, event.version))
        kept.append(event)
    return kept


@given(logs())
def test_before_is_the_previous_after_across_corrections(log: list[Event]) -> None:
    _, out = corrected(log)

    assert_chains_hold(out)


def test_a_week_whose_only_game_was_voided_goes_on_with_its_sequence() -> None:
    log: list[Event] = [won("1", "a", "b"), GameVoided(LADDER, "1", "x"), marker(2), won("2", "a", "b")]

    _, out = corrected(log)

    assert_chains_hold(out)


def test_a_closed_week_whose_only_game_was_voided_goes_on_with_its_revisions() -> None:
    ended = WeekEnded(LADDER, "2026-W49", final=False)
    log: list[Event] = [
        won("1", "a", "b"),
        ended,
        GameVoided(LADDER, "1", "x"),
        marker(3),
        won("2", "b", "a"),
    ]

    _, out = corrected(log)

    revisions = [body["revision"] for topic, _, body in out if topic == COMPETITION_CLOSED]
    assert revisions == [1, 2, 3]


def assert_chains_hold(out: list[Shown]) -> None:
    last: dict[Any, Any] = {}
    for topic, _, body in out:
        if topic != RATING_CHANGED:
            continue
        chain = (body["system"], body["player_id"], body.get("week"))
        sequence, after = last.get(chain, (0, body["before"]))

        assert (body["sequence"], body["before"]) == (sequence + 1, after)

        last[chain] = (body["sequence"], body["after"])


@given(logs())
def test_revisions_count_up_across_corrections(log: list[Event]) -> None:
    _, out = corrected(log)
    last: dict[str, int] = {}
    for topic, _, body in out:
        if topic == COMPETITION_CLOSED:
            assert body["revision"] == last.get(body["week"], 0) + 1

            last[body["week"]] = body["revision"]


@given(logs(), st.integers(1, 9))
def test_rows_are_the_same_in_any_batches(log: list[Event], batch: int) -> None:
    plan = CorrectionPlan(APP)
    for offset, event in enumerate(log):
        plan.note(event, offset)
    found = []
    for size in (len(log), batch):
        fold, rows = CorrectedLadders(RULES, plan), {}
        for offset, event in enumerate(log):
            with suppress(Rejected):
                fold.apply(event, offset, [])
            if offset % size == size - 1:
                rows.update(fold.changed_rows())
        rows.update(fold.changed_rows())
        found.append({key: orjson.dumps(row) for key, row in rows.items() if row is not None})

    assert found[0] == found[1]
