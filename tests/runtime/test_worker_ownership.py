"""What a worker holds while partitions come and go, and when it refuses to run."""

import re
import signal
from collections.abc import Callable

import pytest
from season import chunks, events, season
from sites import Site
from workers import ENDED, OWNER, REFUSED, Worker

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]


def owned(worker: Worker, after: int = 0) -> dict[int, str]:
    """Give what the log says of the rows of each partition owned, from a number of such lines on."""
    lines = [re.search(r"partition (\d+): owner .* (kept|loaded)", line) for line in worker.found(OWNER)]
    return {int(line[1]): line[2] for line in lines[after:] if line is not None}


def test_two_workers_share_the_partitions_and_leave_no_files(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(500))
    workers = [start_worker(site), start_worker(site)]
    for worker in workers:
        worker.wait_for(OWNER, 2)
    site.wait_until_done()

    assert [worker.stop() for worker in workers] == [ENDED, ENDED]
    assert [list(worker.home.rglob("*")) for worker in workers] == [[], []]
    assert site.differences() == []


def test_rows_are_kept_over_a_rebalance_and_loaded_when_a_partition_was_away(
    site: Site, start_worker: StartWorker
) -> None:
    pieces = chunks(season(), 500)
    site.produce(next(pieces))
    first = start_worker(site)
    site.wait_until_done()
    second = start_worker(site)
    second.wait_for(OWNER, 2)
    first.wait_for(OWNER, 6)
    shared = owned(first, after=4)
    site.produce(next(pieces))
    site.wait_until_done()
    second.stop()
    first.wait_for(OWNER, 10)
    site.produce(next(pieces))
    site.wait_until_done()

    assert list(shared.values()) == ["kept", "kept"]
    assert owned(first, after=6) == {
        partition: "kept" if partition in shared else "loaded" for partition in range(4)
    }
    assert site.differences() == []


def test_rows_are_loaded_again_when_another_worker_has_written(site: Site, start_worker: StartWorker) -> None:
    pieces = chunks(season(), 500)
    site.produce(next(pieces))
    # It may be quick enough to begin a transaction before it hears that it has been replaced. Then it is
    # fenced, leaves at once, and its service manager brings it back.
    stopped = start_worker(site, restarted=True)
    site.wait_until_done()
    stopped.signal(signal.SIGSTOP)
    site.forget_members()
    other = start_worker(site)
    other.wait_for(OWNER, 4)
    site.produce(next(pieces))
    site.wait_until_done()
    stopped.signal(signal.SIGCONT)
    stopped.wait_for(OWNER, 6)
    site.produce(next(pieces))
    site.wait_until_done()

    assert set(owned(stopped, after=4).values()) == {"loaded"}
    assert site.differences() == []


def test_a_worker_refuses_an_offset_that_somebody_moved(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(500))
    first = start_worker(site)
    site.wait_until_done()
    first.stop()
    offsets = site.committed()
    site.commit({2: offsets[2] - 5})
    refused = start_worker(site)

    assert refused.wait() == REFUSED

    message = refused.found("refused to run")[-1]

    assert f"the rows are those of offset {offsets[2]}" in message
    assert f"has committed offset {offsets[2] - 5}" in message
    assert "`ladderlog restore`" in message

    # A process that refuses does not say goodbye, and the broker lets no tool move the offsets meanwhile.
    site.forget_members()
    site.commit(offsets)
    site.produce(events(1_000)[500:])
    start_worker(site)
    site.wait_until_done()

    assert site.differences() == []
