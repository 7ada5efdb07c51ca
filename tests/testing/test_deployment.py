"""A deployment of the kit on a real broker: it does what workers do, and says what they publish."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from season import LADDER_FILE
from season import events as season_events

from streams import events
from streams.embedded.broker import EmbeddedBroker
from streams.testing import Driver, finished
from streams.testing.deployment import Deployment

pytestmark = pytest.mark.kafka

OUTPUTS = (events.RATING_CHANGED, events.COMPETITION_CLOSED, events.GAME_IGNORED, events.GAME_REJECTED)
WON = finished("g-1", "ann", "bob", ladder="go")


@pytest.fixture
def ladderlog_ladders() -> str:
    """Give the ladders of a season."""
    return LADDER_FILE


@pytest.fixture
def one_partition(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Deployment]:
    """Give a deployment in which all records are in one order."""
    file = tmp_path / "one.toml"
    file.write_text(LADDER_FILE)
    deployment = Deployment(broker.bootstrap_servers, file, f"one-{uuid4().hex}", partitions=1)
    yield deployment
    deployment.remove()


def test_it_publishes_what_the_driver_says(one_partition: Deployment) -> None:
    sent = season_events(1_500)
    driver = Driver(LADDER_FILE)
    driver.send(*sent)

    one_partition.send(*sent)
    one_partition.rate()

    for name in OUTPUTS:
        expected = [(each.key, each.value) for each in driver.published if each.topic == name]
        published = one_partition.published(name)
        assert [(record.key, record.value) for record in published] == expected
        headers = [each.headers for each in driver.published if each.topic == name]
        assert [list(map(first, record.headers)) for record in published] == [
            list(map(first, each)) for each in headers
        ]


def first(header: tuple[str, bytes]) -> str:
    return header[0]


def test_a_worker_runs_as_long_as_the_block(ladderlog: Deployment) -> None:
    with ladderlog.worker() as worker:
        ladderlog.send(WON, {"type": "game-voided", "ladder": "go", "game_id": "g-2", "reason": "test"})
        ladderlog.wait_until_done()
        worker.check()

    changes = [
        events.decode(record.value, record.headers) for record in ladderlog.published("rating-changed")
    ]
    assert {change.game_id for change in changes} == {"g-1"}  # type: ignore[union-attr]
    assert ladderlog.problems() == []


def test_without_a_worker_nothing_is_done_and_it_says_so(ladderlog: Deployment) -> None:
    ladderlog.send(WON)

    with pytest.raises(TimeoutError, match=r"after 0 seconds offsets are left, by partition: \{\d: 1\}"):
        ladderlog.wait_until_done(seconds=0)


def test_what_the_broker_does_not_take_is_an_error(ladderlog: Deployment) -> None:
    large = finished("g-1", "ann", "bob").players * 200_000

    with pytest.raises(AssertionError, match="the broker did not take"):
        ladderlog.send({"game_id": "g-1", "ladder": "go", "players": [each.player_id for each in large] * 5})


def test_it_may_be_asked_while_an_event_loop_runs(ladderlog: Deployment) -> None:
    async def ask() -> int:
        ladderlog.send(WON)
        return len(ladderlog.published(events.GAME_FINISHED))

    assert asyncio.run(ask()) == 1
