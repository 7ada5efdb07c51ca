"""Which offsets of each partition a replay folds, and whether what comes of it is exact.

A fold is exact when it starts at the beginning of the log, or with the rows of an earlier fold where that one
ended. Pure: standard library only; `streams.replay.log` asks the broker for the bounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streams.replay.errors import LostError, ReplayError


@dataclass(frozen=True)
class Bounds:
    """What a partition has, and what was asked of it.

    `first` and `last`: the first offset there is, and the one behind the last committed record; `start` and
    `end`: what was asked for, as offsets; None when nothing was.
    """

    partition: int
    first: int
    last: int
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class OffsetRange:
    """Offsets of a partition to fold, from `start` to `end` (not with); put out from `emit_from` on."""

    partition: int
    start: int
    emit_from: int
    end: int


def exact_ranges(bounds: Sequence[Bounds], snapshot: Mapping[int, int] | None) -> list[OffsetRange]:
    """Plan an exact replay: from the beginning, or from a snapshot's offset in each partition.

    Raises ReplayError, of all partitions at once, when that is not possible.
    """
    if snapshot is None:
        _check_beginnings(bounds)
        return [_offset_range(known, 0) for known in bounds]
    _check_snapshot(bounds, snapshot)
    return [_offset_range(known, snapshot[known.partition]) for known in bounds]


def fresh_ranges(bounds: Sequence[Bounds]) -> list[OffsetRange]:
    """Plan a replay in which nobody has a rating before its start."""
    return [_offset_range(known, max(known.first, known.start or 0)) for known in bounds]


def _offset_range(known: Bounds, start: int) -> OffsetRange:
    end = known.last if known.end is None else min(known.end, known.last)
    return OffsetRange(known.partition, start, max(start, known.start or 0), max(start, end))


def _check_beginnings(bounds: Sequence[Bounds]) -> None:
    lost = [known for known in bounds if known.first > 0]
    if lost:
        raise LostError(
            "\n".join(
                [
                    "the log has lost its beginning, so that ratings cannot be replayed exactly from it:",
                    *(
                        f"  partition {known.partition}: offsets 0 to {known.first - 1} are gone; exact is "
                        f"only a replay from a snapshot at offset {known.first} or later"
                        for known in lost
                    ),
                    "Give such a snapshot with --from-snapshot.",
                ]
            )
        )
    late = [known for known in bounds if known.start is not None and known.start > 0]
    if late:
        raise ReplayError(
            "\n".join(
                [
                    "a replay that does not start at the beginning needs the ratings of before:",
                    *(f"  partition {known.partition}: from offset {known.start}" for known in late),
                    "Exact: give a snapshot of there or earlier with --from-snapshot, or leave --from out.",
                    "Not exact: --assume-empty begins with nobody rated; ratings, sequences, statistics",
                    "and the recognition of repeated games then know nothing of what was before.",
                ]
            )
        )


def _check_snapshot(bounds: Sequence[Bounds], snapshot: Mapping[int, int]) -> None:
    problems = []
    for known in bounds:
        offset = snapshot[known.partition]
        where = f"  partition {known.partition}: the snapshot is of offset {offset}"
        if offset < known.first:
            problems.append(
                f"{where}, but the log now begins at {known.first}; exact is only a replay from a snapshot "
                f"at offset {known.first} or later"
            )
        elif offset > known.last:
            problems.append(f"{where}, but the log ends at {known.last}: it is another log's")
        elif known.start is not None and known.start < offset:
            problems.append(f"{where}, later than the start at {known.start}")
        elif known.end is not None and known.end < offset:
            problems.append(f"{where}, later than the end at {known.end}")
    if problems:
        raise LostError("\n".join(["the snapshot does not fit the log and what was asked for:", *problems]))
