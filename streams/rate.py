"""`ladderlog rate`: the ladders fold over a file, without a broker."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import orjson

from streams.events import GAME_REJECTED, decode_line
from streams.files import batched
from streams.ladder_file import LadderRules
from streams.ladders import COMPETITION_CLOSED, GAME_IGNORED, RATING_CHANGED, REJECTED, Ladders, Output
from streams.model import Rejected
from streams.outcomes import OutcomeCounts
from streams.tally import Tally

_LINES_AT_ONCE = 1_000
_LINES_BETWEEN_DRAINS = 100_000


@dataclass(frozen=True)
class RateFiles:
    """Where the outcomes go; None for those that are not wanted."""

    changed: IO[bytes] | None = None
    closed: IO[bytes] | None = None
    ignored: IO[bytes] | None = None
    rejected: IO[bytes] | None = None

    def by_topic(self) -> dict[str, IO[bytes] | None]:
        """Give the file of each topic."""
        return {
            RATING_CHANGED: self.changed,
            COMPETITION_CLOSED: self.closed,
            GAME_IGNORED: self.ignored,
            GAME_REJECTED: self.rejected,
        }


def rate_lines(
    lines: Iterable[bytes],
    rules: Mapping[str, LadderRules],
    files: RateFiles,
    progress: Any,
    tally: Tally | None = None,
) -> OutcomeCounts:
    """Fold the events of JSON lines and write what they put out; blank lines are passed over.

    A line that is no valid event is written as rejected, with its number and text, and the others go on. A
    `tally` is given every event and what the fold made of it.
    """
    fold = Ladders(rules)
    report = OutcomeCounts()
    targets = files.by_topic()
    lines_before = 0
    for batch in batched(lines, _LINES_AT_ONCE):
        written = _fold_lines(fold, batch, lines_before, report, tally)
        lines_before += len(batch)
        for topic, texts in written.items():
            target = targets[topic]
            if target is not None and texts:
                target.write(b"\n".join(texts))
                target.write(b"\n")
        if lines_before % _LINES_BETWEEN_DRAINS < _LINES_AT_ONCE:
            # Nobody keeps the rows here; a fold remembers which have changed until it is asked.
            deque(fold.changed_rows(), maxlen=0)
        progress.update(len(batch))
    return report


def _fold_lines(
    fold: Ladders, lines: list[bytes], lines_before: int, report: OutcomeCounts, tally: Tally | None
) -> dict[str, list[bytes]]:
    written: dict[str, list[bytes]] = {
        topic: [] for topic in (RATING_CHANGED, COMPETITION_CLOSED, GAME_IGNORED, GAME_REJECTED)
    }
    for number, line in enumerate(lines, start=lines_before + 1):
        if line.isspace():
            continue
        out: list[Output] = []
        try:
            event = decode_line(line)
            outcome = fold.apply(event, out)
        except Rejected as rejected:
            report.count(REJECTED)
            written[GAME_REJECTED].append(_rejection(number, rejected, line))
            continue
        report.count(outcome)
        if tally is not None:
            tally.add(event, out)
        for topic, _, body in out:
            written[topic].append(orjson.dumps(body))
    return written


def _rejection(number: int, rejected: Rejected, line: bytes) -> bytes:
    text = line.rstrip(b"\r\n").decode(errors="backslashreplace")
    return orjson.dumps(
        {"line": number, "reason": rejected.reason, "message": rejected.message, "value": text}
    )
