"""Producers that know nothing of a ladder's home: any client, any key, any partitioner.

Two workers rate what all of them send, on one deployment. Every game counts once, and in the end the log,
forwarded as it is, is what everything follows from.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from random import Random
from typing import Any

import orjson
import pytest
from foreign import by_confluent, by_kafka_python, game_id, in_transactions, ladder, no_key, player
from season import START, season
from sites import NoBar, Site
from workers import OWNER, Worker

from streams.core.events import COMPETITION_CLOSED, RATING_CHANGED
from streams.embedded.broker import EmbeddedBroker
from streams.replay.voiding import read_games, void
from streams.runtime.rebuild import rebuild_partition

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
Game = dict[str, Any]
Send = Callable[[str, str, list[Game]], None]

GAMES = 40
SYSTEMS = {
    "rummy": ("points", "closeness", "fundox"),
    "tiles": ("bga", "closeness", "fundox"),
    "belote": ("weekly",),
    "go": ("weekly", "bga"),
}
PLAYERS = ["ann", "bob", "eve", "joe", "kim"]
WEEK = "2024-W01"
FIRST_WEEK = [f"{name}/{WEEK}/{end}".encode() for name in ("belote", "go") for end in ("midnight", "final")]
NINTH_DAY = START + timedelta(days=8, hours=12)

PRODUCERS: dict[str, Send] = {
    "librdkafka without key": by_confluent,
    "librdkafka with the ladder as key": partial(by_confluent, key_of=ladder),
    "librdkafka with the game as key": partial(by_confluent, key_of=game_id),
    "librdkafka with a player as key": partial(by_confluent, key_of=player),
    "librdkafka, idempotent": partial(by_confluent, key_of=player, enable_idempotence=True),
    **{
        f"librdkafka with {packing}": partial(by_confluent, compression_type=packing)
        for packing in ("gzip", "snappy", "lz4", "zstd")
    },
    "kafka-python without key": by_kafka_python,
    "kafka-python with the ladder as key": partial(by_kafka_python, key_of=ladder),
    "kafka-python with the game as key": partial(by_kafka_python, key_of=game_id),
    "kafka-python with a player as key": partial(by_kafka_python, key_of=player, compression_type="gzip"),
}


def games(name: str) -> list[Game]:
    """Give the games that a producer sends, on every ladder, between players whom all have.

    All of them end within the two days that `go` remembers games: they come in any order, and come again.
    """
    return [
        {
            "game_id": f"{name} {number}",
            "ladder": list(SYSTEMS)[number % len(SYSTEMS)],
            "ended_at": f"2024-01-0{1 + number % 2}T20:{number:02}:00Z",
            "players": [
                {"player_id": PLAYERS[number % 5], "rank": 1, "points": 9},
                {"player_id": PLAYERS[(number + 1 + number // 5 % 4) % 5], "rank": 2, "points": 3},
            ],
        }
        for number in range(GAMES)
    ]


def changes(site: Site) -> Counter[tuple[str, str, str]]:
    """Count the changes of games: game, system and player."""
    bodies = [orjson.loads(record.value) for record in site.read_output(RATING_CHANGED)]
    return Counter(
        (body["game_id"], body["system"], body["player_id"]) for body in bodies if "game_id" in body
    )


def expected(played: list[Game]) -> Counter[tuple[str, str, str]]:
    """Give the changes of games that each count once."""
    return Counter(
        (game["game_id"], system, player["player_id"])
        for game in played
        for system in SYSTEMS[game["ladder"]]
        for player in game["players"]
    )


@pytest.fixture(scope="module")
def rated(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Give a deployment that has rated what every producer sent, with its two workers."""
    site = Site(broker.bootstrap_servers, tmp_path_factory.mktemp("foreign"), "foreign")
    servers, topic = site.settings.bootstrap_servers, site.settings.input_topic
    workers = [Worker(site, f"worker-{number}", restarted=True) for number in range(2)]
    try:
        for worker in workers:
            worker.wait_for(OWNER, 2)
        for name, send in PRODUCERS.items():
            send(servers, topic, games(name))
        in_transactions(servers, topic, games("committed"), games("aborted"), "foreign-transactions")
        site.wait_until_done()
        yield site
    finally:
        for worker in workers:
            worker.signal(signal.SIGCONT)
            worker.kill()


@pytest.fixture(scope="module")
def found(rated: Site) -> Counter[tuple[str, str, str]]:
    """Give the changes that were published before anything was taken back."""
    return changes(rated)


@pytest.mark.parametrize("name", [*PRODUCERS, "committed"])
def test_every_game_counts_once(found: Counter[tuple[str, str, str]], name: str) -> None:
    wanted = expected(games(name))

    assert {change: count for change, count in found.items() if change in wanted} == wanted


def test_aborted_games_do_not_count(found: Counter[tuple[str, str, str]]) -> None:
    assert [change for change in found if change[0].startswith("aborted")] == []


def test_what_lay_elsewhere_was_forwarded_and_the_account_adds_up(
    rated: Site, found: Counter[tuple[str, str, str]]
) -> None:
    counts = [mark.counts for mark in rated.watermarks().values()]

    assert found
    assert sum(count["forwarded"] for count in counts) > GAMES
    assert [count["read"] for count in counts] == [sum(count.values()) - count["read"] for count in counts]
    assert rated.differences() == []


def test_the_life_of_a_log_that_others_write(rated: Site, found: Counter[tuple[str, str, str]]) -> None:
    """Duplicates through another client, games taken back and corrected, a rebuild, and the end of a week."""
    servers, topic = rated.settings.bootstrap_servers, rated.settings.input_topic
    first = games("librdkafka without key")
    by_kafka_python(servers, topic, first)
    by_confluent(servers, topic, games("kafka-python with the ladder as key"), key_of=ladder)
    rated.wait_until_done()

    assert changes(rated) == found

    players = first[1]["players"]
    corrected = [{**players[0], "rank": 2, "points": 3}, {**players[1], "rank": 1, "points": 9}]
    by_confluent(servers, topic, [{**first[1], "version": 2, "players": corrected}])
    voided = {"type": "game-voided", "ladder": "tiles", "game_id": first[5]["game_id"], "reason": "cheat"}
    by_confluent(servers, topic, [voided], key_of=player_of_void)
    asyncio.run(void(rated.settings, "go", [first[3]["game_id"]], "cheat"))
    rated.wait_until_done()
    reports = [
        asyncio.run(rebuild_partition(rated.settings, rated.rules, number, NoBar(), dry_run=False))
        for number in range(rated.settings.partitions)
    ]
    rated.set_clock(NINTH_DAY)
    rated.wait_for_weeks(FIRST_WEEK)
    rated.wait_until_done()

    assert [report.corrections for report in reports] == [{}, {"tiles": 2}, {}, {"go": 1}]
    assert reports[1].changes
    assert first[3]["game_id"] in asyncio.run(read_games(rated.settings, "go", (), "joe")).voidable().voided
    assert sorted(ended for ended in rated.weeks_ended() if WEEK.encode() in ended) == sorted(FIRST_WEEK)
    assert closings(rated, "belote") == [(WEEK, 1, False), (WEEK, 2, True)]
    assert rated.differences() == []


def player_of_void(_void: Game) -> bytes:
    """Take something that leads a record anywhere."""
    return b"someone"


def closings(site: Site, name: str) -> list[tuple[str, int, bool]]:
    bodies = [orjson.loads(record.value) for record in site.read_output(COMPETITION_CLOSED)]
    return [(body["week"], body["revision"], body["final"]) for body in bodies if body["ladder"] == name]


def test_workers_killed_while_they_forward(site: Site, start_worker: StartWorker) -> None:
    kill_while_forwarding(site, start_worker, kills=3, games=1_000, forget=site.forget_members)

    assert site.differences() == []


@pytest.mark.soak
def test_workers_killed_again_and_again_while_they_forward(site: Site, start_worker: StartWorker) -> None:
    kill_while_forwarding(site, start_worker, kills=12, games=5_000, forget=lambda: None)

    assert site.differences() == []


def kill_while_forwarding(
    site: Site, start_worker: StartWorker, kills: int, games: int, forget: Callable[[], None]
) -> None:
    """Kill one of two workers after the other in a backlog without keys; none of its weeks becomes late."""
    random = Random(kills)
    site.set_clock(NINTH_DAY)
    source = season(closings=False)
    servers, topic = site.settings.bootstrap_servers, site.settings.input_topic
    for _ in range(kills):
        by_confluent(servers, topic, islice(source, games), no_key)
        worker = start_worker(site)
        site.wait_for_progress(interval=0.01)
        time.sleep(random.random() / 4)
        worker.kill()
        forget()
    start_worker(site)
    start_worker(site)
    site.wait_until_done()
    site.wait_for_weeks(FIRST_WEEK)
    site.wait_until_done()

    assert sorted(site.weeks_ended()) == sorted(FIRST_WEEK)  # each once
    assert sum(mark.counts["forwarded"] for mark in site.watermarks().values()) > kills * games / 2

    # What a game counted for is as in a log where all of it lies at home: nothing came too late.
    ignored = [orjson.loads(record.value) for record in site.read_output("game-ignored")]

    assert [body for body in ignored if {"system": "weekly", "reason": "late"} in body["reasons"]] == []
