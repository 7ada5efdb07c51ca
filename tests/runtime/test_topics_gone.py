"""Topics deleted, made again or unreachable under a running worker: it says so, and ends by itself."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from accidents import delete_topics, make_again
from season import events, season
from sites import Load, Site
from workers import OWNER, REFUSED, Worker

from streams.core.events import COMPETITION_CLOSED, GAME_FINISHED, RATING_CHANGED
from streams.embedded.broker import EmbeddedBroker
from streams.runtime.exit_statuses import EXIT_FAILED
from streams.runtime.settings import Settings
from streams.runtime.topics import ensure_topics

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]


def last_line(worker: Worker) -> str:
    return worker.found("CRITICAL")[-1]


def topic_of(settings: Settings, name: str) -> str:
    return settings.changelog_topic if name == "changelog" else settings.topic(name)


@pytest.mark.parametrize("name", ["changelog", RATING_CHANGED, COMPETITION_CLOSED])
def test_a_topic_deleted_under_load_is_named_with_the_way_out(
    site: Site, start_worker: StartWorker, name: str
) -> None:
    worker = start_worker(site)
    worker.wait_for(OWNER, 4)
    with Load(site, season(), rate=100):
        site.wait_for_progress(100)
        delete_topics(site, [topic_of(site.settings, name)])
        status = worker.wait()

    assert status == REFUSED
    assert f"topic {topic_of(site.settings, name)} was deleted while this worker ran" in last_line(worker)
    assert "`ladderlog restore`" in last_line(worker)

    asyncio.run(ensure_topics(site.settings))


def test_a_log_that_is_deleted_ends_the_worker(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(200))
    worker = start_worker(site)
    worker.wait_for(OWNER, 4)
    site.wait_until_done()
    delete_topics(site, [site.settings.topic(GAME_FINISHED)])

    assert worker.wait() == REFUSED
    assert "the log of this deployment is gone" in last_line(worker)


def test_a_log_that_was_made_again_is_said_to_be_that_at_the_next_start(
    site: Site, start_worker: StartWorker
) -> None:
    site.produce(events(400))
    worker = start_worker(site)
    worker.wait_for(OWNER, 4)
    site.wait_until_done()
    worker.stop()
    make_again(site, [site.settings.input_topic])
    site.produce(events(20))
    refused = start_worker(site)

    assert refused.wait() == REFUSED
    assert "the topic was deleted and made again" in last_line(refused)


def test_a_broker_that_does_not_come_back_ends_the_worker(tmp_path: Path, start_worker: StartWorker) -> None:
    with EmbeddedBroker(tmp_path / "broker") as broker:
        site = Site(broker.bootstrap_servers, tmp_path, "site")
        worker = start_worker(site)
        worker.wait_for(OWNER, 4)
        broker.kill()

        assert worker.wait() == EXIT_FAILED
        assert "has not answered for" in last_line(worker)
