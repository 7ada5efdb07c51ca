"""How one partition ends its weeks on the log: once, by its present owner, behind the games that are there.

The partition is owned by the test itself, which can stop it at any point.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from itertools import count, islice
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from midnights import GRACE, SECOND, closings, end_of, ended, game, opened, read, use_ladders
from sites import Site, read_topic

from streams.core.events import COMPETITION_CLOSED
from streams.runtime.batches import partition_of
from streams.runtime.partition import Partition
from streams.runtime.reader import high_watermarks

pytestmark = pytest.mark.kafka

W45, W46 = "2024-W45", "2024-W46"
MIDNIGHT = end_of("utc", W46)
HOUR = timedelta(hours=1)
NUMBER = partition_of(b"utc", 4)
ENDED = f"utc/{W46}/midnight"


class CrashError(Exception):
    """The owner dies here."""


def live(site: Site, scenario: Callable[[Site], Coroutine[Any, Any, None]]) -> None:
    """Let a scenario happen on a deployment whose log has a week's game."""
    use_ladders(site)
    site.produce([game("utc", "1", MIDNIGHT - SECOND)])
    asyncio.run(scenario(site))


def test_a_week_is_appended_once_before_it_is_read_and_once_it_is(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition)
            for _ in range(3):
                await partition.end_weeks(MIDNIGHT)
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)

    live(site, scenario)

    assert ended(site) == [ENDED]
    assert closings(site, "utc") == [(W46, 1, False)]


def test_however_many_games_are_late_a_week_is_published_again_once_in_a_minute(site: Site) -> None:
    minute = timedelta(minutes=1)

    async def late(partition: Partition, *numbers: int) -> None:
        games = [game("utc", f"late-{number}", MIDNIGHT - SECOND) for number in numbers]
        await asyncio.to_thread(site.produce, games)
        for _ in games:
            await read(site, partition, at_most=1)

    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition)
            for after, numbers in ((0 * minute, ()), (2 * minute, range(10)), (2.5 * minute, range(10, 20))):
                await late(partition, *numbers)
                await partition.end_weeks(MIDNIGHT + after)
                await partition.end_weeks(MIDNIGHT + after + SECOND)
                await read(site, partition)
            await partition.end_weeks(MIDNIGHT + 3 * minute)
            await read(site, partition)

    live(site, scenario)
    bodies = [orjson.loads(record.value) for record in site.read_output(COMPETITION_CLOSED)]

    assert [(body["revision"], body["standings"][0]["games"]) for body in bodies] == [
        (1, 1),
        (2, 11),
        (3, 21),
    ]
    assert len(set(site.weeks_ended())) == len(site.weeks_ended()) == 3
    assert site.differences() == []


def test_an_amendment_that_a_former_owner_did_not_publish_is_published_by_the_next(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as former:
            await read(site, former)
            await former.end_weeks(MIDNIGHT)
            await read(site, former)
            await asyncio.to_thread(site.produce, [game("utc", "late", MIDNIGHT - SECOND)])
            await read(site, former)
        async with opened(site, NUMBER) as partition:
            await partition.end_weeks(MIDNIGHT + SECOND)
            await read(site, partition)

    live(site, scenario)

    assert closings(site, "utc") == [(W46, 1, False), (W46, 2, False)]
    assert site.differences() == []


def test_an_owner_that_dies_between_append_and_commit_leaves_it_to_the_next(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(_producer: AIOKafkaProducer) -> None:
        raise CrashError

    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as dead:
            await read(site, dead)
            with monkeypatch.context() as patch, suppress(CrashError):
                patch.setattr(AIOKafkaProducer, "commit_transaction", die)
                await dead.end_weeks(MIDNIGHT)
            async with opened(site, NUMBER) as partition:
                await partition.end_weeks(MIDNIGHT)
                await read(site, partition)

    live(site, scenario)

    assert ended(site) == [ENDED]
    assert site.differences() == []


def test_what_a_former_owner_appended_is_not_appended_again_before_it_is_read(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as former:
            await read(site, former)
            await former.end_weeks(MIDNIGHT)
        async with opened(site, NUMBER) as partition:
            await partition.end_weeks(MIDNIGHT)
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)

    live(site, scenario)

    assert ended(site) == [ENDED]


def test_what_a_former_owner_appended_may_lie_behind_an_open_transaction(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as former, producing(site) as producer:
            await read(site, former)
            await producer.begin_transaction()
            await send(site, producer, "2")
            await former.end_weeks(MIDNIGHT)
            async with opened(site, NUMBER) as partition:
                await partition.end_weeks(MIDNIGHT)
                await producer.commit_transaction()
                await partition.end_weeks(MIDNIGHT)
                await read(site, partition)

    live(site, scenario)

    assert ended(site) == [ENDED]
    assert site.differences() == []


def test_rows_kept_over_a_rebalance_do_not_end_a_week_again(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)
            await partition.close()
            await partition.open()
            await partition.end_weeks(MIDNIGHT)
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)

    live(site, scenario)

    assert ended(site) == [ENDED]


def test_a_former_owner_that_wakes_up_cannot_end_a_week(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as former:
            await read(site, former)
            async with opened(site, NUMBER) as partition:
                with pytest.raises(KafkaError):
                    await former.end_weeks(MIDNIGHT)
                await partition.end_weeks(MIDNIGHT)
                await read(site, partition)

    live(site, scenario)

    assert ended(site) == [ENDED]


def test_weeks_of_a_past_that_is_still_being_read_do_not_end(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition, at_most=2)
            await partition.end_weeks(MIDNIGHT + HOUR)
            assert await asyncio.to_thread(ended, site) == []
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT + HOUR)

    site.produce([game("utc", str(number), end_of("utc", W45) - number * SECOND) for number in range(10, 13)])
    live(site, scenario)

    assert ended(site) == [f"utc/{W45}/midnight", ENDED]


def test_weeks_end_at_midnight_however_many_games_are_on_their_way(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, NUMBER) as partition:
            await asyncio.to_thread(site.produce, [game("utc", "2", MIDNIGHT), game("utc", "3", MIDNIGHT)])
            await read(site, partition, at_most=2)
            await partition.end_weeks(MIDNIGHT)

    live(site, scenario)

    assert ended(site) == [ENDED]


def test_a_thousand_ladders_of_one_partition_end_their_week_in_one_transaction(site: Site) -> None:
    names = list(islice(filter(on_the_partition, map("ladder-{}".format, count())), 1_000))

    async def scenario() -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition)
            before = await records_and_offsets(site)
            for now in (MIDNIGHT, MIDNIGHT + GRACE):
                await partition.end_weeks(now)
                await partition.end_weeks(now)
                await read(site, partition)
            after = await records_and_offsets(site)

            # A transaction's end takes an offset: one for the midnights and one for the ends of grace.
            assert [after[0] - before[0], after[1] - before[1]] == [2_000, 2_002]

    use_ladders(site, dict.fromkeys(names, "UTC"))
    site.produce(game(name, "1", MIDNIGHT - SECOND) for name in names)
    asyncio.run(scenario())

    closed = [orjson.loads(record.value) for record in site.read_output(COMPETITION_CLOSED)]

    assert sorted((body["ladder"], body["revision"]) for body in closed) == sorted(
        (name, revision) for name in names for revision in (1, 2)
    )
    assert site.differences() == []


@pytest.mark.soak
def test_the_standings_of_eighty_thousand_players_are_records_of_a_thousand(site: Site) -> None:
    figures = {"ladder": "utc", "system": "weekly", "rating": 10, "games": 3, "week": W46}

    async def scenario() -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)
            await read(site, partition)

    use_ladders(site)
    site.produce(
        {"type": "rating-imported", "player_id": f"player-{number}", **figures} for number in range(80_000)
    )
    asyncio.run(scenario())
    closed = [orjson.loads(record.value) for record in site.read_output(COMPETITION_CLOSED)]

    assert [(body["part"], len(body["standings"])) for body in closed] == [
        (part, 1_000) for part in range(1, 81)
    ]
    assert site.differences() == []


def on_the_partition(ladder: str) -> bool:
    """Tell whether a ladder lies on the partition of these tests."""
    return partition_of(ladder.encode(), 4) == NUMBER


async def records_and_offsets(site: Site) -> tuple[int, int]:
    """Count the records on the log of the partition, and give its end."""
    records = (await read_topic(site.settings.connection, site.settings.input_topic))[NUMBER]
    tp = TopicPartition(site.settings.input_topic, NUMBER)
    return len(records), (await high_watermarks(site.settings.connection, [tp]))[tp]


@asynccontextmanager
async def producing(site: Site) -> AsyncIterator[AIOKafkaProducer]:
    """Run a transactional producer of games."""
    async with AIOKafkaProducer(
        bootstrap_servers=site.settings.bootstrap_servers, transactional_id=f"{site.settings.app_id}-games"
    ) as producer:
        yield producer


async def send(site: Site, producer: AIOKafkaProducer, game_id: str) -> None:
    """Send a game of the last second of the week."""
    value = orjson.dumps(game("utc", game_id, MIDNIGHT - SECOND))
    await producer.send_and_wait(site.settings.input_topic, key=b"utc", value=value, partition=NUMBER)
