"""`make run`: everything at work, ends by itself when asked to, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
from project import PROJECT

pytestmark = pytest.mark.kafka


def running(marker: str) -> list[str]:
    """List the processes whose environment has a marker."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


def start(marker: str, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LADDERLOG_")}
    return subprocess.Popen(
        [sys.executable, "-m", "streams", "run", *arguments],
        cwd=folder,
        env={
            **environment,
            "PYTHONPATH": str(PROJECT),
            "TMPDIR": str(folder),
            "LADDERLOG_TEST": marker,
            # Set for another deployment; everything here keeps to its own topics all the same.
            "LADDERLOG_APP_ID": "elsewhere",
            "LADDERLOG_TOPIC_PREFIX": "elsewhere.",
            "LADDERLOG_OUTPUT_PREFIX": "elsewhere.out.",
        },
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_once_ends_by_itself_after_the_report(tmp_path: Path) -> None:
    process = start("run-once", tmp_path, "--once")

    output, errors = process.communicate(timeout=240)

    assert process.returncode == 0, errors
    assert "games per second" in output
    for shown in (
        "chess, fundox",
        "words, points",
        "words, closeness",
        "tiles, bga",
        "belote, weekly",
        "(closed,",
    ):
        assert shown in output
    assert running("run-once") == []
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("ladderlog-faust")] == []


def test_own_games_and_ladders(tmp_path: Path) -> None:
    game = {
        "game_id": "1",
        "ladder": "mine",
        "ended_at": "2026-11-24T20:00:00Z",
        "players": [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}],
    }
    (tmp_path / "games.jsonl").write_bytes(orjson.dumps(game) + b"\n")
    (tmp_path / "mine.toml").write_text('[ladders.mine]\nsystems = ["fundox"]\n')
    process = start("run-own", tmp_path, "--once", "--games", "games.jsonl", "--ladders", "mine.toml")

    output, errors = process.communicate(timeout=240)

    assert process.returncode == 0, errors
    assert "ann    1608.0" in output
    assert "1 read, 1 rated, 0 ignored, 0 rejected, 0 noted" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_nothing_is_left_behind(tmp_path: Path, number: signal.Signals) -> None:
    marker = f"run-{number.name}"
    (tmp_path / "games.jsonl").write_bytes(b"")
    process = start(marker, tmp_path, "--games", "games.jsonl")
    assert process.stdout is not None
    for line in process.stdout:
        if "Running on until Ctrl-C" in line:
            break

    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while running(marker) and time.monotonic() < deadline:
        time.sleep(0.2)

    assert running(marker) == []
    assert process.returncode == (0 if number == signal.SIGINT else -signal.SIGKILL), errors
