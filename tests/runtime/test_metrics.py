"""What a worker shows of itself is what it did, and whoever asks sees when it does not do its work."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from project import PROJECT
from scraping import Port, by_label
from season import events
from sites import Site
from workers import OWNER, Worker

from streams.core.events import COMPETITION_CLOSED, GAME_IGNORED, GAME_REJECTED, RATING_CHANGED
from streams.embedded.broker import EmbeddedBroker
from streams.embedded.configuration import HOST
from streams.runtime.assignment import Assignment
from streams.runtime.backlog import BacklogProbe
from streams.runtime.clock import SystemClock
from streams.runtime.exit_statuses import EXIT_FAILED
from streams.runtime.fencings import Fencings
from streams.runtime.health import STANDING_AFTER, UNANSWERED_AFTER, Health
from streams.runtime.metrics import FENCINGS
from streams.runtime.partition import Partition
from streams.runtime.reader import reading
from streams.runtime.topic_watch import UNREACHABLE_AFTER
from streams.runtime.watchdog import STUCK_AFTER

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
GAMES = 1_500
# Longer than anybody waits for an answer; the worker under it is stopped.
SOON = 2.0
# A worker whose fetches get lost.
DEAF = (
    "from streams.runtime.assignment import Assignment; Assignment.deliver = lambda *_: None; "
    "from streams.cli.main import main; main()"
)


def test_metrics_count_what_became_of_records(site: Site, start_worker: StartWorker) -> None:
    port = Port.free()
    start_worker(site, options=port.options)
    site.produce([*events(GAMES), *events(10)])
    site.produce_records([{"value": b"no event"}, {"value": b"{}"}, {"value": orjson.dumps(events(1)[0])}])
    site.wait_until_done()

    scraped = port.scrape()

    counts = Counter[str]()
    for mark in site.watermarks().values():
        counts.update({name: count for name, count in mark.counts.items() if count and name != "read"})
    assert by_label(scraped, "ladderlog_records_total", "outcome") == counts
    changes = Counter(orjson.loads(record.value)["system"] for record in site.read_output(RATING_CHANGED))
    assert by_label(scraped, "ladderlog_changes_published_total", "system") == changes
    reasons = Counter(reason_of(record) for record in site.read_output(GAME_REJECTED))
    reasons.update(
        orjson.loads(record.value)["reasons"][0]["reason"]
        for record in site.read_output(GAME_IGNORED)
        if not rated_somewhere(record.value)
    )
    shown = by_label(scraped, "ladderlog_records_total", "reason")
    assert {reason: shown[reason] for reason in ("schema", "not-json", "duplicate")} == {
        reason: reasons[reason] for reason in ("schema", "not-json", "duplicate")
    }
    closings = Counter(
        str(closed["final"]).lower()
        for record in site.read_output(COMPETITION_CLOSED)
        if (closed := orjson.loads(record.value))["final"] or closed["revision"] == 1
    )
    assert by_label(scraped, "ladderlog_week_closings_total", "final") == closings
    assert by_label(scraped, "ladderlog_partition_ready", "partition") == {str(n): 1 for n in range(4)}
    assert by_label(scraped, "ladderlog_lag_records", "partition") == {}
    assert scraped["ladderlog_transaction_games_sum", frozenset()] == counts.total()


def reason_of(record: object) -> str:
    headers = dict(record.headers)  # type: ignore[attr-defined]
    return headers["__ladderlog.errors.reason"].decode()


def rated_somewhere(value: bytes) -> bool:
    """Say whether a game was left out by some systems alone: then the record was rated."""
    return orjson.loads(value)["reasons"][0]["reason"] != "duplicate"


def test_a_worker_that_is_stopped_does_not_answer(site: Site, start_worker: StartWorker) -> None:
    port = Port.free()
    worker = start_worker(site, options=port.options)
    port.wait_until_ready()

    worker.signal(signal.SIGSTOP)

    for path in ("/livez", "/readyz", "/metrics"):
        with pytest.raises(OSError, match="timed out"):
            port.text(path, timeout=SOON)


def test_a_worker_that_was_fenced_ends_and_is_counted_when_it_is_back(
    site: Site, start_worker: StartWorker
) -> None:
    port = Port.free()
    worker = start_worker(site, options=port.options, restarted=True)
    port.wait_until_ready()

    asyncio.run(take_over(site))
    site.produce(events(100))
    site.wait_until_done()
    worker.wait_for(OWNER, times=2 * site.settings.partitions)
    port.wait_until_ready()

    assert worker.statuses == [EXIT_FAILED]
    assert port.scrape()["ladderlog_fencings_total", frozenset()] == 1
    assert site.differences() == []


def test_the_count_of_fencings_lies_where_systemd_keeps_the_state_of_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    before = FENCINGS._value.get()  # noqa: SLF001 - prometheus-client has no public way to a value

    Fencings("site", 9461).note()
    again = Fencings("site", 9461)
    again.restore()
    again.note()

    assert [file.name for file in tmp_path.iterdir()] == ["fencings-site-9461"]
    assert (tmp_path / "fencings-site-9461").read_text() == "2"
    assert FENCINGS._value.get() - before == 3  # noqa: SLF001 - one noted, one restored, one noted


async def take_over(site: Site) -> None:
    """Do what another owner of all partitions does first."""
    for number in range(site.settings.partitions):
        partition = Partition(site.settings, site.rules, number)
        await partition.open()
        await partition.close()


def test_a_worker_cut_off_from_its_broker_is_not_ready(
    site: Site, start_worker: StartWorker, broker: EmbeddedBroker
) -> None:
    port = Port.free()
    start_worker(site, options=port.options)
    port.wait_until_ready()

    broker.signal(signal.SIGSTOP)
    try:
        port.wait_until_not_ready("the broker has not answered for")
        alive, _ = port.text("/livez")
    finally:
        broker.signal(signal.SIGCONT)

    assert alive == 200
    port.wait_until_ready()


def test_a_partition_that_stands_still_before_records_is_not_ready(site: Site) -> None:
    site.produce(events(50))

    at_once, late = asyncio.run(health_of_standing(site, [0.0, STANDING_AFTER + 1]))

    assert at_once == []
    assert [reason.partition(" for ")[0] for reason in late] == [
        f"partition {number} has stood at offset 0"
        for number, records in site.read(site.settings.input_topic).items()
        if records
    ]


async def health_of_standing(site: Site, moments: list[float]) -> list[list[str]]:
    """Look at partitions that are loaded and do not move, twice, and give why they are not ready then."""
    async with reading(site.settings.connection) as reader:
        backlog = BacklogProbe(reader, site.settings.connection, SystemClock())
        partitions = [
            Partition(site.settings, site.rules, number) for number in range(site.settings.partitions)
        ]
        for partition in partitions:
            partition.is_open = True
        assignment = Owning(partitions)
        health = Health(assignment, backlog, max_lag=1e12)
        await backlog.look(partitions, moments[0])
        judged = []
        for moment in moments:
            await backlog.look(partitions, moment)
            judged.append(health.reasons(moment))
        return judged


class Owning(Assignment):
    """Owns partitions, of which nobody takes care."""

    def __init__(self, partitions: list[Partition]) -> None:
        self.has_joined = True
        self._owned = partitions

    @property
    def partitions(self) -> list[Partition]:
        """Those partitions."""
        return self._owned


@pytest.mark.soak
def test_a_worker_whose_fetches_get_lost_says_so_and_ends(site: Site, start_worker: StartWorker) -> None:
    port = Port.free()
    worker = start_worker(site, options=port.options, program=("-c", DEAF))
    port.wait_until_ready()

    site.produce(events(50))
    port.wait_until_not_ready("has stood at offset 0")

    assert worker.wait() == EXIT_FAILED
    assert worker.found("is stuck at offset 0")


def test_who_is_far_behind_is_not_ready(site: Site, start_worker: StartWorker) -> None:
    port = Port.free()
    timestamp = 1_700_000_000_000
    site.produce_records([{"value": b"{}", "partition": 0, "timestamp_ms": timestamp} for _ in range(3)])
    start_worker(site, options=(*port.options, "--http-ready-lag", "60"), program=("-c", DEAF))

    port.wait_until_not_ready("s behind (3 records), more than http.ready.lag = 60")


def test_a_port_that_is_taken_is_named(site: Site) -> None:
    port = Port.free()
    with socket.create_server((HOST, port.number)):
        run = subprocess.run(
            [sys.executable, "-m", "streams", "worker", *port.options],
            env={"PYTHONPATH": str(PROJECT), "LADDERLOG_BOOTSTRAP_SERVERS": site.settings.bootstrap_servers},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run.returncode == 2
    assert f"http.port: cannot listen on port {port.number} of {HOST}: Address already in use" in run.stderr


def test_patience_with_the_broker_is_shorter_than_until_the_process_ends() -> None:
    assert UNANSWERED_AFTER < UNREACHABLE_AFTER
    assert STANDING_AFTER < STUCK_AFTER
