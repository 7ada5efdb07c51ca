"""Replay of the input topic: every partition folded at full speed, by one process or several.

Partitions come out one after the other, whatever the number of processes, so that equal logs make equal
files.
"""

import asyncio
import multiprocessing
import tempfile
import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty
from typing import Any

import orjson

from streams.core.outcomes import OutcomeCounts
from streams.processor import no_collection
from streams.replay.folding import Rules
from streams.replay.log import PartitionReplay
from streams.replay.offset_ranges import OffsetRange
from streams.replay.sinks import TABLES, FileSink, ReplayFiles, describe_record
from streams.replay.snapshot import read_partition
from streams.runtime.settings import Settings

# How often the bar moves while other processes do the work.
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Job:
    """What is to be replayed: which deployment's log by which rules, from which snapshot if from one."""

    settings: Settings
    rules: Rules
    snapshot: str | None = None


def replay_topic(
    job: Job,
    ranges: Sequence[OffsetRange],
    files: ReplayFiles,
    processes: int,
    advance: Callable[[int], None],
) -> OutcomeCounts:
    """Fold the ranges, write the files, and give the account of the records read."""
    with FileSink(files.by_content(), describe_record) as sink:
        if processes == 1 or len(ranges) == 1:
            return _replay_here(job, ranges, sink, files, advance)
        with _parts_beside(files) as folder:
            return _replay_in_processes(job, ranges, sink, files, _Pool(processes, folder, advance))


def replay_range(
    job: Job, offset_range: OffsetRange, sink: FileSink, files: ReplayFiles, advance: Callable[[int], None]
) -> OutcomeCounts:
    """Fold one range into an sink, and give the account of its records."""
    keep_rows = files.tables is not None
    wants_events = any(content != TABLES for content in files.by_content())
    replay = PartitionReplay(
        job.settings,
        job.rules,
        offset_range,
        sink if wants_events else None,
        rows=None if job.snapshot is None else read_partition(job.snapshot, offset_range.partition),
        keep_rows=keep_rows,
        advance=advance,
    )
    before = replace(replay.fold.counts)
    with no_collection():
        asyncio.run(replay.run())
        sink.write_rows(replay.fold.rows())
    return replay.fold.counts.since(before)


def _replay_here(
    job: Job,
    ranges: Sequence[OffsetRange],
    sink: FileSink,
    files: ReplayFiles,
    advance: Callable[[int], None],
) -> OutcomeCounts:
    counts = OutcomeCounts()
    for offset_range in ranges:
        counts.add(replay_range(job, offset_range, sink, files, advance))
    return counts


@dataclass(frozen=True)
class _Pool:
    """How many processes there are, where their parts go, and who is told how far they are."""

    processes: int
    folder: Path
    advance: Callable[[int], None]


def _replay_in_processes(
    job: Job, ranges: Sequence[OffsetRange], sink: FileSink, files: ReplayFiles, pool: _Pool
) -> OutcomeCounts:
    counts = OutcomeCounts()
    # Not fork: a copy of a process with an event loop and threads is asking for trouble.
    spawn = multiprocessing.get_context("spawn")
    steps = spawn.Queue()
    with ProcessPoolExecutor(pool.processes, spawn, initializer=_start_child, initargs=(steps,)) as executor:
        futures = [
            executor.submit(_replay_part, job, offset_range, _part_files(pool.folder, offset_range, files))
            for offset_range in ranges
        ]
        try:
            for offset_range, future in zip(ranges, futures, strict=True):
                counts.add(_await(future, steps, pool.advance))
                _take_over(_part_files(pool.folder, offset_range, files), sink)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return counts


_steps: Any = None


def _start_child(steps: Any) -> None:
    global _steps  # noqa: PLW0603 - a queue reaches a process of a pool only at its start
    _steps = steps
    # As in the process that started this one: the zones of the tzdata package.
    zoneinfo.reset_tzpath(to=())


def _replay_part(job: Job, offset_range: OffsetRange, files: ReplayFiles) -> OutcomeCounts:
    with FileSink(files.by_content(), describe_record) as sink:
        return replay_range(job, offset_range, sink, files, _steps.put)


def _await(future: "Future[OutcomeCounts]", steps: Any, advance: Callable[[int], None]) -> OutcomeCounts:
    while True:
        done = future.done()
        try:
            while True:
                advance(steps.get(timeout=0 if done else _LOOK_SECONDS))
        except Empty:
            if done:
                return future.result()


def _part_files(folder: Path, offset_range: OffsetRange, files: ReplayFiles) -> ReplayFiles:
    wanted = {name: path for name, path in vars(files).items() if path is not None}
    return ReplayFiles(**{name: str(folder / f"{offset_range.partition}-{name}.jsonl") for name in wanted})


def _take_over(parts: ReplayFiles, sink: FileSink) -> None:
    for content, path in parts.by_content().items():
        part = Path(path)
        with part.open("rb") as lines:
            for line in lines:
                sink.write(content, orjson.loads(line))
        part.unlink()


@contextmanager
def _parts_beside(files: ReplayFiles) -> Iterator[Path]:
    """Return a folder for parts on the disk of the files, which has room for them."""
    named = [path for path in files.by_content().values() if path != "-"]
    where = Path(named[0]).absolute().parent if named else None
    with tempfile.TemporaryDirectory(prefix=".ladderlog-replay-", dir=where) as folder:
        yield Path(folder)
