"""Part `rate`: games a second of `ladderlog rate` over a file, from whole processes."""

import os
import pstats
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from games import ALL_SYSTEMS, FUNDOX_ALONE, games, write_file
from processes import BENCH, BenchError, environment
from table import Table, spread, verdict

TARGETS = {"fundox": 100_000.0, "all": 25_000.0}
_LADDERS = {"fundox": FUNDOX_ALONE, "all": ALL_SYSTEMS}
# The shorter file costs the start of the interpreter and the imports too, and is subtracted.
_SHORT_PART = 5


class Speed(NamedTuple):
    """What one round showed: games a second, and CPU microseconds a game."""

    games: float
    cpu: float


class _Took(NamedTuple):
    seconds: float
    cpu: float


@dataclass(frozen=True)
class _Files:
    short: Path
    long: Path
    difference: int


def measure(folder: Path, count: int, repeat: int) -> Table:
    """Measure fundox alone, all systems, and reading and parsing the same lines as their bound."""
    files = {name: _write(folder, name, count) for name in _LADDERS}
    speeds: dict[str, list[Speed]] = {"lines": [], "fundox": [], "all": []}
    for _ in range(repeat):
        speeds["lines"].append(_speed(files["fundox"], [str(BENCH / "lines.py")]))
        for name in _LADDERS:
            speeds[name].append(_speed(files[name], _rate_command(folder, name)))
    return _table(speeds, count, repeat)


def profile(folder: Path, count: int, lines: int) -> None:
    """Print where `ladderlog rate` spends its time, under cProfile."""
    for name in _LADDERS:
        file = _write(folder, name, count).long
        target = folder / f"rate-{name}.prof"
        _run(["-m", "cProfile", "-o", str(target), *_rate_command(folder, name)], file)
        print(f"rate, {name} ({count} games, cProfile makes Python calls look dearer):")
        pstats.Stats(str(target)).sort_stats("tottime").print_stats(lines)


def _write(folder: Path, name: str, count: int) -> _Files:
    (folder / f"{name}.toml").write_text(_LADDERS[name], encoding="utf-8")
    files = _Files(
        folder / f"{name}-short.jsonl", folder / f"{name}-long.jsonl", count - count // _SHORT_PART
    )
    points = name == "all"
    write_file(files.short, games(count // _SHORT_PART, points=points))
    write_file(files.long, games(count, points=points))
    return files


def _rate_command(folder: Path, name: str) -> list[str]:
    return ["-m", "streams", "rate", "--ladders", str(folder / f"{name}.toml")]


def _speed(files: _Files, command: Sequence[str]) -> Speed:
    long, short = _run(command, files.long), _run(command, files.short)
    seconds = long.seconds - short.seconds
    if seconds <= 0:
        raise BenchError("the longer file took no longer: more games are needed, or a quieter machine")
    return Speed(files.difference / seconds, 1e6 * (long.cpu - short.cpu) / files.difference)


def _run(command: Sequence[str], file: Path) -> _Took:
    """Run a command over a file with its output thrown away."""
    with (file.parent / "errors").open("w+b") as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *command, str(file)],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            words = errors.read().decode(errors="replace")
            raise BenchError(f"{command} ended with status {process.returncode}:\n{words}")
    return _Took(seconds, usage.ru_utime + usage.ru_stime)


def _table(speeds: dict[str, list[Speed]], count: int, repeat: int) -> Table:
    shown = {
        "lines": "reading the lines and orjson.loads only",
        "fundox": "`ladderlog rate`, fundox alone",
        "all": "`ladderlog rate`, all five systems on one ladder",
    }
    found = {name: [speed.games for speed in speeds[name]] for name in shown}
    base = median(found["lines"])
    rows = [
        (
            text,
            spread(found[name]),
            f"{median(speed.cpu for speed in speeds[name]):.1f}",
            f"{median(found[name]) / base:.3f}",
            f"{TARGETS[name]:,.0f} ({verdict(median(found[name]), TARGETS[name])})"
            if name in TARGETS
            else "",
        )
        for name, text in shown.items()
    ]
    return Table(
        "rate",
        f"Rate: {count:,} games of two players from a file of JSON lines",
        ("", "games/s", "CPU µs a game", "part of the bound", "to reach"),
        rows,
        (f"Median of {repeat} rounds; the start of the interpreter is subtracted.",),
    )
