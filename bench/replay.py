"""Part `replay`: how fast one process folds a log from the broker again.

python bench/replay.py [--games N] [--repeat N] [--bootstrap-servers HOST:PORT]
"""

import asyncio
import tempfile
import time
from pathlib import Path

import click
from deployment import create_topics
from games import FUNDOX_ALONE, games, produce
from table import Table, spread, verdict, whole

from streams.files import read_ladders
from streams.replay.log import read_bounds
from streams.replay.outlet import ReplayFiles
from streams.replay.replay import Job, replay_topic
from streams.replay.stretches import exact_stretches
from streams.runtime.broker import provided
from streams.runtime.settings import Settings

TARGET = 80_000


def measure(bootstrap: str, prefix: str, folder: Path, count: int, repeat: int) -> Table:
    """Measure final rows alone, and with every rating-changed as JSON lines."""
    settings = Settings(bootstrap, topic_prefix=f"{prefix}replay-", partitions=1)
    ladders = folder / "fundox.toml"
    ladders.write_text(FUNDOX_ALONE, encoding="utf-8")
    asyncio.run(create_topics(settings))
    asyncio.run(produce(settings, games(count)))
    job = Job(settings, read_ladders(ladders))
    tables = str(folder / "tables.jsonl")
    wanted = {
        "final rows": ReplayFiles(tables=tables),
        "final rows and events": ReplayFiles(changed=str(folder / "changed.jsonl"), tables=tables),
    }
    speeds: dict[str, list[float]] = {name: [] for name in wanted}
    for _ in range(repeat):
        for name, files in wanted.items():
            speeds[name].append(_speed(job, files, count))
    return _table(speeds, count)


def _speed(job: Job, files: ReplayFiles, count: int) -> float:
    started = time.perf_counter()
    stretches = exact_stretches(asyncio.run(read_bounds(job.settings, [0])), None)
    counts = replay_topic(job, stretches, files, 1, lambda _: None)
    if counts["rated"] != count:
        raise click.ClickException(f"{counts['rated']} of {count} games were rated")
    return count / (time.perf_counter() - started)


def _table(speeds: dict[str, list[float]], count: int) -> Table:
    rows = [(name, spread(found)) for name, found in speeds.items()]
    best = max(speeds["final rows"])
    note = (
        f"{count:,} games of two under fundox, one process. Target for the rows alone: {whole(TARGET)}, "
        f"{verdict(best, TARGET)}."
    )
    return Table("replay", "Replay: games a second", ("", "games/s"), rows, (note,))


@click.command(context_settings={"show_default": True})
@click.option("--games", "count", default=300_000, type=click.IntRange(1_000))
@click.option("--repeat", default=3, type=click.IntRange(1))
@click.option("--bootstrap-servers", envvar="LADDERLOG_BOOTSTRAP_SERVERS")
def main(count: int, repeat: int, bootstrap_servers: str | None) -> None:
    """Measure, and print a table."""
    with provided(bootstrap_servers) as servers, tempfile.TemporaryDirectory() as folder:
        print(measure(servers, f"bench-{int(time.time())}-", Path(folder), count, repeat).text())


if __name__ == "__main__":
    main()
