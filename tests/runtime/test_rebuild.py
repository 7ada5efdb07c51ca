"""Changing the past on a running deployment: each test ends in the comparison with the fold of the log."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from season import season
from sites import NoBar, Site
from workers import PROJECT, Worker

from streams.core.events import GAME_IGNORED, RATING_CHANGED
from streams.runtime.changelog import read_state
from streams.runtime.rebuild import RebuildError, RebuildReport, rebuild_partition

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
LADDER = "go"


def game(number: int, winner: str, loser: str, **fields: Any) -> dict[str, Any]:
    players = [{"player_id": winner, "rank": 1, "points": 9}, {"player_id": loser, "rank": 2, "points": 3}]
    return {
        "game_id": f"r-{number}",
        "ladder": LADDER,
        "ended_at": f"2024-01-03T{number % 24:02}:00:00Z",
        "players": players,
        **fields,
    }


def fifty() -> list[dict[str, Any]]:
    names = ["ann", "bob", "eve", "joe", "kim"]
    return [game(n, names[n % 5], names[(n + 1 + n // 5 % 4) % 5]) for n in range(50)]


def void(number: int) -> dict[str, Any]:
    return {"type": "game-voided", "ladder": LADDER, "game_id": f"r-{number}", "reason": "cheat"}


def command(site: Site, *arguments: str) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT),
        "LADDERLOG_BOOTSTRAP_SERVERS": site.settings.bootstrap_servers,
        "LADDERLOG_LADDERS": str(site.ladder_file),
        "LADDERLOG_APP_ID": site.settings.app_id,
        "LADDERLOG_TOPIC_PREFIX": site.settings.topic_prefix,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "streams", *arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def rebuild(site: Site, *, dry_run: bool = False) -> list[RebuildReport]:
    async def all_partitions() -> list[RebuildReport]:
        return [
            await rebuild_partition(site.settings, site.rules, number, NoBar(), dry_run=dry_run)
            for number in range(site.settings.partitions)
        ]

    return asyncio.run(all_partitions())


def corrections(site: Site) -> list[dict[str, Any]]:
    bodies = [orjson.loads(record.value) for record in site.read_output(RATING_CHANGED)]
    return [body for body in bodies if body.get("reason") == "correction"]


def last_ratings(site: Site) -> dict[tuple[str, str], float]:
    bodies = [orjson.loads(record.value) for record in site.read_output(RATING_CHANGED)]
    bodies.sort(key=lambda body: body["sequence"])
    return {(body["system"], body["player_id"]): body["after"] for body in bodies if body["ladder"] == LADDER}


def test_a_game_taken_back_beside_a_running_worker(site: Site, start_worker: StartWorker) -> None:
    worker = start_worker(site, restarted=True)
    site.produce([*fifty(), void(0), game(2, "joe", "eve", version=2)])
    site.wait_until_done()

    (changed,) = [report for report in rebuild(site) if report.corrections]
    site.produce([game(50, "ann", "bob")])
    site.wait_until_done()
    status = worker.stop()

    assert status == 0
    assert changed.corrections == {LADDER: 2}
    assert len(corrections(site)) == len(changed.changes) > 0
    assert site.differences() == []


@pytest.mark.soak
def test_the_right_ratings_are_those_of_a_clean_log(site: Site, broker: Any, tmp_path: Any) -> None:
    clean = Site(broker.bootstrap_servers, tmp_path, f"{site.settings.app_id}-clean")
    games = fifty()
    site.produce([*games, void(0)])
    clean.produce(games[1:])
    for one in (site, clean):
        run_worker_once(one)

    rebuild(site)
    right = last_ratings(clean)

    assert {key: rating for key, rating in last_ratings(site).items() if key in right} == pytest.approx(right)
    assert site.differences() == []


def run_worker_once(site: Site) -> None:
    worker = Worker(site, f"once-{len(list(site.folder.iterdir()))}")
    site.wait_until_done()
    worker.stop()


def test_nothing_is_pending_after_a_rebuild(site: Site) -> None:
    site.produce([*fifty(), void(3)])
    run_worker_once(site)
    rebuild(site)
    before = site.read_output(RATING_CHANGED)

    again = rebuild(site)

    assert [report.corrections for report in again] == [{}] * site.settings.partitions
    assert len(site.read_output(RATING_CHANGED)) == len(before)


def test_a_dry_run_changes_nothing(site: Site) -> None:
    site.produce([*fifty(), void(3)])
    run_worker_once(site)
    before = site.read_output(RATING_CHANGED)

    (report,) = [report for report in rebuild(site, dry_run=True) if report.corrections]

    assert len(report.changes) > 0
    assert len(site.read_output(RATING_CHANGED)) == len(before)
    assert site.differences() == []


def test_what_the_worker_had_not_come_to_is_done_by_the_rebuild(site: Site) -> None:
    site.produce(fifty()[:20])
    run_worker_once(site)
    site.produce([*fifty()[20:], void(1)])

    rebuild(site)

    assert site.differences() == []


def test_a_rebuild_killed_again_and_again_is_run_again(site: Site, start_worker: StartWorker) -> None:
    start_worker(site, restarted=True)
    site.produce([*islice(season(closings=False), 2_000), *fifty(), void(0), void(1)])
    site.wait_until_done()

    for moment in (0.9, 1.3, 1.7, 2.2):
        killed = command(site, "rebuild")
        time.sleep(moment)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    last = command(site, "rebuild")
    output, _ = last.communicate(timeout=120)
    site.produce([game(60, "ann", "bob")])
    site.wait_until_done()

    assert last.returncode == 0, output
    assert site.differences() == []


def test_a_player_is_banned_from_the_command_line(site: Site) -> None:
    site.produce(fifty())
    run_worker_once(site)

    voiding = command(site, "void", "--ladder", LADDER, "--player", "ann", "--reason", "cheat")
    said, _ = voiding.communicate(timeout=60)
    rebuilding = command(site, "rebuild")
    output, _ = rebuilding.communicate(timeout=120)

    assert voiding.returncode == 0, said
    assert rebuilding.returncode == 0, output
    assert {
        rating
        for (system, player), rating in last_ratings(site).items()
        if (system, player) == ("bga", "ann")
    } == {1500.0}
    assert site.differences() == []


def test_what_was_forgotten_since_a_rebuild_stops_no_rebuild(site: Site) -> None:
    early, other = ({**game(number, "p1", "p2"), "ended_at": "2024-01-02T20:00:00Z"} for number in (0, 1))
    site.produce([early, other, {**early, "version": 2, "players": early["players"][::-1]}])
    run_worker_once(site)
    rebuild(site)
    site.produce([{**game(2, "p1", "p2"), "ended_at": "2024-01-15T20:00:00Z"}, void(1)])
    run_worker_once(site)

    rebuild(site)

    assert site.differences() == []


@pytest.mark.soak
def test_a_void_and_a_version_may_come_before_their_game(site: Site) -> None:
    first, second = game(0, "p1", "p2"), game(1, "p1", "p2")
    site.produce([void(0), {**second, "version": 2, "players": second["players"][::-1]}])
    run_worker_once(site)
    rebuild(site)

    site.produce([first, second])
    run_worker_once(site)
    rebuild(site)

    reasons = [
        orjson.loads(record.value)["reasons"][0]["reason"] for record in site.read_output(GAME_IGNORED)
    ]
    assert reasons == ["voided", "superseded"]
    assert site.differences() == []


def test_a_dry_run_announces_a_refusal(site: Site) -> None:
    site.produce([game(0, "p1", "p2"), void(0)])
    run_worker_once(site)
    forge_row(site, f"player/{LADDER}/p1", {"statistics": [9, 9, 0, 0]})

    with pytest.raises(RebuildError, match=f"row 'player/{LADDER}/p1' is .* by the log"):
        rebuild(site, dry_run=True)


def test_a_void_of_an_unknown_ladder_is_no_correction(site: Site) -> None:
    site.produce([{**void(0), "ladder": "nowhere"}])
    run_worker_once(site)

    assert [report.corrections for report in rebuild(site)] == [{}] * site.settings.partitions
    assert site.differences() == []


def forge_row(site: Site, key: str, row: Any) -> None:
    """Write a row that the log does not say."""

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=site.settings.bootstrap_servers) as producer:
            for partition in range(site.settings.partitions):
                rows = (await read_state(site.settings, partition)).rows
                if key in rows:
                    await producer.send_and_wait(
                        site.settings.changelog_topic, orjson.dumps(row), key.encode(), partition
                    )

    asyncio.run(send())
