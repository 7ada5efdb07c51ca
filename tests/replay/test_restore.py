"""`ladderlog restore`: whatever was lost or moved, rows and offsets are right again, and nothing is twice.

Each test ends in the comparison of everything in Kafka with the fold of the log.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from accidents import delete_group, empty, make_again
from click.testing import CliRunner, Result
from owners import work
from project import PROJECT
from replaying import delete, options, snapshot
from season import LADDER_FILE, events
from sites import NoBar, Site
from workers import OWNER, REFUSED, Worker

from streams.cli.restore import restore_command
from streams.core.events import GAME_IGNORED, RATING_CHANGED
from streams.runtime.changelog import read_states
from streams.runtime.rebuild import rebuild_partition
from streams.runtime.refusals import RefusedError
from streams.runtime.settings import LADDERS

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
Published = dict[str, list[tuple[bytes, bytes]]]
EVENTS = 600
# Of the second half of each partition, what the workers had come to.
DONE = 30


@pytest.fixture
def worked(site: Site) -> Site:
    """Give a deployment that has rated most of its log, a game taken back and a rebuild among it."""
    season = events(EVENTS)
    voided = next(event for event in season if event["ladder"] == "tiles" and event.get("players"))
    void = {"type": "game-voided", "ladder": "tiles", "game_id": voided["game_id"], "reason": "test"}
    site.produce([*season[: EVENTS // 2], void])
    work(site)
    for number in range(site.settings.partitions):
        asyncio.run(rebuild_partition(site.settings, site.rules, number, NoBar(), dry_run=False))
    site.produce(season[EVENTS // 2 :])
    work(site, at_most=DONE)
    # A commit is answered before it can be read; whoever opens the partitions waits for that.
    work(site, at_most=0)
    return site


def published(site: Site) -> Published:
    """Return keys and values of all that was published, partition after partition."""
    return {name: [(one.key, one.value) for one in site.read_output(name)] for name in LADDERS.outputs}


def restore(site: Site, *arguments: str) -> Result:
    return CliRunner().invoke(restore_command, [*options(site), *arguments], catch_exceptions=False)


def check_restored(site: Site, before: Published) -> str:
    """Restore, and check that nothing was published and that the deployment goes on to the end of its log."""
    dry = restore(site, "--dry-run")
    done = restore(site)

    assert (dry.exit_code, done.exit_code) == (0, 0), done.output
    assert dry.stdout == done.stdout.replace("were written", "would be written")
    assert published(site) == before
    check_sound(site)
    return done.stdout


def check_sound(site: Site) -> None:
    """Check that there is nothing more to restore, and that the deployment goes on to the end of its log."""
    again = restore(site)
    work(site)

    assert again.output.count("nothing to restore") == 4, again.output
    assert site.differences() == []


def refuses(site: Site) -> str:
    """Return why the deployment refuses to run."""
    with pytest.raises(RefusedError) as refused:
        work(site, at_most=0)
    return str(refused.value)


def test_there_is_nothing_to_restore_of_a_sound_deployment(worked: Site) -> None:
    said = check_restored(worked, published(worked))

    assert said.count("nothing to restore") == 4


@pytest.mark.parametrize("by", [-5, pytest.param(5, marks=pytest.mark.soak)])
def test_an_offset_that_was_moved(worked: Site, by: int) -> None:
    before = published(worked)
    offsets = worked.committed()
    worked.commit({2: offsets[2] + by})
    assert offsets[2] + by < len(worked.read(worked.settings.input_topic)[2])

    assert "`ladderlog restore`" in refuses(worked)

    said = check_restored(worked, before)

    assert f"partition 2: offset {offsets[2]} (rows were of {offsets[2]}" in said
    assert said.count("nothing to restore") == 3


@pytest.mark.soak
def test_offsets_that_have_expired(worked: Site) -> None:
    before = published(worked)
    delete_group(worked)

    assert "has committed offset None" in refuses(worked)

    check_restored(worked, before)


def test_a_changelog_that_was_lost(worked: Site) -> None:
    before = published(worked)
    rows = [state.rows for state in asyncio.run(read_states(worked.settings))]
    offsets = worked.committed()
    make_again(worked, [worked.settings.changelog_topic])

    assert "`ladderlog restore`" in refuses(worked)

    assert restore(worked).exit_code == 0
    assert [state.rows for state in asyncio.run(read_states(worked.settings))] == rows
    assert worked.committed() == offsets
    assert published(worked) == before
    check_sound(worked)


@pytest.mark.soak
def test_a_changelog_that_was_emptied(worked: Site) -> None:
    before = published(worked)
    empty(worked, worked.settings.changelog_topic)

    assert "`ladderlog restore`" in refuses(worked)

    check_restored(worked, before)


def test_changelog_and_offsets_lost_are_no_new_deployment(worked: Site, start_worker: StartWorker) -> None:
    before = published(worked)
    make_again(worked, [worked.settings.changelog_topic])
    delete_group(worked)
    refused = start_worker(worked)

    assert refused.wait() == REFUSED
    assert "`ladderlog restore`" in refused.log

    check_restored(worked, before)


@pytest.mark.soak
def test_rows_that_were_damaged(worked: Site) -> None:
    before = published(worked)
    state = asyncio.run(read_states(worked.settings))[1]
    first, second, *_ = sorted(state.rows)
    forged = [(first, None), (second, b"{}"), ("player/nowhere/x", b"[1]")]
    worked.produce_records(
        [{"key": key.encode(), "value": value, "partition": 1} for key, value in forged],
        topic=worked.settings.changelog_topic,
    )

    assert "is damaged" in refuses(worked)

    said = check_restored(worked, before)

    assert "3 rows and 0 events were written" in said


def test_topics_that_have_lost_what_was_published_get_it_again(worked: Site) -> None:
    before = published(worked)
    lost = [worked.settings.topic(GAME_IGNORED), worked.settings.topic(RATING_CHANGED)]
    make_again(worked, lost)
    done = restore(worked)
    after = published(worked)

    assert done.exit_code == 0, done.output
    assert {name: sorted(records) for name, records in after.items()} == {
        name: sorted(records) for name, records in before.items()
    }
    check_sound(worked)


def test_of_a_deployment_nothing_is_left_but_the_log_and_the_marks_of_its_rebuild(
    worked: Site, start_worker: StartWorker
) -> None:
    published_to = map(worked.settings.topic, LADDERS.outputs)
    make_again(worked, [*published_to, worked.settings.changelog_topic])
    delete_group(worked)
    refused = start_worker(worked)

    assert refused.wait() == REFUSED
    assert "a rebuild of this deployment has put corrections into force" in refused.log

    worked.forget_members()

    assert restore(worked).exit_code == 0
    check_sound(worked)


def test_records_that_were_forwarded_are_not_forwarded_again(site: Site) -> None:
    games = [event for event in events(300) if "type" not in event]
    site.produce_records(
        {"value": orjson.dumps(game), "partition": number % 4} for number, game in enumerate(games)
    )
    work(site, at_most=40)
    work(site, at_most=0)
    before, log = published(site), site.read(site.settings.input_topic)
    make_again(site, [site.settings.changelog_topic])
    delete_group(site)
    done = restore(site)

    assert done.exit_code == 0, done.output
    assert published(site) == before
    assert site.read(site.settings.input_topic) == log
    check_sound(site)


def test_what_retention_took_away_is_not_published_again(worked: Site) -> None:
    delete(worked, worked.settings.topic(RATING_CHANGED), {0: 30, 1: 50})
    before = published(worked)
    make_again(worked, [worked.settings.changelog_topic])
    done = restore(worked)

    assert done.exit_code == 0, done.output
    assert published(worked) == before


def test_a_log_without_its_beginning_is_restored_from_a_snapshot(site: Site, tmp_path: Path) -> None:
    site.produce(events(300))
    work(site)
    path = tmp_path / "snapshot.jsonl"
    snapshot(site, path)
    site.produce(events(EVENTS)[300:])
    work(site)
    before = published(site)
    rows = [state.rows for state in asyncio.run(read_states(site.settings))]
    delete(site, site.settings.input_topic, {1: 20})
    make_again(site, [site.settings.changelog_topic])
    lost, saved = restore(site), restore(site, f"--from-snapshot={path}")

    assert lost.exit_code == 1
    assert "Give such a snapshot with --from-snapshot." in lost.output
    assert saved.exit_code == 0, saved.output
    assert [state.rows for state in asyncio.run(read_states(site.settings))] == rows
    assert published(site) == before


@pytest.mark.parametrize("games", [20, EVENTS])
def test_an_input_topic_that_was_deleted_and_made_again_is_said_to_be_that(worked: Site, games: int) -> None:
    before = published(worked)
    make_again(worked, [worked.settings.input_topic])
    worked.produce(events(games, seed=2))
    done = restore(worked)

    assert done.exit_code == 1
    assert "was deleted and made again" in done.output
    assert published(worked) == before


def test_other_rules_than_those_it_was_published_by_restore_nothing(worked: Site) -> None:
    make_again(worked, [worked.settings.changelog_topic])
    worked.ladder_file.write_text(LADDER_FILE + "\n[ladders.rummy.fundox]\nstake = 32\n")
    done = restore(worked)

    assert done.exit_code == 1
    assert "these are not the rules" in done.output
    assert [state.rows for state in asyncio.run(read_states(worked.settings))] == [{}] * 4


def test_what_was_doubled_before_is_told_and_does_not_hinder(worked: Site) -> None:
    first = worked.read_output(RATING_CHANGED)[0]
    worked.produce_records(
        [
            {
                "key": first.key,
                "value": first.value,
                "headers": list(first.headers),
                "timestamp_ms": first.timestamp,
                "partition": first.partition,
            }
        ],
        topic=first.topic,
    )
    make_again(worked, [worked.settings.changelog_topic])
    done = restore(worked)

    assert done.exit_code == 0
    assert "note: 1 published records are double; what is in a topic stays there" in done.output


def test_a_restore_killed_at_any_moment_is_run_again(worked: Site) -> None:
    before = published(worked)
    make_again(worked, [worked.settings.changelog_topic])
    delete_group(worked)
    for moment in (1.0, 1.5, 2.0, 2.5):
        killed = subprocess.Popen(
            [sys.executable, "-m", "streams", "restore", *options(worked)],
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment)
        killed.send_signal(signal.SIGKILL)
        killed.wait()

    check_restored_after(worked, before)


def check_restored_after(site: Site, before: Published) -> None:
    """Restore what is left to restore, and check that nothing was published."""
    done = restore(site)

    assert done.exit_code == 0, done.output
    assert published(site) == before
    check_sound(site)


def test_a_worker_that_runs_meanwhile_is_fenced_and_goes_on(site: Site, start_worker: StartWorker) -> None:
    site.produce(events(200))
    worker = start_worker(site, restarted=True)
    worker.wait_for(OWNER, 4)
    site.wait_until_done()
    done = restore(site)
    site.produce(events(400)[200:])
    site.wait_until_done()

    assert done.exit_code == 0, done.output
    assert site.differences() == []
