"""One real broker for all tests that need one, and deployments and workers that end with their test."""

import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sites import Site
from workers import Worker

from streams.embedded.broker import EmbeddedBroker

_numbers = count(1)

# The same examples on every machine and in every run; how long one takes depends on the neighbours.
settings.register_profile(
    "ladderlog", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ladderlog")


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    """Give the broker of this test session."""
    with EmbeddedBroker() as started:
        yield started


@pytest.fixture
def site(broker: EmbeddedBroker, tmp_path: Path) -> Site:
    """Give a deployment that nobody else uses."""
    return Site(broker.bootstrap_servers, tmp_path, f"site-{next(_numbers)}")


@pytest.fixture
def start_worker() -> Iterator[Callable[..., Worker]]:
    """Give a function that starts workers, which end with the test at the latest."""
    workers: list[Worker] = []

    def start(site: Site, name: str | None = None, **options: Any) -> Worker:
        workers.append(Worker(site, name or f"worker-{len(workers)}", **options))
        return workers[-1]

    yield start
    for worker in workers:
        worker.signal(signal.SIGCONT)
        worker.kill()
