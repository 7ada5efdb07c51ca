"""The golden figures of every system: streams of games, and the ratings before and after."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers import changes, game, imported, ladder

from streams.core.events import Event
from streams.core.ratings import SYSTEMS

VECTORS = {
    path.stem: json.loads(path.read_text()) for path in sorted(Path(__file__).parent.glob("vectors/*.json"))
}
CASES = [
    pytest.param(system, case, id=f"{system}: {case['name']}")
    for system in VECTORS
    for case in VECTORS[system]
]
TOLERANCE = 1e-9


def given(system: str, case: dict[str, Any]) -> Iterator[Event]:
    weeks = {expected["player_id"]: expected.get("week") for expected in reversed(case["expect"])}
    for player_id, figures in case.get("given", {}).items():
        yield imported(system, player_id, figures["rating"], figures["games"], week=weeks[player_id])


def without_ratings(change: Mapping[str, Any]) -> dict[str, Any]:
    return {name: change[name] for name in ("game_id", "player_id", "sequence", "week") if name in change}


def before_and_after(change: Mapping[str, Any]) -> list[float]:
    return [change["before"], change["after"]]


@pytest.mark.parametrize(("system", "case"), CASES)
def test_the_published_changes_are_those_of_the_vector(system: str, case: dict[str, Any]) -> None:
    fold = ladder(system, case.get("parameters"), **case.get("ladder", {}))

    found = changes(fold, *given(system, case), *map(game, case["games"]))

    expected = case["expect"]

    assert [without_ratings(change) for change in expected] == [without_ratings(change) for change in found]
    assert [pytest.approx(before_and_after(change), rel=TOLERANCE, abs=TOLERANCE) for change in expected] == [
        before_and_after(change) for change in found
    ]


def test_every_system_has_vectors() -> None:
    assert set(SYSTEMS) == set(VECTORS)
