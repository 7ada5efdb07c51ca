"""Every record about one game: those on the log, and those that were published."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
import orjson
from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.corrections import CorrectionsMarker
from streams.core.events import (
    GAME_IGNORED,
    GAME_REJECTED,
    RATING_CHANGED,
    CorrectionsApplied,
    Event,
    Game,
    GameIgnored,
    GameVoided,
    RatingChanged,
    Rejected,
)
from streams.replay.game_story import Place, Published, Rejection, Said, Story, tell
from streams.replay.log import partition_count
from streams.replay.published import header
from streams.runtime.homes import Homes, forwarded_from
from streams.runtime.reader import end_offset, new_reader, read_up_to, reading
from streams.runtime.settings import Settings
from streams.wire.decode import decode_consumed
from streams.wire.encode import ERROR_HEADER

# A field that only markers have. Of all others only those that may name the game are decoded.
_UNTIL = b'"until"'
# What is kept of the text of a record that is no valid event.
_KEPT_CHARACTERS = 200


async def read_story(settings: Settings, ladder: str, game_id: str) -> Story:
    """Return the story of a game of a ladder, without records when nobody sent any.

    `settings.partitions` are those of the input. Raises ReplayError when a topic is missing.
    """
    return await _StoryReader(settings, ladder, game_id).read()


class _StoryReader:
    """Reads the topics of a deployment for what is about one game."""

    def __init__(self, settings: Settings, ladder: str, game_id: str) -> None:
        self._settings = settings
        self._ladder = ladder
        self._game_id = game_id
        self._spelled = orjson.dumps(game_id)[1:-1]
        self._source = settings.source.encode()
        self._said: list[Said] = []
        self._home = Homes(settings.partitions).of(ladder)
        self._markers: list[CorrectionsMarker] = []
        self._published = Published()

    async def read(self) -> Story:
        # First how far the workers are: of what they had done by then, all is there to read.
        applied = await self._read_applied()
        await self._read_topic(self._settings.input_topic, self._take_input)
        if self._said:
            await self._read_topic(self._settings.topic(GAME_REJECTED), self._take_rejected)
            await self._read_topic(self._settings.topic(GAME_IGNORED), self._take_ignored)
            await self._read_topic(self._settings.topic(RATING_CHANGED), self._take_changed)
        return tell(
            *(self._ladder, self._game_id, self._said, self._published, self._markers, applied, self._home)
        )

    async def _read_applied(self) -> dict[int, int]:
        topic = self._settings.input_topic
        reader = new_reader(self._settings.connection, group_id=self._settings.app_id)
        await reader.start()
        try:
            return {
                number: await reader.committed(TopicPartition(topic, number)) or 0
                for number in range(await partition_count(self._settings, topic))
            }
        finally:
            await reader.stop()

    async def _read_topic(self, topic: str, take: Callable[[ConsumerRecord], None]) -> None:
        partitions: list[Awaitable[None]] = [
            self._read_partition(TopicPartition(topic, number), take)
            for number in range(await partition_count(self._settings, topic))
        ]
        await asyncio.gather(*partitions)

    async def _read_partition(self, tp: TopicPartition, take: Callable[[ConsumerRecord], None]) -> None:
        async for record in _records(self._settings, tp):
            take(record)

    def _take_input(self, record: ConsumerRecord) -> None:
        if not self._may_name(record.value) and _UNTIL not in (record.value or b""):
            return
        event: Event | None = None
        try:
            event = decode_consumed(record)
        except Rejected:
            if not self._is_named_in(record.value):
                return
        if isinstance(event, CorrectionsApplied):
            if self._is_in_force(event) and record.partition == self._home:
                self._markers.append(CorrectionsMarker(record.offset, event.until))
        elif event is None or self._is_about(event):
            self._said.append(_said(record, event if isinstance(event, Game | GameVoided) else None))

    def _take_rejected(self, record: ConsumerRecord) -> None:
        topic, partition, offset, reason, message = (
            header(record.headers, ERROR_HEADER + name).decode(errors="replace")
            for name in ("topic", "partition", "offset", "reason", "message")
        )
        place = f"{topic}/{partition}/{offset}"
        if any(str(said.place) == place for said in self._said):
            self._published.rejected[place] = Rejection(reason, message)

    def _take_ignored(self, record: ConsumerRecord) -> None:
        if self._is_published_about(record):
            ignored = msgspec.json.decode(record.value, type=GameIgnored)
            if ignored.game_id == self._game_id and ignored.ladder == self._ladder:
                self._published.ignored[header(record.headers, "ce_id").decode()] = ignored.reasons

    def _take_changed(self, record: ConsumerRecord) -> None:
        if self._is_published_about(record):
            change = msgspec.json.decode(record.value, type=RatingChanged)
            if change.game_id == self._game_id and change.ladder == self._ladder:
                self._published.changes.append(change)

    def _is_published_about(self, record: ConsumerRecord) -> bool:
        """Say whether this deployment has published the record, and it may be about the game."""
        return self._may_name(record.value) and header(record.headers, "ce_source") == self._source

    def _is_in_force(self, event: CorrectionsApplied) -> bool:
        return event.ladder == self._ladder and event.app_id == self._settings.app_id

    def _is_about(self, event: Event) -> bool:
        return (
            isinstance(event, Game | GameVoided)
            and event.game_id == self._game_id
            and event.ladder == self._ladder
        )

    def _may_name(self, value: bytes | None) -> bool:
        # An id may be spelled otherwise only with a backslash.
        return value is not None and (self._spelled in value or b"\\" in value)

    def _is_named_in(self, value: bytes | None) -> bool:
        """Say whether a record that is no valid event names the game, as a field or anywhere in its text."""
        if value is None or not self._may_name(value):
            return False
        fields: Any = None
        with suppress(orjson.JSONDecodeError):
            fields = orjson.loads(value)
        if not isinstance(fields, dict):
            return b'"' + self._spelled + b'"' in value
        ladder = fields.get("ladder")
        return fields.get("game_id") == self._game_id and (
            not isinstance(ladder, str) or ladder == self._ladder
        )


def _said(record: ConsumerRecord, event: Game | GameVoided | None) -> Said:
    text = "" if event is not None else record.value[:_KEPT_CHARACTERS].decode(errors="backslashreplace")
    original = forwarded_from(record)
    copy_of = None if original is None else original.decode(errors="backslashreplace")
    place = Place(record.topic, record.partition, record.offset)
    return Said(place, record.timestamp, event, text, copy_of)


async def _records(settings: Settings, tp: TopicPartition) -> AsyncIterator[ConsumerRecord]:
    async with reading(settings.connection) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            for record in records:
                yield record
