"""`make run`: everything at work, ends by itself when asked to, and leaves nothing behind."""

import itertools
import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import orjson
import pytest
from clocks import MOMENTS, RunningClock, standing
from project import PROJECT

from streams.core.ladders import Ladders
from streams.core.outcomes import OutcomeCounts
from streams.embedded.club import simulate
from streams.embedded.run import GAMES, PLAYERS
from streams.files.ladder_file import example_ladder_file, read_ladders
from streams.runtime.clock import CLOCK_FILE, FileClock
from streams.wire.decode import decode_checked

pytestmark = pytest.mark.kafka


def own(marker: str) -> str:
    """Return a marker of this test run, which may not be the only one on the machine."""
    return f"{marker}-of-{os.getpid()}-here"


def running(marker: str) -> list[str]:
    """List the processes whose environment has a marker."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if own(marker).encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


def start(marker: str, folder: Path, *arguments: str, clock: Path | None = None) -> "subprocess.Popen[str]":
    """Start it in a folder, by a clock, else by the machine's."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LADDERLOG_")}
    return subprocess.Popen(
        [sys.executable, "-m", "streams", "run", *arguments],
        cwd=folder,
        env={
            **environment,
            "PYTHONPATH": str(PROJECT),
            "TMPDIR": str(folder),
            "LADDERLOG_TEST": own(marker),
            # Set for another deployment; everything here keeps to its own topics all the same.
            "LADDERLOG_APP_ID": "elsewhere",
            "LADDERLOG_TOPIC_PREFIX": "elsewhere.",
            "LADDERLOG_OUTPUT_PREFIX": "elsewhere.out.",
            **({} if clock is None else {CLOCK_FILE: str(clock)}),
        },
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def check_once(folder: Path, marker: str, clock: Path) -> str:
    """Run it once by a clock, check that every game was rated and the weeks closed, and return the output."""
    season = season_until(FileClock(clock).now())
    process = start(marker, folder, "--once", clock=clock)

    output, errors = process.communicate(timeout=240)

    assert process.returncode == 0, errors
    assert f" read, {season.rated} rated, {season.ignored} ignored, 0 rejected, " in output
    for shown in ("chess, fundox", "words, points", "words, closeness", "tiles, bga", "belote, weekly"):
        assert shown in output
    return output


def season_until(now: datetime) -> OutcomeCounts:
    """Return what becomes of the simulated season when no game comes too late for its week."""
    start = now.replace(hour=0, minute=0, second=0) - timedelta(days=28)
    season = simulate(games=None, players=PLAYERS, seed=1, start=start)
    fold = Ladders(read_ladders(example_ladder_file()))
    counts = OutcomeCounts()
    games = [decode_checked(fields) for fields in itertools.islice(season, GAMES)]
    counts.count_all(outcome for outcome, _, _ in fold.fold(games))
    return counts


@pytest.mark.parametrize(
    ("moment", "state"),
    [
        pytest.param("2026-11-30T10:00:00Z", "(closed, revision 1)", marks=pytest.mark.soak),
        # The grace time of Paris is over.
        ("2026-11-30T23:00:00Z", "(final)"),
    ],
)
def test_once_ends_by_itself_after_the_report(tmp_path: Path, moment: str, state: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()

    output = check_once(folder, "run-once", standing(tmp_path, moment))

    assert "games per second" in output
    assert f"belote, week 2026-W48 {state}" in output
    assert running("run-once") == []
    assert [path.name for path in folder.iterdir() if not path.name.startswith("ladderlog-faust")] == []


@pytest.mark.soak
@pytest.mark.parametrize(("moment", "zone"), MOMENTS.values(), ids=MOMENTS)
def test_the_clock_passes_a_boundary_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    with RunningClock(tmp_path, moment) as clock:
        output = check_once(tmp_path, "run-boundary", clock.file)

    assert "belote, week 202" in output


def test_own_games_and_ladders(tmp_path: Path) -> None:
    game = {
        "game_id": "1",
        "ladder": "mine",
        "ended_at": "2026-11-24T20:00:00Z",
        "players": [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}],
    }
    (tmp_path / "games.jsonl").write_bytes(orjson.dumps(game) + b"\n")
    (tmp_path / "mine.toml").write_text('[ladders.mine]\nsystems = ["fundox"]\n')
    options = ("--once", "--games", "games.jsonl", "--ladders", "mine.toml")
    process = start("run-own", tmp_path, *options, clock=standing(tmp_path, "2026-11-24T20:00:00Z"))

    output, errors = process.communicate(timeout=240)

    assert process.returncode == 0, errors
    assert "ann    1608.0" in output
    assert "1 read, 1 rated, 0 ignored, 0 rejected, 0 noted, 0 forwarded" in output


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
