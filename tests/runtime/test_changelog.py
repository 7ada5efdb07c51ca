"""The state that is read from a changelog: whole, of one offset, and of committed transactions only."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.producer import AIOKafkaProducer
from sites import Site

from streams.core.outcomes import OutcomeCounts
from streams.runtime.changelog import (
    WATERMARK,
    PartitionState,
    decode_watermark,
    encode_row,
    encode_watermark,
    read_changelog,
    read_state,
)

pytestmark = pytest.mark.kafka

PARTITION = 2
Rows = Iterable[tuple[str, Any]]


class InterruptedReader(AIOKafkaConsumer):  # type: ignore[misc]
    """A reader during whose first pass, the end once taken, something happens."""

    def __init__(self, happens: Callable[[], Coroutine[Any, Any, None]], servers: str) -> None:
        super().__init__(
            bootstrap_servers=servers,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self._happens = happens
        self._fetches = 0

    async def getmany(self, *tps: TopicPartition, **options: Any) -> Any:
        """Fetch; before the first time, let it happen."""
        self._fetches += 1
        if self._fetches == 1:
            await self._happens()
        return await super().getmany(*tps, **options)


async def write(site: Site, rows: Rows, offset: int, *, committed: bool = True) -> None:
    """Write rows and a watermark in one transaction."""
    counts = OutcomeCounts(read=offset, rated=offset)
    encoded = [(key, encode_row(row)) for key, row in rows]
    async with AIOKafkaProducer(
        bootstrap_servers=site.settings.bootstrap_servers,
        transactional_id=site.settings.transactional_id(PARTITION),
        retry_backoff_ms=5,
    ) as producer:
        with suppress(ZeroDivisionError):
            async with producer.transaction():
                for key, value in [*encoded, (WATERMARK, encode_watermark(offset, counts))]:
                    await producer.send_and_wait(
                        site.settings.changelog_topic, value, key.encode(), PARTITION
                    )
                if not committed:
                    raise ZeroDivisionError


async def read_while(site: Site, happens: Callable[[], Coroutine[Any, Any, None]]) -> PartitionState:
    """Return the state as a reader finds it during whose first pass something happens."""
    async with InterruptedReader(happens, site.settings.bootstrap_servers) as reader:
        return await read_changelog(reader, TopicPartition(site.settings.changelog_topic, PARTITION))


def test_a_changelog_without_records_is_the_state_at_the_beginning(site: Site) -> None:
    assert asyncio.run(read_state(site.settings, PARTITION)) == PartitionState()


def test_the_state_is_the_last_row_of_each_key_without_the_deleted_ones(site: Site) -> None:
    async def scenario() -> PartitionState:
        await write(site, [("player/go/ann", [1]), ("player/go/bob", [1]), ("game/go/1", [1])], 3)
        await write(site, [("player/go/ann", [2]), ("game/go/1", None)], 4)
        return await read_state(site.settings, PARTITION)

    state = asyncio.run(scenario())

    assert state == PartitionState(
        4,
        {"player/go/ann": b"[2]", "player/go/bob": b"[1]"},
        {"read": 4, "rated": 4, "ignored": 0, "rejected": 0, "noted": 0},
    )


def test_an_aborted_transaction_has_no_part_in_the_state(site: Site) -> None:
    async def scenario() -> PartitionState:
        await write(site, [("player/go/ann", [1])], 3)
        await write(site, [("player/go/ann", [2])], 4, committed=False)
        return await read_state(site.settings, PARTITION)

    state = asyncio.run(scenario())

    assert (state.offset, state.rows) == (3, {"player/go/ann": b"[1]"})


def test_what_is_written_during_the_first_pass_is_read_in_a_second(site: Site) -> None:
    async def meanwhile() -> None:
        # Compaction may now take the row of `ann` away before the first pass has come to it.
        await write(site, [("player/go/ann", [2]), ("player/go/bob", None), ("player/go/eve", [2])], 4)

    async def scenario() -> PartitionState:
        await write(site, [("player/go/ann", [1]), ("player/go/bob", [1])], 3)
        return await read_while(site, meanwhile)

    state = asyncio.run(scenario())

    assert state.rows == {"player/go/ann": b"[2]", "player/go/eve": b"[2]"}
    assert state.offset == 4


def test_the_end_of_the_state_is_that_of_the_last_pass(site: Site) -> None:
    async def meanwhile() -> None:
        await write(site, [], 4)

    async def scenario() -> tuple[PartitionState, PartitionState]:
        await write(site, [], 3)
        return await read_while(site, meanwhile), await read_state(site.settings, PARTITION)

    interrupted, afterwards = asyncio.run(scenario())

    # Two watermarks, and a marker behind each transaction.
    assert (interrupted.end, afterwards.end) == (4, 4)


def test_a_watermark_is_decoded_as_it_was_encoded() -> None:
    counts = OutcomeCounts(read=7, rated=4, ignored=2, noted=1)

    assert decode_watermark(encode_watermark(9, counts)) == (9, counts.shown())
    assert decode_watermark(None) == (0, {})
