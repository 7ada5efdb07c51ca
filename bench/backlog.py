"""Part `worker`: games a second through a backlog, beside an ordinary Faust agent and a bare loop."""

import asyncio
import itertools
import pstats
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import orjson
from deployment import (
    APPEND_TIME,
    append_times,
    create_topic,
    create_topics,
    wait_committed,
    wait_written,
    watermarks,
)
from games import FUNDOX_ALONE, PLAYERS, games, produce
from processes import BENCH, BenchError, Process, output_of, started, worker_command
from table import Table, spread, verdict, whole

from streams.runtime.settings import Settings

TARGET = 12.0
_PATIENCE = 600.0
_START_PATIENCE = 60.0
_READY = "owner from offset"
_RECORDS_A_GAME = 2
_number = itertools.count(1)


@dataclass
class Runs:
    """The runs of one contender: games a second, and CPU microseconds a game where they can be read."""

    speeds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, speed: float, cpu: float | None) -> None:
        """Add one run."""
        self.speeds.append(speed)
        if cpu is not None:
            self.cpu.append(cpu)


@dataclass(frozen=True)
class Options:
    """How much is measured."""

    games: int
    ordinary_games: int
    repeat: int


def measure(bootstrap: str, prefix: str, folder: Path, options: Options) -> Table:
    """Measure all contenders in turn on one backlog, so that each round sees the same machine."""
    settings = Settings(bootstrap, topic_prefix=f"{prefix}backlog-", partitions=1)
    ladders = _prepare(settings, folder, options.games)
    runs = {name: Runs() for name in ("fetch", "decode", "worker", "ordinary")}
    for _ in range(options.repeat):
        for work in ("fetch", "decode"):
            runs[work].add(*bare_loop(settings, work))
        runs["worker"].add(*_worker(settings, ladders, folder, options.games))
        runs["ordinary"].add(*_ordinary(settings, folder, options.ordinary_games))
    return _table(runs, options)


def profile(bootstrap: str, prefix: str, folder: Path, count: int, lines: int) -> None:
    """Run the worker over a backlog under cProfile and print where its time goes, thread by thread."""
    settings = Settings(bootstrap, topic_prefix=f"{prefix}profile-", partitions=1)
    ladders = _prepare(settings, folder, count)
    _, *worker = worker_command(settings, ladders)
    target = folder / "worker.prof"
    command = [str(BENCH / "profile_worker.py"), str(target), *worker[1:]]
    with started(command, folder / "profile.log") as process:
        asyncio.run(wait_committed(settings, count, process, _PATIENCE))
    for file in sorted(folder.glob("worker.prof*")):
        print(f"{file.suffix.removeprefix('.')} ({count} games, cProfile makes Python calls look dearer):")
        pstats.Stats(str(file)).sort_stats("tottime").print_stats(lines)


def _prepare(settings: Settings, folder: Path, count: int) -> Path:
    ladders = folder / "fundox.toml"
    ladders.write_text(FUNDOX_ALONE, encoding="utf-8")
    asyncio.run(create_topics(settings))
    asyncio.run(produce(settings, games(count)))
    return ladders


def bare_loop(settings: Settings, work: str) -> tuple[float, float]:
    """Read a topic's partition 0 and nothing else; give games a second, and CPU microseconds a game."""
    command = [str(BENCH / "bare_loop.py"), settings.bootstrap_servers, settings.input_topic, work]
    found = orjson.loads(output_of(command))
    return found["records"] / found["seconds"], 1e6 * found["cpu"] / found["records"]


def _worker(settings: Settings, ladders: Path, folder: Path, count: int) -> tuple[float, float | None]:
    """Measure from the first commit to the last; the first one's games do not count."""
    own = Settings(
        settings.bootstrap_servers,
        app_id=f"worker-{next(_number)}",
        topic_prefix=settings.topic_prefix,
        partitions=settings.partitions,
    )
    asyncio.run(create_topics(own))
    with started(worker_command(own, ladders), folder / f"{own.app_id}.log") as process:
        process.wait_for(_READY, _START_PATIENCE)
        before = process.cpu_seconds()
        asyncio.run(wait_committed(own, count, process, _PATIENCE))
        cpu = _cpu_a_game(process, before, count)
    commits = asyncio.run(watermarks(own))
    (first, done), (last, offset) = commits[0], commits[-1]
    if last <= first:
        raise BenchError(
            f"{count} games went into one transaction: there is no second commit to measure up to"
        )
    return (offset - done) / (last - first), cpu


def _ordinary(settings: Settings, folder: Path, count: int) -> tuple[float, float | None]:
    """Measure from the first published record to the last one of the first `count` games."""
    app_id = f"{settings.topic_prefix}ordinary-{next(_number)}"
    output = f"{app_id}-rating-changed"
    asyncio.run(create_topic(settings, output, APPEND_TIME))
    command = [
        str(BENCH / "ordinary_agent.py"),
        settings.bootstrap_servers,
        app_id,
        settings.input_topic,
        output,
    ]
    records = _RECORDS_A_GAME * count
    with started(command, folder / f"{app_id}.log") as process:
        asyncio.run(wait_written(settings, output, 1, process, _START_PATIENCE))
        before = process.cpu_seconds()
        asyncio.run(wait_written(settings, output, records, process, _PATIENCE))
        cpu = _cpu_a_game(process, before, count)
    first, last = asyncio.run(append_times(settings, output, records))
    return count / (last - first), cpu


def _cpu_a_game(process: Process, before: float | None, count: int) -> float | None:
    after = process.cpu_seconds()
    return None if before is None or after is None else 1e6 * (after - before) / count


def _table(runs: dict[str, Runs], options: Options) -> Table:
    shown = {
        "fetch": "bare aiokafka loop, fetch only",
        "decode": "bare aiokafka loop, fetch and decode",
        "worker": "**worker**, exactly once",
        "ordinary": "ordinary Faust agent with a Table, at least once",
    }
    ratios = {name: _ratios(runs[name], runs["ordinary"]) for name in shown}
    rows = [
        (
            text,
            spread(runs[name].speeds),
            whole(median(runs[name].cpu)) if runs[name].cpu else "",
            f"{median(ratios[name]):.1f}",
        )
        for name, text in shown.items()
    ]
    of_bare = median(_ratios(runs["worker"], runs["decode"]))
    times = median(ratios["worker"])
    return Table(
        "worker",
        f"Worker: {options.games:,} games of two out of {PLAYERS:,} players, one partition, fundox alone",
        ("", "games/s", "CPU µs a game", "times the ordinary agent"),
        rows,
        (
            f"Worker to ordinary agent: {times:.1f}; to reach: {TARGET:.0f} ({verdict(times, TARGET)}).",
            f"Worker to bare fetch and decode: {of_bare:.2f}.",
            f"Median of {options.repeat} rounds; the ordinary agent got {options.ordinary_games:,} games.",
        ),
    )


def _ratios(runs: Runs, others: Runs) -> list[float]:
    return [speed / other for speed, other in zip(runs.speeds, others.speeds, strict=True)]
