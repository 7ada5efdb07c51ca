"""Replay of files of JSON lines: all of them together are one log, whose offsets count its events."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from streams.core.corrections import CorrectionPlan
from streams.core.events import Event, Rejected
from streams.files.jsonl import open_lines
from streams.processor import Sink
from streams.replay.errors import ReplayError
from streams.replay.folding import CorrectionsFound, PartitionFold, Rules
from streams.wire.decode import decode_line

_LINES_AT_ONCE = 1_000
_STANDARD_INPUT = "-"

# An event's number in the log, and its line.
Numbered = tuple[int, bytes]


def replay_lines(
    paths: Sequence[str],
    rules: Rules,
    app_id: str,
    sink: Sink | None,
    *,
    window: tuple[int, int | None] = (0, None),
    keep_rows: bool = False,
    advance: Callable[[int], Any] = lambda _: None,
) -> PartitionFold[Numbered]:
    """Fold the events of files whose number is in the window, and return the fold.

    Raises ReplayError when corrections were applied in standard input, which cannot be read twice.
    """
    try:
        fold = PartitionFold(rules, app_id, number_of, keep_rows=keep_rows)
        return _fold(paths, fold, sink, window, window[0], advance)
    except CorrectionsFound as corrections:
        if _STANDARD_INPUT in paths:
            raise ReplayError(
                f"{corrections}, and standard input cannot be read twice; give a file"
            ) from corrections
        plan = plan_of_lines(numbered_lines(paths, window), app_id)
        fold = PartitionFold(rules, app_id, number_of, plan, keep_rows=keep_rows)
        return _fold(paths, fold, sink, window, max(window[0], corrections.resume), lambda _: None)


def numbered_lines(paths: Sequence[str], window: tuple[int, int | None] = (0, None)) -> Iterator[Numbered]:
    """Yield (number, line) of the files' events, blank lines passed over."""
    return islice(enumerate(_lines(paths)), *window)


def _lines(paths: Sequence[str]) -> Iterator[bytes]:
    for path in paths:
        with open_lines(path) as lines:
            for line in lines:
                if not line.isspace():
                    yield line


def _fold(
    paths: Sequence[str],
    fold: PartitionFold[Numbered],
    sink: Sink | None,
    window: tuple[int, int | None],
    emit_from: int,
    advance: Callable[[int], Any],
) -> PartitionFold[Numbered]:
    lines = numbered_lines(paths, window)
    while piece := list(islice(lines, _LINES_AT_ONCE)):
        fold.apply(piece, decode_numbered, sink, emit_from)
        advance(len(piece))
    return fold


def number_of(numbered: Numbered) -> int:
    """Return where a line is in the log."""
    return numbered[0]


def decode_numbered(numbered: Numbered) -> Event:
    """Return the event of a line. Raises Rejected when it is none."""
    return decode_line(numbered[1])


def plan_of_lines(lines: Iterable[Numbered], app_id: str) -> CorrectionPlan:
    """Return the corrections among the events of files."""
    plan = CorrectionPlan(app_id)
    for number, line in lines:
        try:
            plan.note(decode_line(line), number)
        except Rejected:
            continue
    return plan
