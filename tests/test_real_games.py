"""Thousands of games that people really played, through all five systems.

The games are no part of the project (size, licences). They are looked for in `shared/data` beside the
repository, one finished game a line; what they are is said in docs/reference/systems.md.
"""

import io
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import orjson
import pytest
from helpers import Shown, as_read
from project import PROJECT

from streams.core.events import RATING_CHANGED
from streams.core.outcomes import OutcomeCounts
from streams.core.ratings import SYSTEMS
from streams.core.rules import LadderRules, parse_ladders
from streams.core.tally import Tally
from streams.files.rate import RateFiles, rate_lines
from streams.testing import problems

REPOSITORY = PROJECT
GAMES = REPOSITORY.parent / "shared" / "data"
NAMES = ("scrabble", "18xx", "football")
DOCUMENT = (REPOSITORY / "docs" / "reference" / "systems.md").read_text(encoding="utf-8")
NOBODY = SimpleNamespace(update=lambda _: None)

pytestmark = pytest.mark.skipif(
    not GAMES.is_dir(), reason="the real games are not here: there is no shared/data beside the repository"
)
every_file = pytest.mark.parametrize("name", NAMES)

Body = Mapping[str, Any]


class Rated(NamedTuple):
    """What became of a file."""

    report: OutcomeCounts
    changed: Sequence[Body]
    ignored: Sequence[Body]
    tally: Tally


def rules(name: str) -> dict[str, LadderRules]:
    return parse_ladders({"ladders": {name: {"systems": list(SYSTEMS), "timezone": "Europe/Paris"}}})


def bodies(written: io.BytesIO) -> list[Body]:
    return [orjson.loads(line) for line in written.getvalue().splitlines()]


@cache
def rated(name: str) -> Rated:
    changed, ignored = io.BytesIO(), io.BytesIO()
    tally = Tally(rules(name))
    files = RateFiles(changed, ignored=ignored)
    with (GAMES / f"{name}.jsonl").open("rb") as lines:
        report = rate_lines(lines, rules(name), files, NOBODY, tally)
    return Rated(report, bodies(changed), bodies(ignored), tally)


def of_system(name: str, system: str) -> Iterator[Body]:
    return (body for body in rated(name).changed if body["system"] == system)


def last_ratings(name: str, system: str) -> dict[str, float]:
    return {body["player_id"]: body["after"] for body in of_system(name, system)}


def command(name: str, tmp_path: Path, seed: str) -> bytes:
    file = tmp_path / "ladders.toml"
    systems = ", ".join(f'"{system}"' for system in SYSTEMS)
    file.write_text(f'[ladders."{name}"]\nsystems = [{systems}]\ntimezone = "Europe/Paris"\n')
    return subprocess.run(
        [sys.executable, "-m", "streams", "rate", "--ladders", file, GAMES / f"{name}.jsonl"],
        check=True,
        capture_output=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": seed},
        timeout=120,
    ).stdout


@every_file
def test_every_line_has_one_outcome(name: str) -> None:
    report = rated(name).report

    assert report.read > 0
    assert report.read == report.rated + report.ignored + report.rejected + report.noted


@every_file
def test_no_real_game_is_rejected(name: str) -> None:
    assert rated(name).report.rejected == 0


@every_file
def test_every_game_is_rated_or_ignored_by_every_system(name: str) -> None:
    rated_by = {(body["system"], body["game_id"]) for body in rated(name).changed}
    ignored_by = {
        (reason["system"], body["game_id"]) for body in rated(name).ignored for reason in body["reasons"]
    }

    assert rated_by.isdisjoint(ignored_by)
    assert len(rated_by) + len(ignored_by) == len(SYSTEMS) * rated(name).report.read


@every_file
def test_the_sum_of_the_fundox_ratings_is_that_of_the_start(name: str) -> None:
    ratings = last_ratings(name, "fundox")

    assert math.fsum(ratings.values()) == pytest.approx(1600 * len(ratings), rel=1e-12)


@every_file
def test_nobody_has_less_than_nothing_in_points_and_weekly(name: str) -> None:
    figures = [body["after"] for system in ("points", "weekly") for body in of_system(name, system)]

    assert min(figures) >= 0


@every_file
def test_closeness_is_between_0_and_100(name: str) -> None:
    ratings = [body["after"] for body in of_system(name, "closeness")]

    assert 0 <= min(ratings) <= max(ratings) < 100


@every_file
def test_the_changes_of_two_bga_players_who_are_no_newcomers_sum_to_nothing(name: str) -> None:
    games = defaultdict(list)
    for body in of_system(name, "bga"):
        games[body["game_id"]].append(body)

    moved = [
        math.fsum(body["after"] - body["before"] for body in players)
        for players in games.values()
        if all(body["sequence"] > 30 for body in players)
    ]

    assert moved == pytest.approx([0.0] * len(moved), abs=1e-9)


@every_file
def test_every_change_has_an_id_and_goes_on_where_the_last_one_ended(name: str) -> None:
    changed = [Shown(RATING_CHANGED, body["player_id"], body) for body in rated(name).changed]

    assert problems(as_read(changed)) == []


@every_file
def test_the_statistics_add_up(name: str) -> None:
    for body in rated(name).changed:
        counts = body["statistics"]
        assert counts["games"] == counts["wins"] + counts["losses"] + counts["draws"]


@every_file
def test_two_runs_of_the_command_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    one = command(name, tmp_path, "1")

    assert one == command(name, tmp_path, "2")
    assert one.splitlines() == [orjson.dumps(body) for body in rated(name).changed]


@every_file
def test_the_documented_tally_is_the_measured_one(name: str) -> None:
    for (ladder, system), score in rated(name).tally.scores.items():
        if score.accuracy is None:
            continue
        loss = "" if score.log_loss is None else f"{score.log_loss:.3f}"
        row = f"| {ladder} | {system} | {score.compared:,} | {100 * score.accuracy:.1f} % | {loss} |"
        assert row.replace("  |", " |") in DOCUMENT
