"""Replay of files of JSON lines: all of them together are one log, whose offsets count its events."""

from collections.abc import Callable, Iterator, Sequence
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
        fold = PartitionFold(rules, app_id, _number, keep_rows=keep_rows)
        return _fold(paths, fold, sink, window, window[0], advance)
    except CorrectionsFound as corrections:
        if _STANDARD_INPUT in paths:
            raise ReplayError(
                f"{corrections}, and standard input cannot be read twice; give a file"
            ) from corrections
        plan = _read_plan(paths, app_id, window)
        fold = PartitionFold(rules, app_id, _number, plan, keep_rows=keep_rows)
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
        fold.apply(piece, _decode_numbered, sink, emit_from)
        advance(len(piece))
    return fold


def _number(numbered: Numbered) -> int:
    return numbered[0]


def _decode_numbered(numbered: Numbered) -> Event:
    return decode_line(numbered[1])


def _read_plan(paths: Sequence[str], app_id: str, window: tuple[int, int | None]) -> CorrectionPlan:
    plan = CorrectionPlan(app_id)
    for number, line in numbered_lines(paths, window):
        try:
            plan.note(decode_line(line), number)
        except Rejected:
            continue
    return plan
