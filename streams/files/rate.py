"""`ladderlog rate`: the ladders fold over a file, without a broker."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any

import orjson

from streams.core.events import (
    CompetitionClosed,
    Event,
    Game,
    GameIgnored,
    GameVoided,
    RatingChanged,
    Rejected,
)
from streams.core.ladders import Ladders
from streams.core.outcomes import OutcomeCounts
from streams.core.publications import GameRated, Publication
from streams.core.rules import LadderRules
from streams.core.tally import Tally
from streams.files.jsonl import batched
from streams.files.pipeline import (
    Batch,
    Decoder,
    Writer,
    decoded,
    lines_of,
    several_processors,
    writes_standard_output,
)
from streams.files.report import LeftOut
from streams.files.unapplied import Unapplied
from streams.processor import EVENTS_TOGETHER, Decoded, decode_all, no_collection, process_decoded
from streams.wire.decode import decode_checked_line
from streams.wire.encode import encode_json

# With more lines than this, processes of their own for decoding and writing are worth their start.
_LINES_ALONE = 20_000

# Is told of every line that is rejected.
Tell = Callable[[LeftOut], None]


@dataclass(frozen=True)
class RateFiles:
    """Where the outcomes go; None for those that are not wanted."""

    changed: IO[bytes] | None = None
    closed: IO[bytes] | None = None
    ignored: IO[bytes] | None = None
    rejected: IO[bytes] | None = None


def rate_lines(
    lines: Iterable[bytes],
    rules: Mapping[str, LadderRules],
    files: RateFiles,
    progress: Any,
    tally: Tally | None = None,
    tell: Tell | None = None,
    unapplied: Unapplied | None = None,
) -> OutcomeCounts:
    """Fold the events of JSON lines and write what they put out; blank lines are passed over.

    A line that is no valid event is written as rejected, with its number and text, and the others go on;
    `tell` is told of each. A `tally` is given every event and what the fold made of it, `unapplied` those
    that may matter to it.
    """
    ladders = Ladders(rules)
    noting = Unapplied() if unapplied is None else unapplied
    rating = _Rating(ladders, _RateSink(files, tally, tell, noting, ladders.voided_ahead_from))
    with no_collection(), ExitStack() as stack:
        # The same file again if it is one, which then goes on where the loop left it.
        rest = iter(lines)
        for batch in batched(rest, EVENTS_TOGETHER):
            rating.take(decoded(batch))
            progress.update(len(batch))
            if rating.lines >= _LINES_ALONE and several_processors():
                break
        else:
            rating.end()
            return rating.counts
        if writes_standard_output(files.changed):
            rating.write_changed_to(stack.enter_context(Writer()))
        decoder = stack.enter_context(Decoder(rest))
        for ahead in decoder:
            rating.take(ahead)
            if decoder.reads_file:
                # Where the other process is in the file, for the progress.
                rest.seek(ahead.size, os.SEEK_CUR)  # type: ignore[attr-defined]  # it is a file
            progress.update(len(ahead.entries))
        rating.end()
    return rating.counts


class _Rating:
    """The fold, its account, and where its outcomes go."""

    def __init__(self, ladders: Ladders, sink: "_RateSink") -> None:
        self.counts = OutcomeCounts()
        self.lines = 0
        self._ladders = ladders
        self._sink = sink

    def write_changed_to(self, writer: Writer) -> None:
        """Let another process write the rating-changed events from here on."""
        self._sink.writer = writer

    def take(self, batch: Batch) -> None:
        """Fold the events of the next lines, and write what they put out."""
        entries = batch.entries
        positions: Sequence[int] = range(len(entries))
        events: list[Decoded] = list(filter(None, entries))
        pieces: Iterable[slice] = (slice(None),)
        if len(events) < len(entries):
            positions, events = _events(batch)
            pieces = _up_to_voids(events)
        self._sink.begin(batch, self.lines)
        for piece in pieces:
            process_decoded(
                lambda _, decoded_events: self._ladders.fold(decoded_events),
                positions[piece],
                events[piece],
                self._sink,
                self.counts,
            )
        self._sink.end()
        self.lines += len(entries)
        # Nobody keeps the rows here; a fold remembers which have changed until it is asked.
        self._ladders.drop_changes()

    def end(self) -> None:
        """Write the weeks that late games have amended since they were closed: no line will publish them."""
        ended = [week for week, _ in self._ladders.weeks_amended()]
        for _, published, _ in self._ladders.fold(ended):
            self._sink.write_closed(published)


class _RateSink:
    """Writes what the lines of a batch put out; items are positions in the batch."""

    def __init__(
        self,
        files: RateFiles,
        tally: Tally | None,
        tell: Tell | None,
        unapplied: Unapplied,
        voided_ahead_from: Callable[[GameVoided], float],
    ) -> None:
        self._tell = tell
        self.writer: Writer | None = None
        self._unapplied = unapplied
        self._voided_ahead_from = voided_ahead_from
        self._files = files
        self._tally = tally
        # Nobody but the writer of changes is interested in a rated game.
        self._is_plain = tally is None and not unapplied.words
        self._batch = Batch((), b"")
        self._lines_before = 0
        self._changed: list[GameRated | bytes] = []
        self._add_changed = self._changed.append

    def begin(self, batch: Batch, lines_before: int) -> None:
        """Begin with a batch, of which so many lines came before."""
        self._batch = batch
        self._lines_before = lines_before
        self._changed = []
        self._add_changed = self._changed.append

    def publish(self, item: int, event: Event, published: Sequence[Publication]) -> None:
        """Write what follows from one event."""
        if self._is_plain and len(published) == 1 and type(published[0]) is GameRated:
            # By far the most. A short way: this is done for every game.
            self._add_changed(published[0])
            return
        for publication in published:
            if isinstance(publication, GameRated):
                self._add_changed(publication)
            else:
                self._write(publication)
        if not published or self._unapplied.words:
            self._note(self._lines_before + item + 1, event, published)
            self._is_plain = self._tally is None and not self._unapplied.words
        if self._tally is not None:
            self._tally.add(event, published)

    def _write(self, publication: Publication) -> None:
        """Write what is no rated game, the others after those before it."""
        if isinstance(publication, RatingChanged):
            self._add_changed(encode_json(publication))
        elif isinstance(publication, GameIgnored):
            _write_line(self._files.ignored, encode_json(publication))
        else:
            _write_line(self._files.closed, encode_json(publication))

    def write_closed(self, published: Sequence[Publication]) -> None:
        """Write standings that follow from no line."""
        for publication in published:
            if isinstance(publication, CompetitionClosed):
                _write_line(self._files.closed, encode_json(publication))

    def _note(self, line: int, event: Event, published: Sequence[Publication]) -> None:
        """Note what was said of games and not applied, and what was applied after all."""
        if isinstance(event, GameVoided):
            self._unapplied.void(line, event, self._voided_ahead_from(event))
        elif isinstance(event, Game):
            self._unapplied.game(line, event, published)

    def reject(self, item: int, rejected: Rejected) -> None:
        """Write a line that is no valid event, with its number and text."""
        number = self._lines_before + item + 1
        if self._tell is not None:
            self._tell(LeftOut(number, rejected.reason, rejected.message))
        if self._files.rejected is None:
            return
        body = {
            "line": number,
            "reason": rejected.reason,
            "message": rejected.message,
            "value": self._batch.lines[item].rstrip(b"\r\n").decode(errors="backslashreplace"),
        }
        _write_line(self._files.rejected, orjson.dumps(body))

    def forward(self, item: int, event: Event) -> None:
        """Do nothing: in a file a ladder has no home, so that no line is away from it."""

    def end(self) -> None:
        """Write the rating-changed events of the batch."""
        if self.writer is not None:
            if self._changed:
                self.writer.write(self._changed)
        elif self._files.changed is not None:
            self._files.changed.write(lines_of(self._changed))


def _up_to_voids(events: Sequence[Decoded]) -> Iterator[slice]:
    """Yield pieces that end with the voids among them: what a fold knows at a void is asked behind it."""
    start = 0
    for end, event in enumerate(events, start=1):
        if isinstance(event, GameVoided) or end == len(events):
            yield slice(start, end)
            start = end


def _write_line(file: IO[bytes] | None, line: bytes) -> None:
    if file is not None:
        file.write(line + b"\n")


def _events(batch: Batch) -> tuple[list[int], list[Decoded]]:
    """Return the events of lines that are not all games, with their positions; blank lines have none."""
    positions = []
    events: list[Decoded] = []
    for position, entry in enumerate(batch.entries):
        if entry is not None:
            events.append(entry)
        elif batch.lines[position].strip():
            events += decode_all(decode_checked_line, (batch.lines[position],))
        else:
            continue
        positions.append(position)
    return positions, events
