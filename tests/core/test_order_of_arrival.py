"""Games, and what is said about them, in any order: live, the fold of the log, and the clean log agree."""

from contextlib import suppress
from typing import Any

import orjson
import pytest
from helpers import LADDER, Shown, as_read, game, reasons, shown
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from test_corrections import APP, RULES, corrected, figures, folded, marker, won

from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import (
    CorrectionsApplied,
    Event,
    Game,
    GameVoided,
    Output,
    Rejected,
    WeekEnded,
)
from streams.core.ladders import Ladders
from streams.core.outcomes import RATED
from streams.testing import problems

NAMES = "abcde"
Rows = dict[str, bytes]


def test_a_void_before_its_game_is_remembered() -> None:
    fold = Ladders(RULES)
    fold.apply(GameVoided(LADDER, "1", "cheat"), [])

    assert reasons(fold, won("1", "a", "b")) == ["voided"] * 5


def test_a_void_before_its_game_is_remembered_across_a_rebuild() -> None:
    log: list[Event] = [GameVoided(LADDER, "1", "cheat"), marker(1), won("1", "a", "b")]

    fold, out = corrected(log)

    assert figures(fold.live) == {}
    assert out[-1].body["reasons"][0]["reason"] == "voided"


@pytest.mark.parametrize("version", [1, 2, 7])
def test_the_first_report_of_a_game_is_rated_whatever_its_version(version: int) -> None:
    assert Ladders(RULES).apply(won("1", "a", "b", version=version), []) == RATED


def test_a_lower_version_after_the_first_report_is_superseded() -> None:
    fold = Ladders(RULES)
    fold.apply(won("1", "a", "b", version=2), [])

    assert reasons(fold, won("1", "b", "a")) == ["superseded"] * 5


def test_a_voided_game_is_not_rated_again_after_it_was_forgotten() -> None:
    fold = Ladders(RULES)
    events = [
        won("1", "a", "b", ended_at="2026-11-01T20:00:00Z"),
        GameVoided(LADDER, "1", "cheat"),
        won("2", "a", "b", ended_at="2026-11-20T20:00:00Z"),
    ]
    for event in events:
        fold.apply(event, [])

    assert reasons(fold, won("1", "a", "b", ended_at="2026-11-01T20:00:00Z")) == ["voided"] * 5


def test_a_history_that_comes_twice_changes_nothing() -> None:
    fold = Ladders(RULES)
    history = [
        won(str(day), "a", "b", ended_at=f"2026-{month:02}-{day:02}T20:00:00Z")
        for month in (1, 2, 3)
        for day in range(1, 28, 3)
    ]
    history = [replace(event, game_id=f"{number}") for number, event in enumerate(history)]
    for event in history:
        fold.apply(event, [])
    once = figures(fold)

    again = [reasons(fold, event)[0] for event in history]

    assert figures(fold) == once
    assert set(again) == {"too-old", "duplicate"}


def test_a_version_of_a_game_outside_the_window_waits_for_the_rebuild() -> None:
    early = won("1", "a", "b", ended_at="2026-11-01T20:00:00Z")
    late = won("2", "a", "b", ended_at="2026-11-20T20:00:00Z")
    correction = won("1", "b", "a", ended_at="2026-11-01T20:00:00Z", version=2)
    log: list[Event] = [early, late, correction]

    fold, _ = corrected(log)

    assert fold.live.pending(LADDER) == 1
    assert figures(corrected([*log, marker(3)])[0].live) == figures(
        folded([replace(correction, version=1), late])
    )


def test_what_a_rebuild_forgot_does_not_come_back() -> None:
    log: list[Event] = [
        won("g0", "a", "b", ended_at="2026-11-01T20:00:00Z"),
        won("g1", "a", "b", ended_at="2026-11-01T21:00:00Z"),
        won("g0", "b", "a", ended_at="2026-11-01T20:00:00Z", version=2),
        marker(3),
        won("g2", "a", "b", ended_at="2026-11-14T20:00:00Z"),
        GameVoided(LADDER, "g1", "cheat"),
    ]
    site = _Deployment()
    for event in log[:3]:
        site.take(event)
    site.rebuild()
    for event in log[4:]:
        site.take(event)

    site.rebuild()

    assert "game/l/g0" not in site.rows


def test_a_player_whose_games_were_all_voided_is_in_no_ranking() -> None:
    fold, _ = corrected([won("1", "a", "b"), GameVoided(LADDER, "1", "x"), marker(2)])

    assert [fold.live.ratings(LADDER, system) for system in ("fundox", "closeness", "weekly")] == [[]] * 3


class _Deployment:
    """A live deployment as the runtime keeps it: rows, a fold loaded from them, and the log so far."""

    def __init__(self) -> None:
        self.log: list[Event] = []
        self.rows: Rows = {}
        self.published: list[Shown] = []
        self._ladders = Ladders(RULES)

    def take(self, event: Event) -> None:
        """Append an event, and fold it live."""
        self.log.append(event)
        out: list[Output] = []
        with suppress(Rejected):
            self._ladders.apply(event, out)
        self.published += shown(out)
        self._store(self._ladders.changed_rows())

    def restart(self) -> None:
        """Load the rows into a new fold."""
        self._ladders = Ladders(RULES)
        for key, value in self.rows.items():
            self._ladders.load(key, orjson.loads(value))

    def rebuild(self) -> None:
        """Put all that was said into force, as a rebuild does; the rows must be those of the log."""
        until = len(self.log)
        plan = _plan(self.log)
        fold = CorrectedLadders(RULES, plan)
        if LADDER not in plan.may_be_pending():
            return
        fold.expect(LADDER, until)
        of_the_log: Rows = {}
        for offset, event in enumerate(self.log):
            with suppress(Rejected):
                fold.apply(event, offset, [])
        _merge(of_the_log, fold.changed_rows())

        assert of_the_log == self.rows

        out: list[Output] = []
        fold.settle(LADDER, until, out)
        self.log.append(CorrectionsApplied(LADDER, APP, until))
        self.published += shown(out)
        self._store(fold.changed_rows())
        self.restart()

    def _store(self, changed: Any) -> None:
        _merge(self.rows, changed)


def _merge(rows: Rows, changed: Any) -> None:
    for key, row in changed:
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = orjson.dumps(row)


def _plan(log: list[Event]) -> CorrectionPlan:
    plan = CorrectionPlan(APP)
    for offset, event in enumerate(log):
        plan.note(event, offset)
    return plan


def clean(log: list[Event]) -> list[Event]:
    """Return the log as it should have been: each game where its first report is, as its last word says."""
    last: dict[str, Game | None] = {}
    versions: dict[str, int] = {}
    for event in log:
        if isinstance(event, GameVoided):
            last[event.game_id] = None
        elif isinstance(event, Game) and event.version > versions.get(event.game_id, 1):
            versions[event.game_id] = event.version
            last[event.game_id] = event
    kept: list[Event] = []
    seen: set[str] = set()
    for event in log:
        if isinstance(event, WeekEnded):
            kept.append(event)
        elif isinstance(event, Game):
            final = last.get(event.game_id, event)
            if event.game_id in last:
                if event.game_id in seen or final is None:
                    continue
                seen.add(event.game_id)
            kept.append(replace(final, version=1) if final is not None else event)
    return kept


@st.composite
def reports(draw: st.DrawFn) -> list[list[Event]]:
    """Make some games: of each its reports in several versions, and perhaps voids."""
    made = []
    for number in range(draw(st.integers(1, 8))):
        ended = f"2026-11-{draw(st.integers(2, 28)):02}T20:00:00Z"
        said: list[Event] = []
        for version in draw(st.sampled_from([(1,), (1,), (1, 2), (2,), (1, 2, 3), (3, 1)])):
            names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True))
            players = [
                {"player_id": name, "rank": draw(st.integers(1, 2)), "points": draw(st.integers(0, 30))}
                for name in names
            ]
            fields = {"game_id": f"g{number}", "players": players, "ended_at": ended, "version": version}
            said.append(game(fields))
        if draw(st.integers(0, 3)) == 0:
            said.append(GameVoided(LADDER, f"g{number}", "x"))
        made.append(said)
    return made


@st.composite
def logs(draw: st.DrawFn) -> list[Event | str]:
    """Make a log: reports and voids in any order, some again, week ends, and what an operator does."""
    events: list[Event | str] = [event for said in draw(reports()) for event in said]
    again = draw(st.lists(st.sampled_from(events), max_size=len(events)))
    events = draw(st.permutations([*events, *again]))
    for week in range(45, 45 + draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(events)))
        events.insert(place, WeekEnded(LADDER, f"2026-W{week}", final=draw(st.booleans())))
    for act in draw(st.lists(st.sampled_from(["rebuild", "restart"]), max_size=4)):
        events.insert(draw(st.integers(0, len(events))), act)
    return events


def check(log: list[Event | str]) -> None:
    """Check that the live deployment, the fold of its log, and the fold of the clean log agree."""
    site = _Deployment()
    for event in log:
        if event == "rebuild":
            site.rebuild()
        elif event == "restart":
            site.restart()
        elif not isinstance(event, str):
            site.take(event)
    site.rebuild()
    fold, out = corrected(site.log)
    rows: Rows = {}
    _merge(rows, fold.changed_rows())
    right = folded(clean(site.log))

    assert (rows, out) == (site.rows, site.published)
    assert figures(fold.live) == figures(right)
    assert problems(as_read(out)) == []


@given(logs())
def test_live_the_log_and_the_clean_log_agree(log: list[Event | str]) -> None:
    check(log)


@pytest.mark.soak
@settings(max_examples=10_000)
@given(logs())
def test_in_ten_thousand_logs_they_agree(log: list[Event | str]) -> None:
    check(log)


@given(logs(), st.integers(1, 9))
def test_rows_are_the_same_in_any_batches(log: list[Event | str], batch: int) -> None:
    events = [event for event in log if not isinstance(event, str)]
    of_batches = []
    for size in (len(events), batch):
        fold, rows = CorrectedLadders(RULES, _plan(events)), {}
        for offset, event in enumerate(events):
            with suppress(Rejected):
                fold.apply(event, offset, [])
            if offset % size == size - 1:
                _merge(rows, fold.changed_rows())
        _merge(rows, fold.changed_rows())
        of_batches.append(rows)

    assert of_batches[0] == of_batches[1]
