"""What a replay, a snapshot or a comparison is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streams.replay.folding import Rules
from streams.replay.positions import Position
from streams.replay.sinks import ReplayFiles
from streams.runtime.settings import Settings


@dataclass(frozen=True)
class LogFiles:
    """A log in files of JSON lines, one behind the other; `-` is standard input."""

    paths: Sequence[str]
    app_id: str


Log = Settings | LogFiles
"""The log of a deployment on a broker, or one in files."""


@dataclass(frozen=True)
class Extent:
    """From where to where to fold, and what is known at the start.

    `start` and `end`: None for those of the log. `snapshot`: a file of rows to go on from. `assume_empty`
    begins with nobody rated wherever the records begin.
    """

    start: Position | None = None
    end: Position | None = None
    snapshot: str | None = None
    assume_empty: bool = False


@dataclass(frozen=True)
class ReplayRequest:
    """A fold of the log whose outcomes go to files; no `partitions` means all of them."""

    rules: Rules
    log: Log
    extent: Extent
    outputs: ReplayFiles
    partitions: Sequence[int] = ()
    processes: int = 1


@dataclass(frozen=True)
class SnapshotRequest:
    """The rows of every partition of a deployment, to be written to a file."""

    settings: Settings
    rules: Rules
    out: str


@dataclass(frozen=True)
class CompareRequest:
    """Two folds of the log, by these rules and by others."""

    rules: Rules
    others: Rules
    log: Log
    extent: Extent


@dataclass(frozen=True)
class Telling:
    """Whom to tell how it goes.

    `start` is told once how many records or partitions there are, None when that is not known, and returns
    what is told how many more are done. `warn` takes sentences.
    """

    start: Callable[[int | None], Callable[[int], None]]
    warn: Callable[[str], None]
