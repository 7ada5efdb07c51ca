"""What an audit says of records that were forwarded: every copy is there, once, as it has to be."""

import asyncio
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.structs import ConsumerRecord
from owners import work
from sites import Site

from streams.replay.audit import AuditRequest, audit
from streams.replay.differences import AuditReport
from streams.replay.matching import Kind
from streams.runtime.changelog import WATERMARK
from streams.runtime.homes import FORWARDED_HEADER

pytestmark = pytest.mark.kafka

LADDER, HOME, AWAY = b"tiles", 1, 2
PLAYERS = [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}]


def game(number: int) -> dict[str, Any]:
    """Give a record of a game that lies away from its home, with a header and a timestamp of its own."""
    fields = {"game_id": f"g-{number}", "ladder": "tiles", "ended_at": "2024-01-05T20:00:00Z"}
    return {
        "value": orjson.dumps({**fields, "players": PLAYERS}),
        "headers": [("trace", b"1")],
        "timestamp_ms": 1_704_500_000_000 + number,
        "partition": AWAY,
    }


def audited(site: Site) -> AuditReport:
    return asyncio.run(audit(AuditRequest(site.settings, site.rules)))


def copies(site: Site) -> list[ConsumerRecord]:
    return [
        record
        for record in site.read(site.settings.input_topic)[HOME]
        if FORWARDED_HEADER in dict(record.headers)
    ]


def as_sent(record: ConsumerRecord) -> dict[str, Any]:
    """Give a record as it is sent again."""
    return {
        "value": record.value,
        "key": record.key,
        "headers": list(record.headers),
        "timestamp_ms": record.timestamp,
        "partition": record.partition,
    }


def forge_watermark(site: Site) -> None:
    """Let the partition say that it has forwarded one record more."""
    mark = site.watermarks()[AWAY]
    counts = mark.counts | {name: mark.counts[name] + 1 for name in ("read", "forwarded")}
    value = orjson.dumps({"offset": mark.offset + 1, "counts": counts})

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=site.settings.bootstrap_servers) as producer:
            await producer.send_and_wait(site.settings.changelog_topic, value, WATERMARK, partition=AWAY)

    asyncio.run(send())


def test_a_copy_is_its_record_with_the_ladder_as_key_and_where_it_is_from(site: Site) -> None:
    site.produce_records([game(1), game(2)])
    work(site)
    originals = site.read(site.settings.input_topic)[AWAY]
    position = f"{site.settings.input_topic}/{AWAY}".encode()

    assert [(copy.key, copy.value, copy.headers, copy.timestamp) for copy in copies(site)] == [
        (
            LADDER,
            original.value,
            (*original.headers, (FORWARDED_HEADER, position + b"/%d" % original.offset)),
            original.timestamp,
        )
        for original in originals
    ]
    assert [site.watermarks()[number].counts["forwarded"] for number in (HOME, AWAY)] == [0, 2]
    assert site.differences() == []


def test_a_copy_that_is_not_there_is_missing(site: Site) -> None:
    site.produce_records([game(1)])
    work(site)
    site.produce_records([game(2)])
    forge_watermark(site)
    report = audited(site)
    topic = site.settings.input_topic

    assert report.totals == {Kind.MISSING: 1}
    assert report.differences[0].where.startswith(f"{topic}/{HOME}, of {topic}/{AWAY}/")


def test_a_copy_that_is_there_twice_is_double(site: Site) -> None:
    site.produce_records([game(1)])
    work(site)
    site.produce_records([as_sent(copies(site)[0])])
    work(site)

    assert audited(site).totals == {Kind.DOUBLE: 1}


def test_a_copy_with_other_content_is_different(site: Site) -> None:
    site.produce_records([game(1)])
    work(site)
    copy = as_sent(copies(site)[0])
    site.produce_records([game(2)])
    original = site.read(site.settings.input_topic)[AWAY][-1]
    position = f"{original.topic}/{AWAY}/{original.offset}".encode()
    headers = [("trace", b"1"), (FORWARDED_HEADER, position)]
    site.produce_records([{**copy, "headers": headers, "value": b"{}", "timestamp_ms": original.timestamp}])
    forge_watermark(site)

    assert audited(site).totals == {Kind.DIFFERENT: 1}


def test_a_copy_of_nothing_is_unexpected(site: Site) -> None:
    site.produce_records([game(1)])
    work(site)
    copy = as_sent(copies(site)[0])
    headers = [(FORWARDED_HEADER, f"{site.settings.input_topic}/{AWAY}/99".encode())]
    site.produce_records([{**copy, "headers": headers}])
    work(site)

    assert audited(site).totals == {Kind.UNEXPECTED: 1}


def test_a_copy_of_another_topic_is_nobodys_copy(site: Site) -> None:
    site.produce_records([game(1)])
    work(site)
    headers = [(FORWARDED_HEADER, b"old.game-finished/2/7")]
    site.produce_records([{**game(2), "key": LADDER, "partition": HOME, "headers": headers}])
    work(site)

    assert site.differences() == []
