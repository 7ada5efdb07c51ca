"""Snapshots: the rows of every partition with the offset they are of, in one file of JSON lines.

The first line says what they are rows of: format, application, topic, partitions, rules. Then comes for each
partition a line with its offset, its account and how many rows follow, and these, by key. Equal states make
equal files.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from streams.files.jsonl import open_lines
from streams.files.tables import EventWriter, open_writer
from streams.replay.errors import ReplayError
from streams.replay.folding import Rules
from streams.runtime.changelog import PartitionState

FORMAT = "ladderlog-snapshot"
VERSION = 1


@dataclass(frozen=True)
class Header:
    """What a snapshot is of; `ladders` are the described rules."""

    app_id: str
    topic: str
    partitions: int
    ladders: Mapping[str, Any]

    def check(self, topic: str, partitions: int, rules: Rules) -> None:
        """Raise ReplayError when a replay of that topic by those rules cannot go on from it."""
        if (self.topic, self.partitions) != (topic, partitions):
            raise ReplayError(
                f"the snapshot is of topic {self.topic} with {self.partitions} partitions, not of {topic} "
                f"with {partitions}"
            )
        wanted = described(rules)
        for ladder in sorted(self.ladders.keys() | wanted.keys()):
            if self.ladders.get(ladder) != wanted.get(ladder):
                raise ReplayError(
                    f"the snapshot was made by other rules: ladder {ladder!r} was "
                    f"{self.ladders.get(ladder)}, the ladder file has {wanted.get(ladder)}"
                )


def described(rules: Rules) -> dict[str, Any]:
    """Return rules as plain JSON, by ladder."""
    rules_document: dict[str, Any] = orjson.loads(
        orjson.dumps({name: ladder_rules.described() for name, ladder_rules in rules.items()})
    )
    return rules_document


def write_snapshot(path: str, header: Header, states: Iterable[PartitionState]) -> int:
    """Write a snapshot, packed by its ending, and give the number of rows."""
    written = 0
    with open_writer(path, "jsonl") as writer:
        writer.write({"format": FORMAT, "version": VERSION, **vars(header)})
        for partition, state in enumerate(states):
            _write_partition(writer, partition, state)
            written += len(state.rows)
    return written


def read_header(path: str) -> Header:
    """Read what a snapshot is of. Raises ReplayError when the file is none that this program can read."""
    with _opened(path) as lines:
        return _header(path, lines)


def read_offsets(path: str) -> dict[int, int]:
    """Read the offset of each partition, and see that the file is whole."""
    with _opened(path) as lines:
        header = _header(path, lines)
        offsets = {}
        for partition in range(header.partitions):
            start = _partition_start(path, lines, partition)
            offsets[partition] = int(start["offset"])
            _skip(path, lines, start["rows"])
        return offsets


def read_partition(path: str, wanted: int) -> PartitionState:
    """Read the rows of one partition."""
    with _opened(path) as lines:
        header = _header(path, lines)
        for partition in range(header.partitions):
            start = _partition_start(path, lines, partition)
            if partition != wanted:
                _skip(path, lines, start["rows"])
                continue
            rows: dict[str, bytes] = {}
            for _ in range(start["rows"]):
                line = _parsed(path, lines.readline())
                rows[line["key"]] = orjson.dumps(line["row"])
            return PartitionState(start["offset"], rows, start["counts"])
    raise ReplayError(f"{path}: has no partition {wanted}")


def _write_partition(writer: EventWriter, partition: int, state: PartitionState) -> None:
    start = {"partition": partition, "offset": state.offset, "counts": state.counts, "rows": len(state.rows)}
    writer.write(start)
    for key in sorted(state.rows):
        writer.write({"key": key, "row": orjson.Fragment(state.rows[key])})


def _opened(path: str) -> Any:
    if not Path(path).is_file():
        raise ReplayError(f"{path}: is no file")
    return open_lines(path)


def _header(path: str, lines: IO[bytes]) -> Header:
    start = _parsed(path, lines.readline())
    if start.get("format") != FORMAT:
        raise ReplayError(f"{path}: is no snapshot")
    if start["version"] != VERSION:
        raise ReplayError(f"{path}: is a snapshot of version {start['version']}, not {VERSION}")
    return Header(start["app_id"], start["topic"], start["partitions"], start["ladders"])


def _partition_start(path: str, lines: IO[bytes], partition: int) -> dict[str, Any]:
    start = _parsed(path, lines.readline())
    if start.get("partition") != partition:
        raise ReplayError(
            f"{path}: partition {partition} does not begin where it should; the file is damaged"
        )
    return start


def _skip(path: str, lines: IO[bytes], rows: int) -> None:
    for _ in range(rows):
        if not lines.readline().endswith(b"\n"):
            raise ReplayError(f"{path}: the file ends too early")


def _parsed(path: str, line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise ReplayError(f"{path}: the file ends too early")
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ReplayError(f"{path}: is no snapshot, or damaged: {error}") from error
    if not isinstance(parsed, dict):
        raise ReplayError(f"{path}: is no snapshot, or damaged")
    return parsed
