"""A replay, a snapshot or a comparison as it was asked for: plan it, then fold."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from streams.core.outcomes import OutcomeCounts
from streams.replay.errors import NoPartitionError, ReplayError, RequestError
from streams.replay.files import replay_lines
from streams.replay.folding import Rules
from streams.replay.log import partition_count, read_bounds
from streams.replay.offset_ranges import OffsetRange, exact_ranges, fresh_ranges
from streams.replay.positions import Position
from streams.replay.requests import (
    CompareRequest,
    Extent,
    LogFiles,
    ReplayRequest,
    SnapshotRequest,
    Telling,
)
from streams.replay.sinks import FileSink, describe_line
from streams.replay.snapshot import Header, read_header, read_offsets, write_snapshot
from streams.replay.topic import Job, replay_topic
from streams.replay.whatif import Outcome, outcome_of_files, outcome_of_topic
from streams.runtime.changelog import PartitionState, read_state
from streams.runtime.deployment import manifest_now
from streams.runtime.settings import Settings

_STANDARD = "-"


def replay(request: ReplayRequest, telling: Telling) -> OutcomeCounts:
    """Fold the log into the files asked for, and return how many records had each outcome.

    When no file is asked for, rating-changed events go to standard output. Raises RequestError when what is
    asked for does not go together, ReplayError when it cannot be done, or not exactly.
    """
    if not request.outputs.by_content():
        request = replace(request, outputs=replace(request.outputs, changed=_STANDARD))
    if isinstance(request.log, LogFiles):
        return _replay_files(request, request.log, telling)
    return _replay_topic(request, request.log, telling)


def take_snapshot(request: SnapshotRequest, telling: Telling) -> tuple[int, list[int]]:
    """Write the rows of every partition, one after the other; return their number and the offsets."""
    settings = request.settings
    offsets: list[int] = []

    def states(count: int) -> Iterator[PartitionState]:
        advance = telling.start(count)
        for partition in range(count):
            state = asyncio.run(read_state(settings, partition))
            offsets.append(state.offset)
            yield state
            advance(1)

    count = asyncio.run(partition_count(settings, settings.changelog_topic))
    manifest = manifest_now(replace(settings, partitions=count), request.rules)
    header = Header(settings.app_id, settings.input_topic, manifest)
    rows = write_snapshot(request.out, header, states(count))
    return rows, offsets


def fold_twice(request: CompareRequest, telling: Telling) -> tuple[Outcome, Outcome]:
    """Return what comes of the log by the rules and by the others. Raises as `replay` does."""
    if isinstance(request.log, LogFiles):
        return _compare_files(request, request.log, telling)
    return _compare_topic(request, request.log, telling)


def _replay_files(request: ReplayRequest, log: LogFiles, telling: Telling) -> OutcomeCounts:
    extent = request.extent
    if extent.snapshot is not None or request.partitions:
        raise RequestError("--from-snapshot and --partition are for a log on a broker; files have neither")
    start, end = _event_number(extent.start), _event_number(extent.end)
    if start and not extent.assume_empty:
        raise ReplayError(
            f"a replay from event {start} on needs the ratings of before: leave --from out for an exact "
            f"replay, or begin with nobody rated, --assume-empty"
        )
    with FileSink(request.outputs.by_content(), describe_line) as sink:
        fold = replay_lines(
            log.paths,
            request.rules,
            log.app_id,
            sink,
            window=(start or 0, end),
            keep_rows=request.outputs.tables is not None,
            advance=telling.start(None),
        )
        sink.write_rows(fold.rows())
    return fold.counts


def _event_number(position: Position | None) -> int | None:
    """Return the event that a position in files means. Raises RequestError when it is a time."""
    if position is not None and position.offset is None:
        raise RequestError(f"{position.text}: files have no times of records; give a number of events")
    return None if position is None else position.offset


def _replay_topic(request: ReplayRequest, settings: Settings, telling: Telling) -> OutcomeCounts:
    extent = request.extent
    count = asyncio.run(partition_count(settings, settings.input_topic))
    settings = replace(settings, partitions=count)
    partitions = sorted(set(request.partitions)) or list(range(count))
    if partitions[-1] >= count:
        raise NoPartitionError(f"{settings.input_topic} has {count} partitions, and no {partitions[-1]}")
    if extent.snapshot is not None:
        _check_snapshot(extent, extent.snapshot, settings, count, request.rules)
    ranges = _ranges(settings, partitions, extent, telling)
    job = Job(settings, request.rules, extent.snapshot)
    advance = telling.start(_length(ranges))
    return replay_topic(job, ranges, request.outputs, request.processes, advance)


def _check_snapshot(extent: Extent, snapshot: str, settings: Settings, count: int, rules: Rules) -> None:
    if extent.assume_empty:
        raise RequestError("--assume-empty and --from-snapshot exclude each other")
    now = manifest_now(replace(settings, partitions=count), rules)
    read_header(snapshot).check(settings.input_topic, now)


def _ranges(
    settings: Settings, partitions: Sequence[int], extent: Extent, telling: Telling
) -> list[OffsetRange]:
    """Return what to fold of each partition; a fold that does not begin at the beginning is warned of."""
    bounds = asyncio.run(read_bounds(settings, partitions, extent.start, extent.end))
    if not extent.assume_empty:
        return exact_ranges(bounds, None if extent.snapshot is None else read_offsets(extent.snapshot))
    ranges = fresh_ranges(bounds)
    for offset_range in ranges:
        if offset_range.start > 0:
            telling.warn(
                f"partition {offset_range.partition}: nobody is rated before offset {offset_range.start}; "
                f"ratings, sequences and statistics are not those of the whole log"
            )
    return ranges


def _length(ranges: Sequence[OffsetRange]) -> int:
    return sum(offset_range.end - offset_range.start for offset_range in ranges)


def _compare_files(request: CompareRequest, log: LogFiles, telling: Telling) -> tuple[Outcome, Outcome]:
    if _STANDARD in log.paths:
        raise ReplayError("standard input can be read once, and a comparison folds twice; give a file")
    advance = telling.start(None)
    before = outcome_of_files(log.paths, request.rules, log.app_id, advance)
    return before, outcome_of_files(log.paths, request.others, log.app_id, advance)


def _compare_topic(request: CompareRequest, settings: Settings, telling: Telling) -> tuple[Outcome, Outcome]:
    count = asyncio.run(partition_count(settings, settings.input_topic))
    settings = replace(settings, partitions=count)
    ranges = _ranges(settings, range(count), request.extent, telling)
    advance = telling.start(2 * _length(ranges))
    before = outcome_of_topic(settings, request.rules, ranges, advance)
    return before, outcome_of_topic(settings, request.others, ranges, advance)
