"""One real broker for all tests that need one, and deployments and workers that end with their test."""

import os
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
from streams.runtime.clock import CLOCK_FILE

pytest_plugins = ["streams.testing.plugin"]

_numbers = count(1)
# Behind the games of all tests with a broker, so that none is of the future.
_TODAY = "2026-12-08T12:00:00Z"

# The same examples on every machine and in every run; how long one takes depends on the neighbours.
settings.register_profile(
    "ladderlog", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ladderlog")

# A shell without job control lets all that it starts in the background ignore interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _today(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let this process and those it starts take it for one day, unless the suite was started with a clock."""
    with pytest.MonkeyPatch.context() as patch:
        if CLOCK_FILE not in os.environ:
            file = tmp_path_factory.mktemp("today") / "clock"
            file.write_text(_TODAY, encoding="ascii")
            patch.setenv(CLOCK_FILE, str(file))
        yield


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    """Give the broker of this test session."""
    with EmbeddedBroker() as started:
        yield started


@pytest.fixture(scope="session")
def ladderlog_broker(broker: EmbeddedBroker) -> str:
    """Give the same broker to the fixtures of the testing kit."""
    return broker.bootstrap_servers


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
