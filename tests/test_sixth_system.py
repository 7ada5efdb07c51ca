"""A new system is one module and one line: an invented one is rated with everywhere, nothing else touched."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from project import PROJECT
from sites import Site
from workers import Worker

PROGRAM = (str(PROJECT / "tests" / "sixth_system.py"),)
LADDER_FILE = """
[ladders.marathon]
systems = ["streak", "fundox"]
[ladders.marathon.streak]
worth = 7
"""
WINNERS = ("ann", "ann", "bob", "ann")


def games() -> list[dict[str, object]]:
    return [
        {
            "game_id": f"g-{number}",
            "ladder": "marathon",
            "ended_at": f"2024-01-02T20:0{number}:00Z",
            "players": [{"player_id": name, "rank": 1 if name == winner else 2} for name in ("ann", "bob")],
        }
        for number, winner in enumerate(WINNERS)
    ]


def ladderlog(*arguments: str, text: str | None = None, **variables: str) -> str:
    return subprocess.run(
        [sys.executable, *PROGRAM, *arguments],
        check=True,
        input=text,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **variables},
        text=True,
        capture_output=True,
    ).stdout


@pytest.fixture
def marathon(site: Site) -> Site:
    site.ladder_file.write_text(LADDER_FILE)
    return site


def test_rate_knows_the_sixth_system(marathon: Site) -> None:
    lines = "".join(orjson.dumps(game).decode() + "\n" for game in games())

    printed = ladderlog("rate", "--ladders", str(marathon.ladder_file), "-", text=lines)

    changes = [orjson.loads(line) for line in printed.splitlines()]
    streaks = [
        change["after"] for change in changes if (change["system"], change["player_id"]) == ("streak", "ann")
    ]
    assert streaks == [7.0, 14.0, 0.0, 7.0]


def test_what_does_not_explain_itself_says_so_beside_what_does(tmp_path: Path) -> None:
    (tmp_path / "ladders.toml").write_text(LADDER_FILE)
    (tmp_path / "games.jsonl").write_text("".join(orjson.dumps(game).decode() + "\n" for game in games()))
    options = ("--ladders", str(tmp_path / "ladders.toml"), "--games", str(tmp_path / "games.jsonl"))

    told = ladderlog("explain", *options, "--ladder", "marathon", "--game-id", "g-1", "--player", "ann")

    streak, fundox = told.split("\n\n")[1:]
    assert streak == "streak: 7.0 to 14.0, +7.0\n  streak does not say how it comes to a change."
    assert "You stood 16.0 above bob" in fundox


@pytest.mark.kafka
def test_a_worker_and_all_that_read_from_it_know_the_sixth_system(
    marathon: Site, start_worker: Callable[..., Worker]
) -> None:
    variables = {
        "LADDERLOG_BOOTSTRAP_SERVERS": marathon.settings.bootstrap_servers,
        "LADDERLOG_APP_ID": marathon.settings.app_id,
        "LADDERLOG_TOPIC_PREFIX": marathon.settings.topic_prefix,
        "LADDERLOG_LADDERS": str(marathon.ladder_file),
    }
    marathon.produce(games())
    start_worker(marathon, program=PROGRAM)
    marathon.wait_until_done()

    ranking = ladderlog("ranking", "--ladder", "marathon", "--system", "streak", **variables)
    preview = ladderlog(
        "preview", "--ladder", "marathon", "--players", "ann,bob", "--system", "streak", **variables
    )
    audit = ladderlog("audit", **variables)

    assert ranking.split() == [
        "marathon,",
        "streak",
        "1",
        "ann",
        "7.0",
        "4",
        "games",
        "2",
        "bob",
        "0.0",
        "4",
        "games",
    ]
    assert "ann       7.0       4 games   earn 7.0, lose 7.0" in preview
    assert audit.splitlines()[-1] == "no differences"
