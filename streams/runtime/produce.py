"""Sending events to the game-finished topic: idempotent, keyed by ladder, nothing lost in silence."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import orjson
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from streams.core.events import GAME_FINISHED, Rejected
from streams.runtime.clock import clock_of_environment, timestamp_ms
from streams.runtime.settings import Settings
from streams.runtime.topics import MAX_INPUT_BYTES
from streams.wire.encode import encode_event

# Sends under way at once; beyond this the sender waits for the oldest.
_WINDOW = 2_000
_LINGER_MS = 5


@dataclass
class ProduceReport:
    """How many events the broker took, and which it did not, by number, with the reason."""

    taken: int = 0
    failed: list[tuple[int, str]] = field(default_factory=list)


class Sender:
    """Sends events one after the other; `report` says, once the block has ended, what the broker took."""

    def __init__(self, settings: Settings, source: str) -> None:
        self.report = ProduceReport()
        self._settings = settings
        self._source = source
        self._clock = clock_of_environment()
        self._number = 0
        self._under_way: list[tuple[int, asyncio.Future[Any]]] = []
        self._producer = AIOKafkaProducer(
            **settings.connection.client_arguments(),
            enable_idempotence=True,
            acks="all",
            linger_ms=_LINGER_MS,
            max_batch_size=256 * 1024,
            max_request_size=MAX_INPUT_BYTES,
        )

    async def __aenter__(self) -> Self:
        await self._producer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.flush()
        finally:
            await self._producer.stop()

    async def send(self, fields: dict[str, Any]) -> None:
        """Send one event, keyed by its ladder; its `type`, if any, is taken out of `fields`."""
        event = fields.pop("type", GAME_FINISHED)
        await self.send_encoded(*encode_event(event, fields, self._source))

    async def send_encoded(self, key: bytes | None, value: bytes, headers: Any = ()) -> None:
        """Send one record as it is."""
        self._number += 1
        if len(self._under_way) >= _WINDOW:
            await self._settle(_WINDOW // 2)
        try:
            future = await self._producer.send(
                self._settings.input_topic,
                key=key,
                value=value,
                headers=list(headers),
                timestamp_ms=timestamp_ms(self._clock.now()),
            )
        except KafkaError as error:
            self.report.failed.append((self._number, str(error)))
            return
        self._under_way.append((self._number, future))

    async def flush(self) -> None:
        """Wait until the broker has answered for everything sent."""
        await self._settle(len(self._under_way))

    async def _settle(self, oldest: int) -> None:
        settled, self._under_way = self._under_way[:oldest], self._under_way[oldest:]
        for number, future in settled:
            try:
                await future
                self.report.taken += 1
            except KafkaError as error:
                self.report.failed.append((number, str(error) or type(error).__name__))


async def produce_lines(
    settings: Settings, lines: Iterable[bytes], source: str, progress: Any
) -> ProduceReport:
    """Send the events of JSON lines, passing over blank ones; a line that is no event is reported failed."""
    async with Sender(settings, source) as sender:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                fields = orjson.loads(line)
                if not isinstance(fields, dict):
                    raise Rejected("not-json", "not a JSON object")
                await sender.send(fields)
            except (orjson.JSONDecodeError, Rejected, KeyError) as error:
                sender.report.failed.append((number, f"line {number} is no event: {error}"))
            progress.update(1)
    return sender.report


async def produce_events(
    settings: Settings, events: Iterable[dict[str, Any]], source: str, progress: Any
) -> ProduceReport:
    """Send events, each given by its fields, and return the report."""
    async with Sender(settings, source) as sender:
        for fields in events:
            await sender.send(fields)
            progress.update(1)
    return sender.report
