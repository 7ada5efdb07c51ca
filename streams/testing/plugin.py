"""Fixtures for pytest: a real Kafka, and a deployment on it for each test.

Put `pytest_plugins = ["streams.testing.plugin"]` into the conftest.py of your tests.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from streams.embedded.broker import EmbeddedBroker
from streams.embedded.errors import BrokerError
from streams.testing.deployment import Deployment
from streams.testing.driver import CLUB_LADDERS

# Not LADDERLOG_BOOTSTRAP_SERVERS: that may be the broker of a site.
BOOTSTRAP_SERVERS = "LADDERLOG_TEST_BOOTSTRAP_SERVERS"
# What the topics of tests on another broker begin with, for who has to clear up behind a run that was killed.
TEST_PREFIX = "ladderlog-test-"


@pytest.fixture(scope="session")
def ladderlog_broker() -> Iterator[str]:
    """Yield the address of a Kafka: the one in LADDERLOG_TEST_BOOTSTRAP_SERVERS, else an embedded one.

    The embedded one needs `pip install 'ladderlog[broker]'`. It ends with this process, however that ends,
    and leaves nothing behind. Under pytest-xdist each process has its own.
    """
    given = os.environ.get(BOOTSTRAP_SERVERS)
    if given:
        yield given
        return
    broker = EmbeddedBroker()
    try:
        broker.start()
    except BrokerError as error:
        pytest.fail(f"{error} In tests, that variable is {BOOTSTRAP_SERVERS}.", pytrace=False)
    try:
        yield broker.bootstrap_servers
    finally:
        broker.stop()


@pytest.fixture
def ladderlog_ladders() -> Path | str:
    """Return the ladder file of the deployment, its path or its text; define your own for other ladders."""
    return CLUB_LADDERS


@pytest.fixture
def ladderlog(ladderlog_broker: str, ladderlog_ladders: Path | str, tmp_path: Path) -> Iterator[Deployment]:
    """Yield a deployment that nobody else uses; its topics are deleted behind the test."""
    ladders = ladderlog_ladders
    if isinstance(ladders, str):
        ladders = tmp_path / "ladders.toml"
        ladders.write_text(str(ladderlog_ladders), encoding="utf-8")
    deployment = Deployment(ladderlog_broker, ladders, f"{TEST_PREFIX}{uuid4().hex}")
    try:
        yield deployment
    finally:
        deployment.remove()
