"""Part `replay`: how fast one process folds a log from the broker again."""

import asyncio
import time
from pathlib import Path
from statistics import median

from backlog import bare_loop
from deployment import create_topics
from games import FUNDOX_ALONE, games, produce
from processes import BenchError
from table import Table, spread, verdict, whole

from streams.files.ladder_file import read_ladders
from streams.replay.log import read_bounds
from streams.replay.offset_ranges import exact_ranges
from streams.replay.sinks import ReplayFiles
from streams.replay.topic import Job, replay_topic
from streams.runtime.settings import Settings

TARGET = 80_000
BARE = "bare aiokafka loop, fetch only"
RATED = "folding the log, nothing written"
ROWS = "final rows, of remembered games too"
EVENTS = "every rating-changed as JSON lines"


def measure(bootstrap: str, prefix: str, folder: Path, count: int, repeat: int) -> Table:
    """Measure events alone, final rows alone, and reading without anything else as their bound."""
    settings = Settings(bootstrap, topic_prefix=f"{prefix}replay-", partitions=1)
    ladders = folder / "fundox.toml"
    ladders.write_text(FUNDOX_ALONE, encoding="utf-8")
    asyncio.run(create_topics(settings))
    asyncio.run(produce(settings, games(count)))
    job = Job(settings, read_ladders(ladders))
    wanted = {
        RATED: ReplayFiles(rejected=str(folder / "rejected.jsonl")),
        ROWS: ReplayFiles(tables=str(folder / "tables.jsonl")),
        EVENTS: ReplayFiles(changed=str(folder / "changed.jsonl")),
    }
    speeds: dict[str, list[float]] = {name: [] for name in (BARE, *wanted)}
    for _ in range(repeat):
        speeds[BARE].append(bare_loop(settings, "fetch")[0])
        for name, files in wanted.items():
            speeds[name].append(_speed(job, files, count))
    return _table(speeds, count, repeat)


def _speed(job: Job, files: ReplayFiles, count: int) -> float:
    started = time.perf_counter()
    ranges = exact_ranges(asyncio.run(read_bounds(job.settings, [0])), None)
    counts = replay_topic(job, ranges, files, 1, lambda _: None)
    if counts.rated != count:
        raise BenchError(f"{counts.rated} of {count} games were rated")
    return count / (time.perf_counter() - started)


def _table(speeds: dict[str, list[float]], count: int, repeat: int) -> Table:
    bound = median(speeds[BARE])
    rows = [(name, spread(found), f"{median(found) / bound:.2f}") for name, found in speeds.items()]
    notes = (
        f"Median of {repeat} rounds; {count:,} games of two under fundox, one process.",
        f"Folding the log, to reach: {whole(TARGET)} ({verdict(median(speeds[RATED]), TARGET)}).",
    )
    return Table("replay", "Replay: a log from the broker", ("", "games/s", "part of the bound"), rows, notes)
