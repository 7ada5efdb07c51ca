"""Snapshots: the rows of every partition with the offset they are of, in one file of JSON lines.

The first line says what they are rows of: format, application, topic, manifest. Then comes for each
partition a line with its offset, its account and how many rows follow, and these, by key. Equal states make
equal files.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from streams.core.manifest import Manifest, manifest_of
from streams.files.jsonl import open_lines
from streams.files.tables import EventWriter, open_writer
from streams.replay.errors import ReplayError
from streams.runtime.changelog import PartitionState

FORMAT = "ladderlog-snapshot"
VERSION = 2


@dataclass(frozen=True)
class Header:
    """What a snapshot is of: a deployment, its input topic, and what its rows were made by."""

    app_id: str
    topic: str
    manifest: Manifest

    def check(self, topic: str, now: Manifest) -> None:
        """Raise ReplayError when a replay of that topic by `now` cannot go on from it.

        A ladder that was not there then has no rows in it, and may be there now.
        """
        differences = [] if self.topic == topic else [f"topic: {self.topic}, now {topic}"]
        differences += self.manifest.differences(now, used=self.manifest.ladders)
        if differences:
            raise ReplayError("the snapshot is of something else:\n  " + "\n  ".join(differences))


def write_snapshot(path: str, header: Header, states: Iterable[PartitionState]) -> int:
    """Write a snapshot, packed by its ending, and give the number of rows."""
    written = 0
    with open_writer(path, "jsonl") as writer:
        writer.write({"format": FORMAT, "version": VERSION, **_header_document(header)})
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
        for partition in range(header.manifest.partitions):
            start = _partition_start(path, lines, partition)
            offsets[partition] = int(start["offset"])
            _skip(path, lines, start["rows"])
        return offsets


def read_partition(path: str, wanted: int) -> PartitionState:
    """Read the rows of one partition."""
    with _opened(path) as lines:
        header = _header(path, lines)
        for partition in range(header.manifest.partitions):
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
    return Header(start["app_id"], start["topic"], manifest_of(start["manifest"]))


def _header_document(header: Header) -> dict[str, Any]:
    return {"app_id": header.app_id, "topic": header.topic, "manifest": header.manifest.document()}


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
