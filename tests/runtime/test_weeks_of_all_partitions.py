"""A week ends when what lies in all partitions has come home, wherever games of it were sent to.

Partitions are owned by the test itself, one after the other, as by two workers of which one is late.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from midnights import GRACE, SECOND, closings, end_of, ended, game, opened, read, use_ladders
from sites import Site

from streams.runtime.reader import await_settled

pytestmark = pytest.mark.kafka

W45, W46 = "2024-W45", "2024-W46"
MIDNIGHT = end_of("utc", W46)
# The home of "utc", and another partition.
HOME, AWAY = 3, 0
ENDED = f"utc/{W46}/midnight"


def lay_away(site: Site, *games: tuple[str, datetime]) -> None:
    """Send games of the ladder to a partition that is not its home."""
    site.produce_records(
        {"value": orjson.dumps(game("utc", game_id, ended_at)), "partition": AWAY}
        for game_id, ended_at in games
    )


def live(site: Site, scenario: Callable[[Site], Coroutine[Any, Any, None]]) -> None:
    """Let a scenario happen on a deployment whose log has a week's game at home."""
    use_ladders(site)
    site.produce([game("utc", "1", MIDNIGHT - SECOND)])
    asyncio.run(scenario(site))


async def forward(site: Site) -> None:
    """Own the other partition for as long as it takes to read it."""
    async with opened(site, AWAY) as partition:
        await read(site, partition)
    await await_settled(site.settings.connection, site.settings.input_topic, 4)


def test_a_week_waits_for_games_that_nobody_has_forwarded(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, HOME) as partition:
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT + GRACE)
            await partition.end_weeks(MIDNIGHT + GRACE)
            assert await asyncio.to_thread(ended, site) == []
            await forward(site)
            await partition.end_weeks(MIDNIGHT + GRACE)
            assert await asyncio.to_thread(ended, site) == []
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT + GRACE)
            await read(site, partition)

    lay_away(site, ("2", MIDNIGHT - 2 * SECOND), ("3", MIDNIGHT - 3 * SECOND))
    live(site, scenario)

    assert ended(site) == [ENDED]
    assert closings(site, "utc") == [(W46, 1, False)]
    assert site.watermarks()[HOME].counts["rated"] == 3
    assert site.differences() == []


def test_an_older_week_that_is_on_its_way_ends_before_a_later_one(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, HOME) as partition:
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)
            await forward(site)
            await partition.end_weeks(MIDNIGHT)
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)
            await read(site, partition)

    lay_away(site, ("2", end_of("utc", W45) - SECOND))
    live(site, scenario)

    assert ended(site) == [f"utc/{W45}/midnight", ENDED]
    assert closings(site, "utc") == [(W45, 1, False), (W46, 1, False)]


def test_what_comes_after_midnight_does_not_hold_it_up(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with opened(site, HOME) as partition:
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)
            await forward(site)
            await read(site, partition)
            await asyncio.to_thread(lay_away, site, ("3", MIDNIGHT + SECOND))
            await partition.end_weeks(MIDNIGHT + SECOND)

    lay_away(site, ("2", MIDNIGHT - SECOND))
    live(site, scenario)

    assert ended(site) == [ENDED]


def test_a_producers_open_transaction_elsewhere_does_not_hold_it_up(site: Site) -> None:
    async def scenario(site: Site) -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=site.settings.bootstrap_servers,
            transactional_id=f"{site.settings.app_id}-games",
        ) as producer:
            async with producer.transaction():
                value = orjson.dumps(game("utc", "2", MIDNIGHT - SECOND))
                await producer.send_and_wait(site.settings.input_topic, value=value, partition=AWAY)
                async with opened(site, HOME) as partition:
                    await read(site, partition)
                    await partition.end_weeks(MIDNIGHT)
            # Its record is behind the group's offset, and the marker behind that.
            await forward(site)
            async with opened(site, HOME) as partition:
                await read(site, partition)
                await partition.end_weeks(MIDNIGHT + GRACE)
                await read(site, partition)

    live(site, scenario)

    assert ended(site) == [ENDED, f"utc/{W46}/final"]
    # The late game is told of with the next record of its week's end.
    assert closings(site, "utc") == [(W46, 1, False), (W46, 2, True)]
    assert site.watermarks()[HOME].counts["rated"] == 2
    assert site.differences() == []
