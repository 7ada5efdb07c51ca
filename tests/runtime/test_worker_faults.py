"""Workers that are killed, stopped, joined and left, and a broker that crashes: nothing lost, nothing twice.

Each test ends in the same comparison: rows, published events, offsets and counts in Kafka are those of the
pure fold of the input topic.
"""

import signal
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from season import START, chunks, events, season
from sites import Load, Site
from workers import OWNER, PATIENCE, Worker

from streams.embedded.broker import EmbeddedBroker

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
# Past the session timeout of 10 s, so that the group has given the partitions to others.
STOPPED = 11.0
# The first week of the season and its grace time are over; workers tell so, each week once.
NINTH_DAY = START + timedelta(days=8, hours=12)
FIRST_WEEK = [
    f"{ladder}/2024-W01/{end}".encode() for ladder in ("belote", "go") for end in ("final", "midnight")
]


def test_a_worker_killed_five_times_in_a_backlog(site: Site, start_worker: StartWorker) -> None:
    kill_in_a_backlog(site, start_worker, kills=5, games=1_500, forget=site.forget_members)

    assert sorted(site.weeks_ended()) == FIRST_WEEK  # each once
    assert site.differences() == []


@pytest.mark.soak
def test_a_worker_killed_ten_times_in_a_long_backlog(site: Site, start_worker: StartWorker) -> None:
    kill_in_a_backlog(site, start_worker, kills=10, games=5_000, forget=lambda: None)

    assert sorted(site.weeks_ended()) == FIRST_WEEK  # each once
    assert site.differences() == []


def kill_in_a_backlog(
    site: Site, start_worker: StartWorker, kills: int, games: int, forget: Callable[[], None]
) -> None:
    """Kill worker after worker right after its first transactions; each finds more games than the last."""
    random = Random(kills)
    site.set_clock(NINTH_DAY)
    pieces = chunks(season(closings=False), games)
    site.produce(next(pieces))
    for _ in range(kills):
        worker = start_worker(site)
        site.produce(next(pieces))
        site.wait_for_progress(interval=0.01)
        time.sleep(random.random() / 4)
        worker.kill()
        forget()
    start_worker(site)
    site.wait_until_done()
    site.wait_for_weeks(FIRST_WEEK)
    site.wait_until_done()


def test_two_workers_stopped_past_the_session_timeout(site: Site, start_worker: StartWorker) -> None:
    stop_and_continue(site, start_worker, rounds=1, rate=150)

    assert site.differences() == []


@pytest.mark.soak
def test_two_workers_stopped_again_and_again(site: Site, start_worker: StartWorker) -> None:
    stop_and_continue(site, start_worker, rounds=4, rate=300)

    assert site.differences() == []


def stop_and_continue(site: Site, start_worker: StartWorker, rounds: int, rate: int) -> None:
    """Stop each of two workers under load until the other one owns everything, and let it go on."""
    workers = [start_worker(site, restarted=True) for _ in range(2)]
    for worker in workers:
        worker.wait_for(OWNER, 2)
    with Load(site, season(), rate):
        for _ in range(rounds):
            for stopped, other in (workers, workers[::-1]):
                owned = len(other.found(OWNER))
                stopped.signal(signal.SIGSTOP)
                time.sleep(STOPPED)
                other.wait_for(OWNER, owned + 4)
                again = len(stopped.found(OWNER))
                stopped.signal(signal.SIGCONT)
                stopped.wait_for(OWNER, again + 1)
    site.wait_until_done()


def wait_for_an_owner(workers: Sequence[Worker]) -> None:
    """Wait until one of the workers owns a partition."""
    deadline = time.monotonic() + PATIENCE
    while not any(worker.found(OWNER) for worker in workers):
        if time.monotonic() > deadline:
            raise TimeoutError("\n".join(worker.log[-5_000:] for worker in workers))
        time.sleep(0.05)


def test_from_one_worker_to_three_and_back_under_load(site: Site, start_worker: StartWorker) -> None:
    first = start_worker(site, restarted=True)
    with Load(site, season(), rate=400):
        first.wait_for(OWNER, 4)
        others = [start_worker(site, restarted=True) for _ in range(2)]
        # Of four partitions Faust gives nobody more than two; when they join one after the other, the last
        # one may be left without any.
        for worker in others:
            worker.wait_for(f"{OWNER}|stands by")
        wait_for_an_owner(others)
        site.wait_for_progress(500)
        statuses = []
        for worker in others:
            statuses.append(worker.stop())
            site.wait_for_progress(200)
    site.wait_until_done()

    assert statuses == [0, 0]
    assert site.differences() == []


def test_a_broker_that_is_killed_and_starts_again_under_load(
    tmp_path: Path, start_worker: StartWorker
) -> None:
    with EmbeddedBroker(tmp_path / "broker") as broker:
        site = Site(broker.bootstrap_servers, tmp_path, "site")
        workers = [start_worker(site, restarted=True) for _ in range(2)]
        for worker in workers:
            worker.wait_for(OWNER, 2)
        with Load(site, season(), rate=400):
            site.wait_for_progress(500)
            broker.kill()
            time.sleep(2)
            broker.start()
            site.wait_for_progress(1_000)
        site.wait_until_done()

        assert site.differences() == []

        for worker in workers:
            worker.kill()


def test_a_worker_told_to_stop_in_a_backlog_leaves_the_group_at_once(
    site: Site, start_worker: StartWorker
) -> None:
    pieces = chunks(season(), 3_000)
    site.produce(next(pieces))
    leaving, staying = start_worker(site), start_worker(site)
    for worker in (leaving, staying):
        worker.wait_for(OWNER, 2)
    site.produce(next(pieces))
    site.wait_for_progress(interval=0.01)

    status = leaving.stop()
    members = site.members()
    site.wait_until_done()

    assert status == 0
    assert members == 1
    assert site.differences() == []


def test_a_worker_told_to_stop_while_it_starts_ends_in_order(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(1_000))
    worker = start_worker(site)
    deadline = time.monotonic() + PATIENCE
    while not site.members():
        assert time.monotonic() < deadline, worker.log
        time.sleep(0.02)

    assert worker.stop() == 0

    start_worker(site)
    site.wait_until_done()

    assert site.differences() == []
