"""The examples, run against a deployment: what they send counts, and what they keep is what was published."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import producer_aiokafka
import producer_confluent
import pytest
import subscriber_aiokafka
import subscriber_confluent
from aiokafka import AIOKafkaProducer
from project import PROJECT
from ratings_db import RatingsDb
from sites import PATIENCE

from streams import events
from streams.testing import CLUB_LADDERS, Driver, club_games
from streams.testing.deployment import Deployment

pytestmark = pytest.mark.kafka

Main = Callable[[list[str]], int]
PRODUCERS: dict[str, Main] = {"aiokafka": producer_aiokafka.main, "confluent": producer_confluent.main}
SUBSCRIBERS: dict[str, Main] = {"aiokafka": subscriber_aiokafka.main, "confluent": subscriber_confluent.main}
GAMES = list(club_games(300))
CHESS = [game for game in GAMES if game.ladder == "chess"]
# Of the first half: a week is closed, a game taken back.
SAID = [
    events.WeekEnded("belote", "2026-W45", final=False),
    events.GameVoided("chess", CHESS[3].game_id, "engine use"),
]


class Club:
    """A deployment, and a driver that was sent the same."""

    def __init__(self, deployment: Deployment, folder: Path) -> None:
        self.deployment = deployment
        self.driver = Driver(CLUB_LADDERS)
        self.properties = folder / "client.properties"
        self.properties.write_text(f"bootstrap.servers={deployment.bootstrap_servers}\n")
        self._games = folder / "games.jsonl"

    def send(self, main: Main, games: list[events.GameFinished]) -> int:
        """Send games by a producer, and return its exit status."""
        self._games.write_bytes(b"\n".join(map(msgspec.json.encode, games)) + b"\n")
        topic = self.deployment.topic(events.GAME_FINISHED)
        return main([str(self.properties), str(self._games), "--topic", topic])

    def arguments(self, database: Path, group: str) -> list[str]:
        """Return the arguments of a subscriber."""
        return [str(self.properties), str(database), f"--prefix={self.deployment.prefix}", f"--group={group}"]

    def read(self, main: Main, database: Path, group: str) -> int:
        """Let a subscriber read what there is, and return its exit status."""
        return main([*self.arguments(database, group), "--once"])

    def ratings(self) -> dict[tuple[str, ...], float]:
        """Return what was published last of each player, by ladder, system, week and player."""
        return {
            (change.ladder, change.system, change.week or "", change.player_id): change.after
            for published in self.driver.published
            if isinstance(change := published.event, events.RatingChanged)
        }

    def standings(self) -> dict[str, list[str]]:
        """Return the players of each week of belote that was closed, in the order of their standing."""
        return {
            closed.week: [row.player_id for row in closed.standings]
            for published in self.driver.published
            if isinstance(closed := published.event, events.CompetitionClosed)
        }


def kept(database: Path) -> dict[tuple[str, ...], float]:
    """Return the ratings in a database."""
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT ladder, system, week, player_id, rating FROM ratings").fetchall()
    db.close()
    return {tuple(place): rating for *place, rating in rows}


def kept_standings(database: Path, weeks: list[str]) -> dict[str, list[str]]:
    """Return the players of weeks of belote, in the order of their standing."""
    db = RatingsDb(database)
    try:
        return {week: [row["player_id"] for row in db.standings("belote", week)] for week in weeks}
    finally:
        db.close()


async def disturb(deployment: Deployment) -> None:
    """Publish everything once more, and other changes in a transaction that is aborted."""
    topic = deployment.topic(events.RATING_CHANGED)
    records = deployment.published(events.RATING_CHANGED)
    async with AIOKafkaProducer(
        bootstrap_servers=deployment.bootstrap_servers, transactional_id=f"{deployment.prefix}disturbing"
    ) as producer:
        async with producer.transaction():
            for record in records:
                await producer.send(topic, record.value, record.key, partition=record.partition)
        await producer.begin_transaction()
        for record in records[:50]:
            body = json.loads(record.value) | {"change_id": f"aborted {record.offset}", "after": -1}
            await producer.send(topic, json.dumps(body).encode(), record.key, partition=record.partition)
        await producer.flush()
        await producer.abort_transaction()


@pytest.fixture(scope="module")
def club(ladderlog_broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    """Give a deployment to which each producer has sent one half of the games, and all is rated."""
    deployment = Deployment(ladderlog_broker, CLUB_LADDERS, "examples")
    club = Club(deployment, tmp_path_factory.mktemp("examples"))
    half = len(GAMES) // 2
    assert club.send(PRODUCERS["aiokafka"], GAMES[:half]) == 0
    assert club.send(PRODUCERS["confluent"], GAMES[half:]) == 0
    deployment.send(*SAID)
    deployment.rate()
    club.driver.send(*GAMES, *SAID)
    yield club
    deployment.remove()


def test_what_a_producer_sends_lies_in_the_home_of_its_ladder(club: Club) -> None:
    """So that nothing is forwarded: the input has what was sent, and no copies."""
    records = club.deployment.published(events.GAME_FINISHED)

    assert len(records) == len(GAMES) + len(SAID)
    assert club.deployment.problems() == []


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_game_that_is_not_taken_is_named(club: Club, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    large = msgspec.structs.replace(GAMES[0], game_id="large", game_type="x" * 9_000_000)

    assert club.send(PRODUCERS[name], [large]) == 1
    assert "large: " in capfd.readouterr().err


def test_a_subscriber_keeps_what_is_published_whatever_comes_again(club: Club, tmp_path: Path) -> None:
    databases = {name: tmp_path / f"{name}.sqlite" for name in SUBSCRIBERS}
    for name, main in SUBSCRIBERS.items():
        assert club.read(main, databases[name], f"{name}-1") == 0
        assert kept(databases[name]) == club.ratings()

    asyncio.run(disturb(club.deployment))
    club.deployment.rebuild()
    club.driver.rebuild()
    last = events.WeekEnded("belote", "2026-W46", final=True)
    club.deployment.send(last)
    club.driver.send(last)
    club.deployment.rate()

    assert len(club.standings()) == 2
    for name, main in SUBSCRIBERS.items():
        assert club.read(main, databases[name], f"{name}-1") == 0
        assert kept(databases[name]) == club.ratings()
        assert kept_standings(databases[name], list(club.standings())) == club.standings()


@pytest.mark.parametrize("name", SUBSCRIBERS)
def test_a_subscriber_that_is_killed_goes_on_where_its_data_ends(
    club: Club, name: str, tmp_path: Path
) -> None:
    database = tmp_path / "ratings.sqlite"
    RatingsDb(database).close()
    script = PROJECT / "examples" / f"subscriber_{name}.py"
    process = subprocess.Popen(
        [sys.executable, script, *club.arguments(database, f"{name}-killed")], env=os.environ
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not kept(database):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()

    # In another group: the old one waits for the one that was killed. The offsets are in the database.
    assert club.read(SUBSCRIBERS[name], database, f"{name}-again") == 0
    assert kept(database) == club.ratings()
