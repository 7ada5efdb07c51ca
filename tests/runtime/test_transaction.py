"""One transaction of a partition: rows, watermark, records and offset are there together, or not at all."""

import asyncio
from contextlib import suppress

import orjson
import pytest
from aiokafka.errors import ProducerFenced
from owners import writing
from sites import Site, read_topic

from streams.core.events import (
    GAME_IGNORED,
    RATING_CHANGED,
    WEEK_ENDED,
    GameIgnored,
    RatingChanged,
    Rejected,
)
from streams.core.outcomes import OutcomeCounts
from streams.runtime.batches import partition_of
from streams.runtime.changelog import PartitionState, read_state
from streams.runtime.transaction import PartitionTransaction, PartitionWriter
from streams.wire.encode import encode_event

pytestmark = pytest.mark.kafka

PARTITION = 2
COUNTS = OutcomeCounts(read=5, rated=3, ignored=2)
NOW = 1_700_000_000_000


class CrashError(Exception):
    """Something goes wrong in the middle of a transaction."""


def filled(writer: PartitionWriter) -> PartitionTransaction:
    """Return a transaction with something of every kind."""
    transaction = writer.new_transaction()
    changed = RatingChanged("go/bga/1/ann", "go", "bga", "ann")
    ignored = GameIgnored(game_id="1", ladder="go", reasons=[])
    transaction.append_published([changed, ignored], "game-finished/2/4", NOW)
    week_ended = {"ladder": "go", "week": "2024-W46", "final": False}
    transaction.append_input(encode_event(WEEK_ENDED, week_ended, "test", "1"), NOW)
    transaction.append_rows([("player/go/ann", [1]), ("player/go/bob", None)], NOW)
    transaction.append_watermark(5, COUNTS, NOW)
    return transaction


def topics(site: Site) -> list[str]:
    return [site.settings.topic(name) for name in (RATING_CHANGED, GAME_IGNORED)] + [
        site.settings.input_topic
    ]


async def written(site: Site) -> dict[str, list[tuple[int, bytes]]]:
    """Return partition and key of every committed record, by topic."""
    return {
        topic: [
            (number, record.key)
            for number, records in (await read_topic(site.settings.connection, topic)).items()
            for record in records
        ]
        for topic in topics(site)
    }


def test_a_committed_transaction_is_there_as_a_whole(site: Site) -> None:
    async def scenario() -> tuple[dict[str, list[tuple[int, bytes]]], PartitionState]:
        async with writing(site, PARTITION) as writer:
            transaction = filled(writer)
            async with transaction.open():
                await transaction.send()
                await transaction.send_offset(5)
        return await written(site), await read_state(site.settings, PARTITION)

    records, state = asyncio.run(scenario())

    # A rating goes where its player's others are, all else to the number of the input's partition.
    assert list(records.values()) == [
        [(partition_of(b"ann", 4), b"ann")],
        [(PARTITION, b"go")],
        [(PARTITION, b"go")],
    ]
    assert state == PartitionState(5, {"player/go/ann": b"[1]"}, COUNTS.shown())
    assert site.committed()[PARTITION] == 5


def test_of_a_transaction_that_fails_nothing_is_there(site: Site) -> None:
    async def scenario() -> tuple[dict[str, list[tuple[int, bytes]]], PartitionState]:
        async with writing(site, PARTITION) as writer:
            transaction = filled(writer)
            with suppress(CrashError):
                async with transaction.open():
                    await transaction.send()
                    await transaction.send_offset(5)
                    raise CrashError
        return await written(site), await read_state(site.settings, PARTITION)

    records, state = asyncio.run(scenario())

    assert list(records.values()) == [[], [], []]
    assert state == PartitionState()
    assert site.committed()[PARTITION] == 0


def test_what_is_appended_after_a_send_is_sent_by_the_next(site: Site) -> None:
    async def scenario() -> PartitionState:
        async with writing(site, PARTITION) as writer:
            transaction = writer.new_transaction()
            async with transaction.open():
                transaction.append_rows([("player/go/ann", [1])], NOW)
                first = await transaction.send()
                transaction.append_rows([("player/go/eve", [2])], NOW)
                transaction.append_watermark(1, COUNTS, NOW)
                second = await transaction.send()
        changelog = (site.settings.changelog_topic, PARTITION)

        assert (first, second) == ({changelog: 0}, {changelog: 2})

        return await read_state(site.settings, PARTITION)

    state = asyncio.run(scenario())

    assert state.rows == {"player/go/ann": b"[1]", "player/go/eve": b"[2]"}


def test_a_new_writer_fences_the_former_one_and_aborts_what_it_left_open(site: Site) -> None:
    async def take_over(former: PartitionWriter) -> None:
        left_open = filled(former)
        async with left_open.open():
            await left_open.send()
            async with writing(site, PARTITION) as writer:
                transaction = writer.new_transaction()
                transaction.append_watermark(7, COUNTS, NOW)
                async with transaction.open():
                    await transaction.send()

    async def scenario() -> PartitionState:
        async with writing(site, PARTITION) as former:
            with pytest.raises(ProducerFenced):
                await take_over(former)
        return await read_state(site.settings, PARTITION)

    state = asyncio.run(scenario())

    assert state == PartitionState(7, {}, COUNTS.shown())


def test_a_rejected_record_goes_on_as_it_came(site: Site) -> None:
    async def scenario() -> None:
        records = (await read_topic(site.settings.connection, site.settings.input_topic))[PARTITION]
        async with writing(site, PARTITION) as writer:
            transaction = writer.new_transaction()
            transaction.reject(records[0], Rejected("schema", "no game"))
            async with transaction.open():
                await transaction.send()

    value = orjson.dumps({"no": "game"})
    site.produce_records([{"value": value, "key": b"tiles", "partition": PARTITION}])
    asyncio.run(scenario())
    (rejected,) = site.read_output("game-rejected")

    assert (rejected.partition, rejected.key, rejected.value) == (PARTITION, b"tiles", value)


def test_a_writer_that_was_not_started_has_no_transactions(site: Site) -> None:
    with pytest.raises(RuntimeError, match="partition 2 is not open"):
        PartitionWriter(site.settings, PARTITION).new_transaction()
