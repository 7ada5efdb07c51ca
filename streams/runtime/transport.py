"""A Faust transport that hands over whole fetch batches.

Faust makes two tasks for every message, about 140 µs whatever the agent does. Here one message carries all
records of a partition and fetch, so that this price is paid once for thousands of games.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from weakref import WeakSet

import faust
from aiokafka.structs import ConsumerRecord
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from streams.runtime import header_names

header_names.install()

# Enough to keep every partition busy, little enough to stay small in memory (about 1 KB a record).
MAX_BUFFERED_RECORDS = 60_000
_FULL_PAUSE_SECONDS = 0.005


class Records:
    """The records of one fetch of one partition, in log order."""

    __slots__ = ("__weakref__", "records")

    def __init__(self, records: list[ConsumerRecord]) -> None:
        self.records = records

    def __len__(self) -> int:
        return len(self.records)


class _CommittedConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer thread, reading committed records only, also outside Faust's own transactions."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        # Faust has no setting for this but its exactly-once mode, which cannot be used
        # (docs/explanation/decisions.md).
        # The consumer is not started yet and reads the attribute when it is.
        consumer._isolation_level = "read_committed"  # noqa: SLF001 - there is no other way
        return consumer


class BatchConsumer(driver.Consumer):
    """Faust's consumer, whose `getmany` yields one message a partition and fetch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._buffered: WeakSet[Records] = WeakSet()

    def _new_consumer_thread(self) -> Any:
        return _CommittedConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Any]]:  # noqa: ASYNC109 - Faust's signature
        """Fetch from every active partition, and yield each partition's records as one message."""
        await self._wait_for_room()
        fetched, active = await self._wait_next_records(timeout)
        generation = self.app.consumer_generation_id
        if fetched is None or self.should_stop:
            return
        if not self.flow_active:
            await self.perform_seek()
            return
        for tp, records in fetched.items():
            if not self.flow_active or self.app.consumer_generation_id != generation:
                return
            if records and (active is None or tp in active or tp in self._buffered_partitions):
                yield tp, self._to_batch_message(tp, records)

    async def _wait_for_room(self) -> None:
        """Wait while too much is buffered: Faust bounds its buffer by messages, which here are fetches."""
        while (  # noqa: ASYNC110 - no event tells: records leave by being garbage, also when Faust clears its buffers
            not self.should_stop and self.flow_active and self._buffered_records() > MAX_BUFFERED_RECORDS
        ):
            await asyncio.sleep(_FULL_PAUSE_SECONDS)

    def _buffered_records(self) -> int:
        return sum(map(len, self._buffered))

    def _to_batch_message(self, tp: TP, records: list[ConsumerRecord]) -> Any:
        message = self._to_message(tp, records[-1])
        message.key = None
        message.value = Records(records)
        self._buffered.add(message.value)
        return message


class BatchTransport(driver.Transport):
    """Faust's aiokafka transport with the consumer above."""

    Consumer = BatchConsumer


class BatchSchema(faust.Schema):
    """Passes a message's records through as they are: decoding is `streams.wire`'s work."""

    async def decode(self, app: Any, message: Any, *, propagate: bool = False) -> Any:  # noqa: ARG002 - Faust's signature
        """Return an event whose value is the `Records` of the message."""
        return app.create_event(None, message.value, message.headers, message)
