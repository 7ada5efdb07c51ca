"""A deployment begun with some rules goes on with these, whatever it is started with or asked by."""

import asyncio
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from owners import beside, work, writing
from project import PROJECT
from season import LADDER_FILE, events
from sites import Site
from workers import ENDED, OWNER, REFUSED, Worker

from streams.core.events import RATING_CHANGED
from streams.core.rules import parse_ladders
from streams.runtime.changelog import read_states
from streams.runtime.clock import CLOCK_FILE
from streams.runtime.refusals import RefusedError
from streams.runtime.settings import LADDERS, Settings
from streams.runtime.start import check_outputs
from streams.runtime.topics import ensure_topics

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
Done = subprocess.CompletedProcess[str]

OTHER_STAKE = LADDER_FILE + "\n[ladders.rummy.fundox]\nstake = 32\n"
NEW_LADDER = LADDER_FILE + '\n[ladders.chess]\nsystems = ["fundox"]\n'


def use(site: Site, ladders: str) -> None:
    """Give the deployment's workers another ladder file."""
    site.ladder_file.write_text(ladders)
    site.rules = parse_ladders(tomllib.loads(ladders))


def command(settings: Settings, *arguments: str) -> Done:
    """Run a command on a deployment, without a word about its ladders or partitions."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("LADDERLOG_")}
    return subprocess.run(
        [sys.executable, "-m", "streams", *arguments],
        env={
            **environment,
            "PYTHONPATH": str(PROJECT),
            "LADDERLOG_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
            "LADDERLOG_APP_ID": settings.app_id,
            "LADDERLOG_TOPIC_PREFIX": settings.topic_prefix,
            CLOCK_FILE: os.environ[CLOCK_FILE],
        },
        text=True,
        capture_output=True,
        check=False,
    )


def test_every_partition_has_a_manifest_from_the_start_on(site: Site, start_worker: StartWorker) -> None:
    worker = start_worker(site)
    worker.wait_for(OWNER, 4)
    worker.stop()

    manifests = [state.manifest for state in asyncio.run(read_states(site.settings))]

    assert [manifest and manifest.rules() for manifest in manifests] == [site.rules] * 4
    assert [manifest and manifest.partitions for manifest in manifests] == [4] * 4


def test_a_changed_stake_is_refused_by_name(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(500))
    work(site)
    use(site, OTHER_STAKE)
    refused = start_worker(site)

    assert refused.wait() == REFUSED
    assert "ladders.rummy.fundox.stake: 16, now 32" in refused.log
    assert "another --app-id and --output-prefix" in refused.log

    use(site, LADDER_FILE)

    assert site.differences() == []


def test_a_ladder_taken_away_is_refused_when_it_has_rows(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(500))
    work(site)
    use(site, LADDER_FILE.partition("[ladders.belote]")[0])
    refused = start_worker(site)

    assert refused.wait() == REFUSED
    assert "was there, now is not" in refused.log


def test_a_new_ladder_and_a_change_to_one_without_rows_are_taken_in(
    site: Site, start_worker: StartWorker
) -> None:
    site.produce([event for event in events(400) if event["ladder"] == "go"])
    work(site)
    use(site, NEW_LADDER.replace('systems = ["weekly"]', 'systems = ["bga"]'))
    game = {**events(1)[0], "ladder": "chess", "game_id": "chess-1"}
    worker = start_worker(site)
    site.produce([game])
    site.wait_until_done()

    assert worker.stop() == ENDED
    assert site.differences() == []
    assert "chess, fundox" in command(site.settings, "ranking", "--ladder", "chess").stdout
    assert "chess, fundox" not in command(site.settings, "ranking", "--ladder", "belote").stdout


def test_what_was_rejected_before_a_ladder_was_taken_in_stays_rejected(
    site: Site, start_worker: StartWorker
) -> None:
    def game(number: int) -> dict[str, object]:
        return {**events(1)[0], "ladder": "chess", "game_id": f"chess-{number}"}

    void = {"type": "game-voided", "ladder": "chess", "game_id": "chess-2", "reason": "test"}
    site.produce([*events(200), game(1), {**void, "game_id": "chess-1"}])
    work(site)
    use(site, NEW_LADDER)
    worker = start_worker(site)
    site.produce([game(1), game(2), game(3), void])
    site.wait_until_done()
    rebuilt = command(site.settings, "rebuild")
    worker.wait()
    audited = command(site.settings, "audit")
    restored = command(site.settings, "restore", "--dry-run")

    assert rebuilt.returncode == 0, rebuilt.stdout + rebuilt.stderr
    assert "corrections pending: 1 on chess" in rebuilt.stdout
    assert audited.stdout.endswith("no differences\n")
    assert restored.stdout.count("nothing to restore") == 4


@pytest.mark.parametrize("option", ["--partitions=5", "--partitions=3"])
def test_a_start_with_other_partitions_is_refused_by_name(site: Site, option: str) -> None:
    site.produce(events(50))
    work(site)
    done = command(site.settings, "worker", f"--ladders={site.ladder_file}", option)

    assert done.returncode == REFUSED
    assert f"partitions: 4, now {option[-1]}" in done.stderr


def test_rows_without_a_manifest_are_refused_until_they_are_restored(site: Site) -> None:
    site.produce(events(50))
    work(site)
    site.produce_records(
        [{"key": b"manifest", "value": None, "partition": number} for number in range(4)],
        topic=site.settings.changelog_topic,
    )
    done = command(site.settings, "worker", f"--ladders={site.ladder_file}")

    assert done.returncode == REFUSED
    assert "`ladderlog restore`" in done.stdout + done.stderr


def test_commands_take_rules_and_partitions_from_the_deployment(site: Site) -> None:
    settings = replace(site.settings, app_id=f"{site.settings.app_id}-six", topic_prefix="six.", partitions=6)
    asyncio.run(ensure_topics(settings))
    site.settings = settings
    site.produce(events(600))
    work(site)
    answers = {
        name: command(settings, *line.split())
        for name, line in {
            "ranking": "ranking --ladder tiles --system bga --top 3",
            "status": "status",
            "rebuild": "rebuild --dry-run",
            "week": "week --ladder go --week 2024-W01 --top 2",
            "preview": "preview --ladder tiles --players ann,bob",
            "audit": "audit",
            "snapshot": f"snapshot --out {site.folder}/six.jsonl",
            "other partitions": "status --partitions 4",
            "other rules": f"audit --ladders {other_rules(site)}",
        }.items()
    }
    said = {name: done.stdout for name, done in answers.items()}

    assert {name: done.returncode for name, done in answers.items()} == dict.fromkeys(answers, 0), said
    assert said["ranking"].count("games") == 3
    assert said["status"].count("partition ") == said["other partitions"].count("partition ") == 6
    assert "changes" not in said["rebuild"]
    assert said["audit"].endswith("no differences\n")
    assert "--partitions 4 is not this deployment's number; it has 6" in answers["other partitions"].stderr
    assert "ladders.rummy.fundox.stake: 16, now 32" in answers["other rules"].stderr
    assert said["other rules"] == said["audit"]


def other_rules(site: Site) -> str:
    path = site.folder / "other.toml"
    path.write_text(OTHER_STAKE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("status --topic-prefix wrong.", "--app-id {app} --topic-prefix {app}."),
        ("ranking --ladder go --app-id wrong", "--app-id {app} --topic-prefix {app}."),
        ("ranking --ladder chess", "there are rummy, tiles, belote, go"),
        ("ranking --ladder go --system fundox", "there are weekly, bga"),
        ("week --ladder chess", "there are rummy, tiles, belote, go"),
        ("void --ladder chess --game-id 1 --reason r", "there are rummy, tiles, belote, go"),
        ("preview --ladder chess --players ann,bob", "there are rummy, tiles, belote, go"),
        ("rebuild --partition 4", "there are 0, 1, 2, 3"),
        ("rebuild --app-id wrong", "`ladderlog topics`"),
        ("audit --app-id wrong", "`ladderlog topics`"),
        ("snapshot --out x --topic-prefix wrong.", "`ladderlog topics`"),
        ("replay --topic-prefix wrong.", "`ladderlog topics`"),
        ("produce --topic-prefix wrong. pyproject.toml", "`ladderlog topics`"),
        ("restore --app-id wrong", "`ladderlog topics`"),
        ("audit --output-prefix wrong.", "wrong.rating-changed, wrong.competition-closed"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(site: Site, line: str, named: str) -> None:
    site.produce(events(20))
    work(site)
    done = command(site.settings, *line.split())

    assert done.returncode == 2
    assert named.format(app=site.settings.app_id) in done.stderr


def test_a_second_deployment_does_not_publish_beside_the_first_unless_that_is_meant(
    site: Site, start_worker: StartWorker
) -> None:
    site.produce(events(300))
    work(site)
    second = beside(site, f"{site.settings.app_id}-second")
    asyncio.run(ensure_topics(second))
    before = len(site.read_output(RATING_CHANGED))
    done = command(second, "worker", f"--ladders={site.ladder_file}")

    assert done.returncode == REFUSED
    assert site.settings.source in done.stderr
    assert "--output-prefix" in done.stderr
    assert "--share-outputs" in done.stderr
    assert len(site.read_output(RATING_CHANGED)) == before

    apart = replace(second, output_prefix=f"{site.settings.topic_prefix}second.")
    asyncio.run(ensure_topics(apart))
    first = site.settings
    for settings, options in ((apart, ()), (second, ("--share-outputs",))):
        site.settings = settings
        worker = start_worker(site, options=options)
        worker.wait_for(OWNER, 4)
        assert worker.stop() == ENDED
    site.settings = first


def test_what_was_given_up_at_the_end_of_a_topic_hides_nothing(site: Site) -> None:
    site.produce(events(200))
    work(site)
    second = beside(site, f"{site.settings.app_id}-second")
    asyncio.run(ensure_topics(second))
    asyncio.run(give_up(site, records=250))

    asyncio.run(check_outputs(site.settings, shared=False))
    with pytest.raises(RefusedError, match="events of another deployment"):
        asyncio.run(check_outputs(second, shared=False))


async def give_up(site: Site, records: int) -> None:
    """Leave the records of transactions that were given up at the end of every partition."""
    for number in range(site.settings.partitions):
        async with writing(site, number) as writer:
            transaction = writer.new_transaction()
            transaction.append_rows(((f"player/go/{row}", [row]) for row in range(records)), 0)
            for _ in range(records):
                for name in LADDERS.outputs:
                    transaction.append_to((site.settings.topic(name), number), (b"", b"", []), 0)
            with suppress(GivenUpError):
                async with transaction.open():
                    await transaction.send()
                    raise GivenUpError


class GivenUpError(Exception):
    """The owner dies here."""


def test_only_the_topics_of_the_deployment_count(site: Site) -> None:
    """Two deployments whose prefixes begin alike are told apart."""
    longer = replace(site.settings, topic_prefix=f"{site.settings.topic_prefix}more.", app_id="longer")
    asyncio.run(ensure_topics(longer))
    done = command(site.settings, "status", "--app-id", "wrong")

    assert f"--app-id longer --topic-prefix {longer.topic_prefix}" in done.stderr
    assert {longer.topic(name) for name in LADDERS.outputs} & set(done.stderr.split()) == set()
