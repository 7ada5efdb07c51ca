"""Records of every kind between good ones: each has its outcome, and the stream goes on."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.structs import ConsumerRecord
from season import events
from sites import Site
from workers import Worker

from streams.core.events import REJECTIONS
from streams.runtime.homes import FORWARDED_HEADER
from streams.runtime.partition import Partition
from streams.runtime.reader import reading
from streams.runtime.topics import MAX_INPUT_BYTES
from streams.runtime.watchdog import STUCK_AFTER, Watchdog
from streams.wire.decode_fast import MAX_RECORD_BYTES
from streams.wire.encode import ERROR_HEADER, MAX_PUBLISHED_BYTES, encode_event

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
Record = dict[str, Any]

PARTITION = 1
ANN, BOB = {"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}
TRACE = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")


def game(game_id: str, **fields: Any) -> dict[str, Any]:
    """Give a good game of the ladder on the partition that all records here go to."""
    return {
        "game_id": game_id,
        "ladder": "tiles",
        "ended_at": "2024-01-05T20:00:00Z",
        "players": [ANN, BOB],
        **fields,
    }


def record(value: Any, key: bytes | None = b"tiles", headers: Any = (TRACE,)) -> Record:
    """Give a record with a header that has to survive; a value that is no bytes becomes JSON."""
    encoded = value if value is None or isinstance(value, bytes) else orjson.dumps(value)
    return {"value": encoded, "key": key, "headers": list(headers), "partition": PARTITION}


IMPORT = {"ladder": "tiles", "system": "chess", "player_id": "ann", "rating": 1600, "games": 3}
SCHEMA = [
    game("s1", players=[ANN]),
    game("s2", players=[{"rank": 1}, BOB]),
    game("s3", ended_at="yesterday"),
    game("s4", ended_at="2024-02-31T20:00:00Z"),
    game("s5", ended_at=None),
    game("", rated="yes"),
    game("s6", game_type="a\x00b"),
    game("s7", players=[{**ANN, "rank": 0}, BOB]),
    game("s8", players=[{**ANN, "left": "asleep"}, BOB]),
    {},
]
REJECTED: dict[str, list[Record]] = {
    "not-json": [
        record(value)
        for value in (
            b"",
            None,
            b"{",
            b"\xff\xfe",
            b'{"a": "\xc3"}',
            [game("j1")],
            b"42",
            b"[" * 5_000,
            b'"\\ud800"',
        )
    ],
    "schema": [record(fields) for fields in SCHEMA],
    # At home, as far as an unknown ladder can be: elsewhere it is forwarded first.
    "unknown-ladder": [record(game("u1", ladder="nobody"), b"nobody")],
    "same-player-twice": [record(game("t1", players=[ANN, BOB, ANN]))],
    "misplaced": [
        record(game("m1", ladder="belote"), key, [TRACE, (FORWARDED_HEADER, position)])
        for key, position in ((b"belote", b"game-finished/2/7"), (None, b""), (b"\xff", None))
    ],
    "conflict": [
        record(game("good-0", game_type="another")),
        record(game("good-0", players=[ANN, {**BOB, "rank": 1}])),
    ],
    "too-large": [
        record(b" " * (MAX_RECORD_BYTES + 1)),
        record(game("l1", note="x" * (MAX_INPUT_BYTES - 10_000))),
    ],
    "started-after-ended": [record(game("o1", started_at="2024-01-05T20:00:01Z"))],
    "future": [
        record(game("f1", ended_at="2999-01-01T00:00:00Z")),
        {**record(game("f2")), "timestamp_ms": 1_704_484_800},
    ],
    "timestamp": [
        {**record(game(f"m{stamp}")), "timestamp_ms": stamp}
        for stamp in (1_704_484_800_000_000, 1_704_484_800_000_000_000, 32_503_680_000_000)
    ],
    "type": [
        record(game("y1"), headers=[TRACE, ("ce_type", ce_type)])
        for ce_type in (b"game-started.v1", b"game-finished.v2", b"", None, b"\xff", b"t" * 1024 * 1024)
    ],
    "unknown-system": [record(IMPORT, headers=[TRACE, ("ce_type", b"rating-imported.v1")])],
}


def passed_on(sent: Record) -> tuple[Any, Any, Any]:
    """Return what game-rejected has of a record: all of it, or its beginning when it is large."""
    key, value, headers = sent["key"], sent["value"], sent["headers"]
    size_of_headers = sum(len(name) + len(content or b"") for name, content in headers)
    if len(key or b"") + len(value or b"") + size_of_headers <= MAX_PUBLISHED_BYTES:
        return key, value, headers
    kept = headers if size_of_headers < MAX_PUBLISHED_BYTES else []
    return key and key[:1024], value and value[: 64 * 1024], kept


def split(found: ConsumerRecord) -> tuple[tuple[Any, Any, Any], dict[str, str]]:
    """Give what was sent, and what was said to be wrong with it."""
    original = [header for header in found.headers if not header[0].startswith(ERROR_HEADER)]
    errors = {
        name.removeprefix(ERROR_HEADER): text.decode()
        for name, text in found.headers
        if name.startswith(ERROR_HEADER)
    }
    return (found.key, found.value, original), errors


def test_every_kind_of_bad_record_is_rejected_with_its_reason_and_the_stream_goes_on(
    site: Site, start_worker: StartWorker
) -> None:
    bad = [(reason, sent) for reason, records in REJECTED.items() for sent in records]
    sent = [record(game("good-0"))]
    for number, (_, poison) in enumerate(bad, start=1):
        sent += [poison, record(game(f"good-{number}"))]
    site.produce_records(sent)
    start_worker(site)
    site.wait_until_done()
    rejected = [split(found) for found in site.read_output("game-rejected")]

    # Names that no client of Python sends are in test_poison_records.
    assert REJECTED.keys() == REJECTIONS.keys() - {"header-name"}
    assert [passed_on(poison) for _, poison in bad] == [original for original, _ in rejected]
    assert [reason for reason, _ in bad] == [errors["reason"] for _, errors in rejected]
    assert [(str(PARTITION), str(offset)) for offset in range(1, len(sent), 2)] == [
        (errors["partition"], errors["offset"]) for _, errors in rejected
    ]
    assert {site.settings.input_topic} == {errors["topic"] for _, errors in rejected}
    assert all(errors["message"] for _, errors in rejected)
    assert site.differences() == []


def test_a_record_that_only_its_compression_made_small_enough_is_rejected_in_part(
    site: Site, start_worker: StartWorker
) -> None:
    packed = record(game("packed", note="x" * 3 * MAX_INPUT_BYTES))
    site.produce_records([packed, record(game("good"))], compression_type="gzip")
    start_worker(site)
    site.wait_until_done()
    (rejected,) = site.read_output("game-rejected")
    (_, value, _), errors = split(rejected)

    assert errors["reason"] == "too-large"
    assert int(errors["cut-from-bytes"]) > 3 * MAX_INPUT_BYTES
    assert packed["value"].startswith(value)
    assert site.differences() == []


def test_whatever_the_key_a_record_at_home_is_a_game(site: Site, start_worker: StartWorker) -> None:
    keys = (b"belote", b"", b"\xff\x00", None, b"k" * 3 * 1024 * 1024)
    site.produce_records(record(game(f"k{number}"), key) for number, key in enumerate(keys))
    start_worker(site)
    site.wait_until_done()

    assert site.watermarks()[PARTITION].counts["rated"] == len(keys)
    assert site.differences() == []


def test_a_record_without_key_and_headers_is_a_game(site: Site, start_worker: StartWorker) -> None:
    site.produce_records([{"value": orjson.dumps(game("plain")), "partition": PARTITION}])
    start_worker(site)
    site.wait_until_done()
    mark = site.watermarks()[PARTITION]

    assert mark.counts == {"read": 1, "rated": 1, "ignored": 0, "rejected": 0, "noted": 0, "forwarded": 0}
    assert site.differences() == []


async def produce_transactions(site: Site, games: int) -> int:
    """Send a season in transactions of 50, every third of them aborted; give how many were committed."""
    committed = 0
    async with AIOKafkaProducer(
        bootstrap_servers=site.settings.bootstrap_servers,
        transactional_id=f"{site.settings.app_id}-producer",
        retry_backoff_ms=5,
    ) as producer:
        every = events(games)
        for number, start in enumerate(range(0, games, 50)):
            await producer.begin_transaction()
            for fields in every[start : start + 50]:
                event = fields.get("type", "game-finished")
                without_type = {name: value for name, value in fields.items() if name != "type"}
                key, value, headers = encode_event(event, without_type, "test", "1")
                await producer.send(site.settings.input_topic, key=key, value=value, headers=headers)
            if number % 3 == 2:
                await producer.flush()
                await producer.abort_transaction()
            else:
                await producer.commit_transaction()
                committed += len(every[start : start + 50])
    return committed


def test_only_committed_games_of_a_transactional_producer_count(
    site: Site, start_worker: StartWorker
) -> None:
    before = asyncio.run(produce_transactions(site, 2_000))
    start_worker(site)
    site.wait_for_progress()
    after = asyncio.run(produce_transactions(site, 1_000))
    site.wait_until_done()

    assert before + after == sum(mark.counts["read"] for mark in site.watermarks().values())
    assert site.differences() == []


async def checked(site: Site, next_offsets: dict[int, int], moments: list[float]) -> set[int]:
    """Look at partitions that do not move at each moment, and give those that are found stuck."""
    partitions = [Partition(site.settings, site.rules, number) for number in next_offsets]
    for partition in partitions:
        partition.next_offset = next_offsets[partition.tp.partition]
        partition.is_open = True
    connection = site.settings.connection
    async with reading(connection) as reader:
        watches = [(partition, Watchdog(reader, connection)) for partition in partitions]
        return {
            partition.tp.partition
            for partition, watch in watches
            for moment in moments
            if await watch.stuck([partition], moment) is not None
        }


def test_a_partition_that_ends_in_transaction_markers_is_not_stuck(site: Site) -> None:
    asyncio.run(produce_transactions(site, 300))
    last = {
        partition: records[-1].offset
        for partition, records in site.read(site.settings.input_topic).items()
        if records
    }
    done = {partition: offset + 1 for partition, offset in last.items()}

    assert asyncio.run(checked(site, done, [0, 5, 30])) == set()
    assert asyncio.run(checked(site, last, [0, 5, 30])) == last.keys()


def test_a_partition_is_not_stuck_when_its_first_game_for_long_arrives(site: Site) -> None:
    site.produce_records([record(game("first"))])

    assert asyncio.run(checked(site, {PARTITION: 0}, [0, 3600])) == set()


@pytest.mark.soak
def test_an_idle_worker_runs_on_behind_transaction_markers(site: Site, start_worker: StartWorker) -> None:
    asyncio.run(produce_transactions(site, 1_000))
    worker = start_worker(site)
    site.wait_until_done()
    # Twice the time after which a partition counts as stuck.
    time.sleep(2 * STUCK_AFTER)
    site.produce(events(1_200)[1_000:])
    site.wait_until_done()

    assert worker.statuses == []
    assert site.differences() == []
