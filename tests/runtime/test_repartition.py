"""More partitions: who notices, and the move of a log to new topics, where the ratings are the same."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from click.testing import CliRunner, Result
from foreign import by_confluent, game_id
from owners import work
from season import events
from sites import PATIENCE, NoBar, Site
from test_foreign_producers import changes, expected
from test_foreign_producers import games as played
from test_rebuild import command
from workers import OWNER, REFUSED, Worker

from streams.cli.main import cli
from streams.core.ladders import Ladders
from streams.runtime.homes import FORWARDED_HEADER, Homes
from streams.runtime.partition import Partition, RefusedError
from streams.runtime.rebuild import rebuild_partition
from streams.runtime.repartition import RepartitionError, RepartitionReport, repartition
from streams.runtime.settings import Settings
from streams.runtime.status import read_fold
from streams.runtime.topics import ensure_topics, partition_counts
from streams.wire.encode import ERROR_HEADER

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
MORE = 6
GAMES = 400


def add_partitions(site: Site) -> None:
    """Give the input topic more partitions, as an operator's tool does."""

    async def add() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=site.settings.bootstrap_servers)
        await admin.start()
        try:
            await admin.create_partitions({site.settings.input_topic: NewPartitions(MORE)})
        finally:
            await admin.close()

    asyncio.run(add())


def invoked(site: Site, *arguments: str) -> Result:
    """Run a command on a deployment."""
    environment = {
        "LADDERLOG_BOOTSTRAP_SERVERS": site.settings.bootstrap_servers,
        "LADDERLOG_LADDERS": str(site.ladder_file),
        "LADDERLOG_APP_ID": site.settings.app_id,
        "LADDERLOG_TOPIC_PREFIX": site.settings.topic_prefix,
    }
    return CliRunner().invoke(cli, arguments, env=environment)


def keyless(number: int) -> list[dict[str, Any]]:
    """Give the games of a season that other clients send; they send no other events."""
    return [event for event in events(number) if event.get("type", "game-finished") == "game-finished"]


def moved(site: Site, name: str, partitions: int = 8) -> Settings:
    """Give the settings of the deployment that a log is moved to."""
    prefix = f"{site.settings.topic_prefix}{name}."
    return replace(
        site.settings, app_id=f"{site.settings.app_id}-{name}", topic_prefix=prefix, partitions=partitions
    )


def copied(site: Site, new: Settings) -> RepartitionReport:
    return asyncio.run(repartition(site.settings, new, lambda _: None))


class Moved(Site):
    """A deployment on a log that was copied."""

    def __init__(self, site: Site, new: Settings) -> None:
        self.folder = site.folder
        self.settings = new
        self.ladder_file = site.ladder_file
        self.rules = site.rules
        self.clock_file = site.clock_file


def ratings(site: Site) -> dict[tuple[str, str], list[tuple[str, float, int]]]:
    """Give every rating of a deployment, by ladder and system."""
    fold = asyncio.run(read_fold(site.settings, lambda: Ladders(site.rules)))
    return {
        (name, system): sorted(fold.ratings(name, system))
        for name, rules in site.rules.items()
        for system in rules.systems
    }


def test_a_worker_leaves_when_its_topic_gets_more_partitions(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(100))
    worker = start_worker(site, restarted=True)
    worker.wait_for(OWNER, 4)
    site.wait_until_done()
    add_partitions(site)

    assert worker.wait() == REFUSED

    said = worker.found("has 6 partitions")

    assert "began with 4" in said[-1]
    assert "ladderlog repartition --to-prefix v2. --partitions 6" in said[-1]


@pytest.mark.parametrize(
    "asked",
    [
        ("status",),
        ("produce", "-"),
        ("audit",),
        ("ranking", "--ladder", "go"),
        ("week", "--ladder", "go"),
        ("preview", "--ladder", "go", "--players", "ann,bob"),
        ("void", "--ladder", "go", "--game-id", "1", "--reason", "cheat"),
        ("rebuild", "--dry-run"),
        ("replay",),
        ("snapshot", "--out", "snapshot.jsonl"),
        ("compare", "--with", "other.toml"),
        ("worker",),
        ("topics",),
        ("simulate", "--games", "1"),
    ],
    ids=lambda asked: asked[0],
)
def test_every_command_says_that_there_are_more_partitions(grown: Site, asked: tuple[str, ...]) -> None:
    other = grown.folder / "other.toml"
    other.write_text(grown.ladder_file.read_text())
    to = [f"--bootstrap-servers={grown.settings.bootstrap_servers}"] if asked[0] == "simulate" else []
    arguments = [str(other) if argument == "other.toml" else argument for argument in asked]

    result = invoked(grown, *arguments, *to)

    assert result.exit_code == REFUSED
    assert "has 6 partitions" in result.output
    assert "ladderlog repartition" in result.output


@pytest.fixture(scope="module")
def grown(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give a deployment whose input has got more partitions."""
    site = Site(broker.bootstrap_servers, tmp_path_factory.mktemp("grown"), "grown")
    site.produce(events(50))
    work(site)
    add_partitions(site)
    return site


def test_no_partition_is_taken_over_when_there_are_more_than_there_were(grown: Site) -> None:
    async def take_over() -> None:
        partition = Partition(grown.settings, lambda: Ladders(grown.rules), 0)
        with pytest.raises(RefusedError, match="has 6 partitions"):
            await partition.open()
        await partition.close()

    asyncio.run(take_over())


def test_a_deployment_on_the_copied_log_has_equal_ratings(site: Site) -> None:
    servers, topic = site.settings.bootstrap_servers, site.settings.input_topic
    by_confluent(servers, topic, keyless(GAMES), key_of=game_id)
    site.produce([*events(GAMES + 200)[GAMES:], *voids(3)])
    value, copy = orjson.dumps({"ladder": "belote"}), [(FORWARDED_HEADER, b"elsewhere/0/0")]
    tiles = orjson.dumps({**played("misplaced")[1], "ladder": "tiles"})
    site.produce_records(
        [
            {"value": value, "key": b"belote", "partition": 3},
            {"value": tiles, "headers": copy, "partition": 2},
        ]
    )
    work(site)
    rebuild(site)
    new = Moved(site, moved(site, "v2"))

    report = copied(site, new.settings)
    again = copied(site, new.settings)
    work(new)
    rebuild(new)

    assert ratings(new) == ratings(site)
    assert reasons(new) == reasons(site)
    assert report.invalid == reasons(site)["schema"] + reasons(site)["misplaced"] == 2
    assert report.markers == 1
    assert report.behind == again.behind == []
    assert (again.copied, again.forwarded) == (0, 0)
    assert new.differences() == []
    assert site.differences() == []


def voids(number: int) -> list[dict[str, Any]]:
    """Take the first games of a ladder back."""
    taken_back = [event for event in keyless(GAMES) if event["ladder"] == "rummy"][:number]
    return [
        {"type": "game-voided", "ladder": "rummy", "game_id": event["game_id"], "reason": "test"}
        for event in taken_back
    ]


def rebuild(site: Site) -> None:
    for number in range(site.settings.partitions):
        asyncio.run(rebuild_partition(site.settings, site.rules, number, NoBar(), dry_run=False))


def reasons(site: Site) -> Counter[str]:
    """Count the rejected records, by reason."""
    name = f"{ERROR_HEADER}reason"
    return Counter(dict(record.headers)[name].decode() for record in site.read_output("game-rejected"))


def test_records_are_copied_as_they_are(site: Site) -> None:
    servers, topic = site.settings.bootstrap_servers, site.settings.input_topic
    by_confluent(servers, topic, played("any"), key_of=game_id)
    work(site)
    new = moved(site, "v2")
    report = copied(site, new)
    at_home = [
        (record.key, record.value, record.headers, record.timestamp)
        for number, records in site.read(topic).items()
        for record in records
        if Homes(4).of(orjson.loads(record.value)["ladder"]) == number
    ]
    there = site.read(new.input_topic)

    assert len(at_home) == len(played("any")) == report.copied
    assert Counter(map(str, at_home)) == Counter(
        str((record.key, record.value, record.headers, record.timestamp))
        for records in there.values()
        for record in records
    )
    assert {
        (number, Homes(8).of(orjson.loads(record.value)["ladder"]))
        for number, records in there.items()
        for record in records
    } <= {(number, number) for number in range(8)}


@pytest.mark.soak
def test_what_lies_in_the_new_partitions_of_a_topic_that_grew_is_moved_too(site: Site) -> None:
    servers, topic = site.settings.bootstrap_servers, site.settings.input_topic
    by_confluent(servers, topic, played("before"), key_of=game_id)
    work(site)
    add_partitions(site)
    by_confluent(servers, topic, played("after"), key_of=game_id)
    new = Moved(site, moved(site, "v2", MORE))

    copied(site, new.settings)
    again = copied(site, new.settings)
    work(new)

    assert changes(new) == expected([*played("before"), *played("after")])
    assert again.copied == 0
    assert new.differences() == []


@pytest.mark.soak
def test_a_deployment_that_is_behind_has_more_to_forward(site: Site) -> None:
    servers, topic = site.settings.bootstrap_servers, site.settings.input_topic
    by_confluent(servers, topic, played("any"), key_of=game_id)
    new = Moved(site, moved(site, "v2"))

    early = invoked(site, "repartition", "--to-prefix", new.settings.topic_prefix, "--partitions", "8")
    work(site)
    late = invoked(site, "repartition", "--to-prefix", new.settings.topic_prefix, "--partitions", "8")
    asyncio.run(ensure_topics(new.settings))
    work(new)

    assert (early.exit_code, late.exit_code) == (1, 0)
    assert "the old deployment is behind in partitions 0, 1, 2, 3" in early.output
    assert changes(new) == expected(played("any"))
    assert new.differences() == []


def test_a_copy_that_follows_is_killed_and_goes_on(site: Site, start_worker: StartWorker) -> None:
    start_worker(site)
    new = Moved(site, moved(site, "v2"))
    asked = ("repartition", "--to-prefix", new.settings.topic_prefix, "--partitions", "8", "--follow")
    servers, topic = site.settings.bootstrap_servers, site.settings.input_topic
    by_confluent(servers, topic, played("first"), key_of=game_id)
    killed = command(site, *asked)
    wait_for_records(new, 1)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    following = command(site, *asked)
    by_confluent(servers, topic, played("second"), key_of=game_id)
    wait_for_records(new, len(played("first")) + len(played("second")))
    following.send_signal(signal.SIGTERM)
    output, _ = following.communicate(timeout=PATIENCE)
    asyncio.run(ensure_topics(new.settings))
    work(new)

    assert following.returncode == 0, output
    assert changes(new) == expected([*played("first"), *played("second")])
    assert sum(map(len, site.read(new.settings.input_topic).values())) == 2 * len(played("first"))
    assert new.differences() == []


def wait_for_records(new: Site, count: int) -> None:
    """Wait until so many records were copied."""
    deadline = time.monotonic() + PATIENCE
    while (there := records_in(new)) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{there} records were copied, not {count}")
        time.sleep(0.1)


def records_in(new: Site) -> int:
    """Count the records of a log that may not be there yet."""
    counts = asyncio.run(partition_counts(new.settings.connection, [new.settings.input_topic]))
    return sum(map(len, new.read(new.settings.input_topic).values())) if counts else 0


def test_a_log_that_somebody_else_has_written_is_not_copied_into(site: Site) -> None:
    site.produce(events(20))
    work(site)
    new = Moved(site, moved(site, "v2"))
    asyncio.run(ensure_topics(new.settings))
    new.produce(events(1))

    with pytest.raises(RepartitionError, match="is not empty, and nothing was copied to it before"):
        copied(site, new.settings)


def test_a_log_that_is_not_there_is_named(site: Site) -> None:
    nowhere = replace(site.settings, topic_prefix="nowhere.")

    with pytest.raises(RepartitionError, match=r"topic nowhere\.game-finished is missing"):
        asyncio.run(repartition(nowhere, moved(site, "v2"), lambda _: None))
