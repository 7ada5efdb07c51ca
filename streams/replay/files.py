"""Replay of files of JSON lines: all of them together are one log, whose offsets count its events."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from streams.core.corrections import CorrectionPlan
from streams.core.events import Rejected
from streams.files.jsonl import open_lines
from streams.replay.errors import ReplayError
from streams.replay.folding import CorrectionsFound, PartitionFold, Rules, Sink
from streams.wire.events import decode_line

_LINES_AT_ONCE = 1_000
_STANDARD_INPUT = "-"

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
) -> PartitionFold:
    """Fold the events of files whose number is in the window, and give the fold.

    Raises ReplayError when corrections were applied in standard input, which cannot be read twice.
    """
    try:
        fold = PartitionFold(rules, app_id, keep_rows=keep_rows)
        return _fold(paths, fold, sink, window, window[0], advance)
    except CorrectionsFound as found:
        if _STANDARD_INPUT in paths:
            raise ReplayError(f"{found}, and standard input cannot be read twice; give a file") from found
        plan = _read_plan(paths, app_id, window)
        fold = PartitionFold(rules, app_id, plan, keep_rows=keep_rows)
        return _fold(paths, fold, sink, window, found.offset, lambda _: None)


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
    fold: PartitionFold,
    sink: Sink | None,
    window: tuple[int, int | None],
    emit_from: int,
    advance: Callable[[int], Any],
) -> PartitionFold:
    lines = numbered_lines(paths, window)
    while piece := list(islice(lines, _LINES_AT_ONCE)):
        fold.apply(piece, decode_line, sink, emit_from)
        advance(len(piece))
    return fold


def _read_plan(paths: Sequence[str], app_id: str, window: tuple[int, int | None]) -> CorrectionPlan:
    plan = CorrectionPlan(app_id)
    for number, line in numbered_lines(paths, window):
        try:
            plan.note(decode_line(line), number)
        except Rejected:
            continue
    return plan
