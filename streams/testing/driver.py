"""The folds without a broker: events in, what would be published out, in microseconds.

It goes the way of a worker: the same decoder, the same folds, the same encoder. What it has not is
partitions: every ladder is at home.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from streams import events
from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import CorrectionsApplied, Event, Rejected, WeekEnded
from streams.core.ladder import Folded
from streams.core.outcomes import OutcomeCounts
from streams.core.publications import Publication
from streams.core.rules import parse_ladders
from streams.files.ladder_file import example_ladder_file, read_ladders
from streams.processor import Decoded, decode_all, process_decoded
from streams.runtime.clock import timestamp_ms
from streams.runtime.rejections import rejected_record
from streams.wire.decode import decode_consumed
from streams.wire.encode import Headers, encode_event, encode_published, trace_headers

CLUB_LADDERS = example_ladder_file()
"""The path of a ladder file with every system, that of the made-up club."""

_SOURCE = "ladderlog/test"


class Published(NamedTuple):
    """A record that would be published: its topic (without prefix), key, value and headers."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def event(self) -> Any:
        """Return the event; of a rejected record why it is none."""
        if self.topic == events.GAME_REJECTED:
            return events.rejection(self.headers)
        return events.decode(self.value or b"", self.headers)


class _Sent(NamedTuple):
    """A record of the input, with what the decoder and the encoder ask of one."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


class Driver:
    """A deployment in memory: `send` it events, `end_weeks`, `rebuild`, and look at what it publishes.

    `ladders` is the path of a ladder file, or its text, or what its text says. Raises LadderFileError for a
    mistake in it. `published` has everything so far, `counts` the outcomes of what was sent.
    """

    def __init__(self, ladders: Path | str | Mapping[str, Any], app_id: str = "ladderlog") -> None:
        if isinstance(ladders, Path):
            self._rules = read_ladders(ladders)
        else:
            self._rules = parse_ladders(tomllib.loads(ladders) if isinstance(ladders, str) else ladders)
        self._app_id = app_id
        self._log: list[_Sent] = []
        self._events: list[Decoded] = []
        self._now = datetime(1970, 1, 1, tzinfo=UTC)
        self._fold = CorrectedLadders(self._rules, CorrectionPlan(app_id))
        self.published: list[Published] = []
        self.counts = OutcomeCounts()

    def send(self, *sent: events.Input | Mapping[str, Any]) -> list[Published]:
        """Take events in, one after the other, and return what they publish.

        Each is an event, or the fields of one as they stand in a file (`type` names it when it is no game).
        Raises UnknownEventError for a `type` that there is not.
        """
        published = []
        for event in sent:
            key, value, headers = self._encoded(event)
            published += self.send_record(value, key=key, headers=headers)
        return published

    def send_record(
        self,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes]] = (),
        timestamp: int | None = None,
    ) -> list[Published]:
        """Take a record in as a producer sends it, and return what it publishes: rejected, say.

        `timestamp`, in milliseconds since 1970, is the latest moment of all games if it is not given.
        """
        if timestamp is None:
            timestamp = timestamp_ms(self._moment_of(value))
        item = _Sent(events.GAME_FINISHED, 0, len(self._log), timestamp, key, value, list(headers))
        return self._take([item], decode_all(decode_consumed, [item]))

    def end_weeks(self, now: datetime) -> list[Published]:
        """End the weeks that are over at `now`, as a worker does by its clock; amended ones come again.

        Raises ValueError for a moment without UTC offset.
        """
        if now.tzinfo is None:
            raise ValueError(f"now: {now.isoformat()} has no UTC offset")
        self._now = max(self._now, now.astimezone(UTC))
        published: list[Published] = []
        # A week that ends may end another one with it.
        while due := self._fold.live.weeks_due(now):
            published += self.send(*due)
        return published + self.send(*(week for week, _ in self._fold.live.weeks_amended()))

    def rebuild(self) -> list[Published]:
        """Put voided and corrected games into force, and return the corrections that this publishes."""
        known = len(self._events)
        pending = [ladder for ladder in self._rules if self._fold.live.pending(ladder)]
        markers = [CorrectionsApplied(ladder, self._app_id, known) for ladder in pending]
        log = [*self._events, *markers]
        plan = CorrectionPlan(self._app_id)
        for offset, event in enumerate(log):
            if not isinstance(event, Rejected):
                plan.note(event, offset)
        self._fold = CorrectedLadders(self._rules, plan)
        self._fold.fold(self._events, range(known))
        items = [self._record_of(marker, known + number) for number, marker in enumerate(markers)]
        return self._take(items, markers)

    def ratings(self, ladder: str, system: str) -> dict[str, float]:
        """Return today's rating of everyone who has one in a ladder's system."""
        return {player_id: rating for player_id, rating, _ in self._fold.live.ratings(ladder, system)}

    def _take(self, items: Sequence[_Sent], decoded: Sequence[Decoded]) -> list[Published]:
        self._log += items
        self._events += decoded
        sink = _Sink()
        process_decoded(self._fold_items, items, decoded, sink, self.counts)
        self._fold.drop_changes()
        self.published += sink.published
        return sink.published

    def _fold_items(self, items: Sequence[_Sent], decoded: Sequence[Decoded]) -> list[Folded]:
        return self._fold.fold(decoded, [item.offset for item in items])

    def _encoded(self, event: events.Input | Mapping[str, Any]) -> events.Record:
        """Return key, value and headers of a record."""
        if not isinstance(event, Mapping):
            return events.encode(event, source=_SOURCE)
        fields = dict(event)
        name = fields.pop("type", events.GAME_FINISHED)
        if name not in events.TYPES:
            raise events.UnknownEventError(f"type: {name!r} is none of {', '.join(events.TYPES)}")
        return encode_event(name, fields, _SOURCE)

    def _record_of(self, event: CorrectionsApplied | WeekEnded, offset: int) -> _Sent:
        key, value, headers = events.encode(event, source=_SOURCE)
        return _Sent(events.GAME_FINISHED, 0, offset, timestamp_ms(self._now), key, value, headers)

    def _moment_of(self, value: bytes | None) -> datetime:
        """Return when a record is sent: at the end of its game, but not before those sent earlier."""
        try:
            ended = msgspec.json.decode(value or b"", type=_Ended).ended_at
            moment = datetime.fromisoformat(ended.upper())
        except (msgspec.DecodeError, ValueError):
            return self._now
        if moment.tzinfo is not None:
            self._now = max(self._now, moment)
        return self._now


class _Ended(msgspec.Struct):
    """What a record's timestamp is made of."""

    ended_at: str


class _Sink:
    """Takes what the fold puts out, as records."""

    def __init__(self) -> None:
        self.published: list[Published] = []

    def publish(self, item: _Sent, _event: Event, published: Sequence[Publication]) -> None:
        """Take what follows from a record."""
        position = f"{item.topic}/{item.partition}/{item.offset}"
        self.published += [
            Published(topic, *record)
            for topic, record in encode_published(
                published, _SOURCE.encode(), position, trace_headers(item.headers)
            )
        ]

    def reject(self, item: _Sent, rejected: Rejected) -> None:
        """Take a record that is no valid event."""
        self.published.append(Published(events.GAME_REJECTED, *rejected_record(rejected, item)))

    def forward(self, item: _Sent, event: Event) -> None:
        """Do nothing: every ladder is at home."""
