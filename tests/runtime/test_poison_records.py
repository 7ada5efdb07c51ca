"""What a broker or its client may refuse: no record stops its partition, and each has one outcome."""

import asyncio
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.codec import gzip_encode
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from midnights import end_of, game, opened, read, use_ladders
from sites import PARTITIONS, Site
from workers import Worker

from streams.core.events import COMPETITION_CLOSED, GAME_REJECTED, RATING_CHANGED
from streams.core.ladders import Ladders
from streams.runtime.batches import partition_of
from streams.runtime.competitions import read_week
from streams.runtime.settings import LADDERS
from streams.wire.encode import ERROR_HEADER, MAX_PUBLISHED_BYTES
from streams.wire.timestamps import NO_TIMESTAMP

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]

W46 = "2024-W46"
NUMBER = partition_of(b"utc", 4)
ENDED = end_of("utc", W46)
STAMP_MS = 1_732_000_000_000
NAME, BAD_NAME = "na--e", b"na\xff\xfee"
# Where the parts of a batch lie: its length, its checksum, what that is of, and the records.
LENGTH_AT, CHECKSUM_AT, ATTRIBUTES_AT, RECORDS_AT = 8, 17, 21, 61


def good(game_id: str) -> bytes:
    """Make the value of a good game."""
    return orjson.dumps(game("utc", game_id, ENDED))


def with_bad_name(builder: Any, *, packed: bool) -> bytes:
    """Return a batch with a header name that is not UTF-8, which no client of Python would send."""
    batch = bytearray(builder.build().replace(NAME.encode(), BAD_NAME))
    if packed:
        batch[RECORDS_AT:] = gzip_encode(bytes(batch[RECORDS_AT:]))
        batch[ATTRIBUTES_AT + 1] |= DefaultRecordBatch.CODEC_GZIP
        struct.pack_into(">i", batch, LENGTH_AT, len(batch) - LENGTH_AT - 4)
    struct.pack_into(">I", batch, CHECKSUM_AT, calc_crc32c(bytes(batch[ATTRIBUTES_AT:])))
    return bytes(batch)


async def send_bad_names(site: Site, game_ids: Sequence[str], *, packed: bool) -> None:
    """Send games in one batch, each with a header whose name is not UTF-8."""
    builder = DefaultRecordBatchBuilder(
        2,
        DefaultRecordBatch.CODEC_NONE,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=0,
        batch_size=1_000_000,
    )
    for number, game_id in enumerate(game_ids):
        headers = [("ce_id", game_id.encode()), (NAME, b"1")]
        builder.append(number, STAMP_MS, key=b"utc", value=good(game_id), headers=headers)
    async with AIOKafkaProducer(bootstrap_servers=site.settings.bootstrap_servers, acks="all") as producer:
        batch = producer.create_batch()
        batch.append(timestamp=STAMP_MS, key=b"utc", value=b"")
        batch._relative_offset = len(game_ids)  # noqa: SLF001 - no client sends such names
        batch._buffer = with_bad_name(builder, packed=packed)  # noqa: SLF001 - as above
        batch.close()
        future = await producer.send_batch(batch, site.settings.input_topic, partition=NUMBER)
        await future


def errors_of(site: Site) -> list[dict[str, str]]:
    """Return what was said of each rejected record."""
    return [
        {
            name.removeprefix(ERROR_HEADER): text.decode()
            for name, text in found.headers
            if name.startswith(ERROR_HEADER)
        }
        for found in site.read_output(GAME_REJECTED)
    ]


def rated(site: Site) -> set[str]:
    """Return the ids of the rated games."""
    return {orjson.loads(found.value)["game_id"] for found in site.read_output(RATING_CHANGED)}


@pytest.mark.parametrize("packed", [False, True])
def test_header_names_that_are_not_utf8_are_rejected_and_shown_escaped(
    site: Site, start_worker: StartWorker, *, packed: bool
) -> None:
    use_ladders(site)
    site.produce_records([{"value": good("1"), "partition": NUMBER}])
    asyncio.run(send_bad_names(site, ["2", "3"], packed=packed))
    worker = start_worker(site)
    site.produce_records([{"value": good("4"), "partition": NUMBER}])
    site.wait_until_done()
    restarted = worker.stop(), start_worker(site)
    site.produce_records([{"value": good("5"), "partition": NUMBER}])
    site.wait_until_done()
    names = [[name for name, _ in found.headers[:2]] for found in site.read_output(GAME_REJECTED)]

    assert restarted[0] == 0
    assert names == [["ce_id", r"na\xff\xfee"]] * 2
    assert [error["reason"] for error in errors_of(site)] == ["header-name"] * 2
    assert rated(site) == {"1", "4", "5"}
    assert site.differences() == []


def test_rejected_records_of_any_size_fit_into_topics_with_the_default_limit(
    site: Site, start_worker: StartWorker
) -> None:
    half = MAX_PUBLISHED_BYTES // 2
    poison: list[dict[str, Any]] = [
        {"value": b"{", "headers": [("big", b"x" * 3_000_000)]},
        {"value": b"{", "headers": [("n", None)] * 200_000},
        {"value": b"{", "headers": [("ü" * half, b"")]},
        {"value": b"{", "key": b"k" * 3_000_000},
        {"value": b"\x00" * (MAX_PUBLISHED_BYTES + 1)},
        {"value": b"[" * (MAX_PUBLISHED_BYTES - 100)},
        {"value": b"[" * half, "key": b"k" * (half - 100)},
    ]
    use_ladders(site)
    for number, record in enumerate(poison):
        site.produce_records(
            [{**record, "partition": NUMBER}, {"value": good(str(number)), "partition": NUMBER}]
        )
    worker = start_worker(site)
    site.wait_until_done()

    assert worker.statuses == []
    assert ["cut-from-bytes" in errors for errors in errors_of(site)] == [True] * 5 + [False] * 2
    assert rated(site) == {str(number) for number in range(len(poison))}
    assert site.differences() == []


async def alter(site: Site, topics: Mapping[str, Mapping[str, str]]) -> None:
    """Give topics other settings, these alone."""
    admin = AIOKafkaAdminClient(bootstrap_servers=site.settings.bootstrap_servers)
    await admin.start()
    await admin.alter_configs(
        [ConfigResource(ConfigResourceType.TOPIC, topic, dict(config)) for topic, config in topics.items()]
    )
    await admin.close()


async def refuse_the_future(site: Site) -> None:
    """Let every topic but the input refuse timestamps from more than an hour ahead, as Kafka's default is."""
    ahead = {"message.timestamp.after.max.ms": "3600000"}
    outputs = {site.settings.topic(name): ahead for name in LADDERS.outputs}
    await alter(site, {**outputs, site.settings.changelog_topic: {**ahead, "cleanup.policy": "compact"}})


def test_a_record_that_is_too_large_to_be_forwarded_is_rejected_where_it_lies(
    site: Site, start_worker: StartWorker
) -> None:
    away = (NUMBER + 1) % PARTITIONS
    large = [("trace", b"x" * 2_000_000)]
    use_ladders(site)
    asyncio.run(alter(site, {site.settings.input_topic: {"max.message.bytes": "1048588"}}))
    site.produce_records(
        [
            {"value": good("1"), "partition": away, "headers": large},
            {"value": good("2"), "partition": NUMBER, "headers": large},
            {"value": good("3"), "partition": away},
        ],
        compression_type="gzip",
    )
    worker = start_worker(site)
    site.wait_until_done()
    site.wait_until_done()

    assert worker.statuses == []
    assert [errors["reason"] for errors in errors_of(site)] == ["too-large"]
    assert rated(site) == {"2", "3"}
    assert site.differences() == []


def test_what_follows_from_a_record_with_an_impossible_timestamp_has_none(site: Site) -> None:
    stamps = [STAMP_MS, STAMP_MS * 1_000, STAMP_MS * 1_000_000, STAMP_MS // 1_000, NO_TIMESTAMP]

    async def scenario() -> None:
        async with opened(site, NUMBER) as partition:
            for _ in stamps:
                await read(site, partition, at_most=1)

    use_ladders(site)
    asyncio.run(refuse_the_future(site))
    site.produce_records(
        {"value": good(str(number)), "partition": NUMBER, "timestamp_ms": stamp}
        for number, stamp in enumerate(stamps)
    )
    asyncio.run(scenario())

    assert rated(site) == {"0"}
    assert [error["reason"] for error in errors_of(site)] == ["timestamp", "timestamp", "future", "timestamp"]
    assert [found.timestamp for found in site.read_output(GAME_REJECTED)] == [
        NO_TIMESTAMP,
        NO_TIMESTAMP,
        STAMP_MS // 1_000,
        NO_TIMESTAMP,
    ]
    assert site.differences() == []


def test_standings_of_any_size_fit_into_a_topic_with_the_default_limit(site: Site) -> None:
    players = 9_000
    figures = {"ladder": "utc", "system": "weekly", "rating": 10, "games": 3, "week": W46}

    async def scenario() -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition)
            await partition.end_weeks(ENDED)
            await read(site, partition)

    use_ladders(site)
    site.produce(
        {"type": "rating-imported", "player_id": f"player-{number}", **figures} for number in range(players)
    )
    asyncio.run(scenario())
    bodies = [orjson.loads(found.value) for found in site.read_output(COMPETITION_CLOSED)]
    week = asyncio.run(read_week(site.settings, lambda: Ladders(site.rules), "utc", W46))

    assert [(body["revision"], body["part"], body["parts"]) for body in bodies] == [
        (1, part, 9) for part in range(1, 10)
    ]
    assert week is not None
    assert week.part is None
    assert len({row.player_id for row in week.standings}) == players
    assert site.differences() == []
