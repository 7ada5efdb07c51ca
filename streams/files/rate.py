"""`ladderlog rate`: the ladders fold over a file, without a broker."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any

import orjson

from streams.core.events import Event, Rejected
from streams.core.ladders import (
    COMPETITION_CLOSED,
    GAME_IGNORED,
    RATING_CHANGED,
    GameRated,
    Ladders,
    Output,
    Publication,
)
from streams.core.outcomes import OutcomeCounts
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
from streams.processor import EVENTS_TOGETHER, decode_all, no_collection
from streams.wire.events import GAME_REJECTED, decode_unusual_line

# With more lines than this, processes of their own for decoding and writing are worth their start.
_LINES_ALONE = 20_000


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
) -> OutcomeCounts:
    """Fold the events of JSON lines and write what they put out; blank lines are passed over.

    A line that is no valid event is written as rejected, with its number and text, and the others go on. A
    `tally` is given every event and what the fold made of it.
    """
    rating = _Rating(rules, files, tally)
    with no_collection(), ExitStack() as stack:
        # The same file again if it is one, which then goes on where the loop left it.
        rest = iter(lines)
        for batch in batched(rest, EVENTS_TOGETHER):
            rating.take(decoded(batch))
            progress.update(len(batch))
            if rating.lines >= _LINES_ALONE and several_processors():
                break
        else:
            return rating.counts
        if writes_standard_output(files.changed):
            rating.write_changed_to(stack.enter_context(Writer()))
        for found in stack.enter_context(Decoder(rest)):
            rating.take(found)
            progress.update(len(found.entries))
    return rating.counts


class _Rating:
    """The fold, its account, and where its outcomes go."""

    def __init__(self, rules: Mapping[str, LadderRules], files: RateFiles, tally: Tally | None) -> None:
        self.counts = OutcomeCounts()
        self.lines = 0
        self._fold = Ladders(rules)
        self._tally = tally
        self._changed = files.changed
        self._writer: Writer | None = None
        self._others = {
            COMPETITION_CLOSED: files.closed,
            GAME_IGNORED: files.ignored,
            GAME_REJECTED: files.rejected,
        }

    def write_changed_to(self, writer: Writer) -> None:
        """Let another process write the rating-changed events from here on."""
        self._writer = writer

    def take(self, batch: Batch) -> None:
        """Fold the events of the next lines, and write what they put out."""
        entries = batch.entries
        places: Sequence[int] = range(len(entries))
        events: list[Event | Rejected] = list(filter(None, entries))
        if len(events) < len(entries):
            places, events = _events(batch)
        published: list[Publication] = []
        folded = self._fold.fold(events)
        for place, event, (_, own, rejected) in zip(places, events, folded, strict=True):
            if rejected is not None:
                published.append(_rejection(self.lines + place + 1, rejected, batch.lines[place]))
            else:
                published += own
                if self._tally is not None and not isinstance(event, Rejected):
                    self._tally.add(event, own)
        self.counts.count_all([outcome for outcome, _, _ in folded])
        self._write(published)
        self.lines += len(batch.entries)
        # Nobody keeps the rows here; a fold remembers which have changed until it is asked.
        self._fold.drop_changes()

    def _write(self, published: list[Publication]) -> None:
        changed: list[GameRated | bytes] = []
        for publication in published:
            if not isinstance(publication, Output):
                changed.append(publication)
                for closing in publication[-1]:
                    self._write_other(COMPETITION_CLOSED, closing)
            elif publication.topic == RATING_CHANGED:
                changed.append(orjson.dumps(publication.body))
            else:
                self._write_other(publication.topic, publication.body)
        if self._writer is not None:
            if changed:
                self._writer.write(changed)
        elif self._changed is not None:
            self._changed.write(lines_of(changed))

    def _write_other(self, topic: str, body: Mapping[str, Any]) -> None:
        file = self._others[topic]
        if file is not None:
            file.write(orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE))


def _events(batch: Batch) -> tuple[list[int], list[Event | Rejected]]:
    """Give the events of lines that are not all games, with their places; blank lines have none."""
    places = []
    events: list[Event | Rejected] = []
    for place, entry in enumerate(batch.entries):
        if entry is not None:
            events.append(entry)
        elif batch.lines[place].strip():
            events += decode_all(decode_unusual_line, (batch.lines[place],))
        else:
            continue
        places.append(place)
    return places, events


def _rejection(number: int, rejected: Rejected, line: bytes) -> Output:
    text = line.rstrip(b"\r\n").decode(errors="backslashreplace")
    body = {"line": number, "reason": rejected.reason, "message": rejected.message, "value": text}
    return Output(GAME_REJECTED, "", body)
