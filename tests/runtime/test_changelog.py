"""The state that is read from a changelog: whole, of one offset, and of committed transactions only."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from owners import writing
from sites import Site

from streams.core.outcomes import OutcomeCounts
from streams.runtime.changelog import (
    WATERMARK,
    PartitionState,
    decode_watermark,
    encode_watermark,
    read_changelog,
    read_state,
)

pytestmark = pytest.mark.kafka

PARTITION = 2
Rows = Iterable[tuple[str, Any]]


class CrashError(Exception):
    """The owner dies here."""


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
    async with writing(site, PARTITION) as writer:
        transaction = writer.new_transaction()
        transaction.append_rows(rows, timestamp=0)
        transaction.append_watermark(offset, OutcomeCounts(read=offset, rated=offset), timestamp=0)
        with suppress(CrashError):
            async with transaction.open():
                await transaction.send()
                if not committed:
                    raise CrashError


async def read_while(
    site: Site, happens: Callable[[], Coroutine[Any, Any, None]]
) -> tuple[dict[bytes, bytes], int]:
    """Return rows and end as a reader finds them during whose first pass something happens."""
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
        {"read": 4, "rated": 4, "ignored": 0, "rejected": 0, "noted": 0, "forwarded": 0},
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

    async def scenario() -> tuple[dict[bytes, bytes], int]:
        await write(site, [("player/go/ann", [1]), ("player/go/bob", [1])], 3)
        return await read_while(site, meanwhile)

    rows, end = asyncio.run(scenario())

    assert decode_watermark(rows.pop(WATERMARK))[0] == 4
    assert rows == {b"player/go/ann": b"[2]", b"player/go/eve": b"[2]"}
    # Three records and four, with a marker behind each transaction.
    assert end == 9


def test_a_watermark_is_decoded_as_it_was_encoded() -> None:
    counts = OutcomeCounts(read=7, rated=4, ignored=2, noted=1)

    assert decode_watermark(encode_watermark(9, counts)) == (9, counts.shown())
    assert decode_watermark(None) == (0, {})
