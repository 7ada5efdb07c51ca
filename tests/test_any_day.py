"""No outcome depends on the day, the hour or the zone: who needs the time asks the project's one clock."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from clocks import MOMENTS, RunningClock, standing
from project import PROJECT
from sites import Site

from streams.runtime.clock import CLOCK_FILE, FileClock, SystemClock, clock_of_environment

CLOCK = PROJECT / "streams" / "runtime" / "clock.py"
MODULES = [path for folder in ("streams", "tests") for path in sorted((PROJECT / folder).rglob("*.py"))]
# How the machine's clock and its time zone are asked; time.monotonic and its like know no day.
ASKING = {
    *(("datetime", name) for name in ("now", "today", "utcnow")),
    ("date", "today"),
    *(("time", name) for name in ("time", "time_ns", "localtime", "ctime", "mktime", "tzset")),
}
# What starts processes that ask a clock, or asks one itself. Workers of other tests have one of their own.
SENSITIVE = ["end_weeks", "preview", "preview_deployment", "readme", "rebuild", "systems_doc", "weeks_cli"]


def asked(path: Path) -> list[str]:
    """Return where a module asks the machine for the time, or takes its time zone."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            found += [f"{node.lineno}: {name.name}" for name in node.names if ("time", name.name) in ASKING]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            owner_name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
            zone_missing = len(node.args) + len(node.keywords) < {"astimezone": 1, "fromtimestamp": 2}.get(
                node.func.attr, 0
            )
            if (owner_name, node.func.attr) in ASKING or zone_missing:
                found.append(f"{node.lineno}: {node.func.attr}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_only_the_clock_asks_the_machine_for_the_time(path: Path) -> None:
    expected = 1 if path == CLOCK else 0

    assert expected == len(asked(path)), asked(path)


def test_without_a_file_the_clock_is_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CLOCK_FILE)

    clock = clock_of_environment()

    assert isinstance(clock, SystemClock)
    assert clock.now().isoformat().endswith("+00:00")


def test_a_clock_file_may_have_any_offset(tmp_path: Path) -> None:
    now = FileClock(standing(tmp_path, "2026-11-30T00:59:50+01:00")).now()

    assert now.isoformat() == "2026-11-29T23:59:50+00:00"


def test_a_clock_file_without_offset_is_refused_whatever_the_machines_zone(tmp_path: Path) -> None:
    clock = FileClock(standing(tmp_path, "2026-11-30T00:59:50"))

    with pytest.raises(ValueError, match=r"'2026-11-30T00:59:50' in .* has no UTC offset; write one"):
        clock.now()


@pytest.mark.kafka
def test_records_carry_the_time_of_the_clock(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Years ahead of the broker's own clock.
    monkeypatch.setenv(CLOCK_FILE, str(standing(tmp_path, "2099-12-31T23:59:59.999Z")))
    players = [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}]

    site.produce([{"game_id": "1", "ladder": "go", "ended_at": "2100-01-01T00:00:00Z", "players": players}])

    records = [record for found in site.read(site.settings.input_topic).values() for record in found]
    assert [record.timestamp for record in records] == [4_102_444_799_999]


@pytest.mark.soak
@pytest.mark.parametrize(("moment", "zone"), MOMENTS.values(), ids=MOMENTS)
def test_what_asks_a_clock_passes_at_any_moment(tmp_path: Path, moment: str, zone: str) -> None:
    files = [str(next((PROJECT / "tests").rglob(f"test_{name}.py"))) for name in SENSITIVE]
    command = ["-m", "pytest", "-q", "-m", "not soak", "-p", "no:cacheprovider", "--basetemp"]
    with RunningClock(tmp_path, moment) as clock:
        done = subprocess.run(
            [sys.executable, *command, str(tmp_path / "tests"), *files],
            cwd=PROJECT,
            env={**os.environ, CLOCK_FILE: str(clock.file), "TZ": zone},
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stdout + done.stderr
