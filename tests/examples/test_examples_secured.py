"""The examples on a secured broker: they log in over TLS, and need the rights that the guides name."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import producer_aiokafka
import producer_confluent
import pytest
import subscriber_aiokafka
import subscriber_confluent
from ratings_db import RatingsDb
from secured import PASSWORD, SASL_SSL, USER, SecuredBroker, secured_broker

from streams import events
from streams.runtime.rights import Right
from streams.testing import CLUB_LADDERS, Driver, finished
from streams.testing.deployment import Deployment

pytestmark = pytest.mark.kafka

Main = Callable[[list[str]], int]
PRODUCERS: dict[str, Main] = {"aiokafka": producer_aiokafka.main, "confluent": producer_confluent.main}
SUBSCRIBERS: dict[str, Main] = {"aiokafka": subscriber_aiokafka.main, "confluent": subscriber_confluent.main}
GAMES = {name: finished(f"{name}-1", "ann", "bob") for name in PRODUCERS}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """Give a secured broker, in the place of the session's."""
    with secured_broker(tmp_path_factory.mktemp("secured")) as started:
        yield started


@pytest.fixture(scope="module")
def deployment(broker: SecuredBroker) -> Deployment:
    """Give a deployment on it, which the tests reach where everything is allowed."""
    return Deployment(broker.open_servers, CLUB_LADDERS, "secured")


def properties(broker: SecuredBroker, folder: Path, mechanism: str) -> Path:
    """Write what the examples log in with, as the guide shows it."""
    file = folder / "client.properties"
    file.write_text(
        f"# of a test\nbootstrap.servers={broker.servers(SASL_SSL)}\nsecurity.protocol=SASL_SSL\n"
        f"sasl.mechanism={mechanism}\nsasl.username={USER}\nsasl.password={PASSWORD}\n"
        f"ssl.ca.location={broker.certificates.ca}\n"
    )
    return file


def test_games_go_in_and_ratings_come_out(
    broker: SecuredBroker, deployment: Deployment, tmp_path: Path
) -> None:
    broker.grant([Right("WRITE", "topic", deployment.topic(events.GAME_FINISHED))])
    for name, main in PRODUCERS.items():
        games = tmp_path / f"{name}.jsonl"
        games.write_bytes(msgspec.json.encode(GAMES[name]))
        client = properties(broker, tmp_path, "SCRAM-SHA-512")
        assert main([str(client), str(games), "--topic", deployment.topic(events.GAME_FINISHED)]) == 0
    deployment.rate()
    driver = Driver(CLUB_LADDERS)
    driver.send(*GAMES.values())

    topics = [deployment.topic(name) for name in (events.RATING_CHANGED, events.COMPETITION_CLOSED)]
    broker.grant([*(Right("READ", "topic", topic) for topic in topics), Right("READ", "group", "ratings-*")])
    for name, main in SUBSCRIBERS.items():
        database = tmp_path / f"{name}.sqlite"
        client = properties(broker, tmp_path, "PLAIN")
        arguments = [str(client), str(database), f"--prefix={deployment.prefix}", f"--group=ratings-{name}"]
        assert main([*arguments, "--once"]) == 0
        db = RatingsDb(database)
        kept = db.ratings("chess", "fundox")
        db.close()
        assert kept == driver.ratings("chess", "fundox")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("aiokafka", "nothing was sent: [Error 31] ClusterAuthorizationFailedError"),
        ("confluent", "the producer has ended: "),
    ],
)
def test_a_producer_without_the_right_says_so(
    broker: SecuredBroker,
    deployment: Deployment,
    tmp_path: Path,
    name: str,
    said: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    topic = deployment.topic(events.GAME_FINISHED)
    broker.grant([Right("DESCRIBE", "topic", topic)])
    games = tmp_path / "games.jsonl"
    games.write_text(json.dumps(msgspec.to_builtins(GAMES[name])))

    status = PRODUCERS[name](
        [str(properties(broker, tmp_path, "SCRAM-SHA-256")), str(games), "--topic", topic]
    )

    assert status == 1
    assert said in capfd.readouterr().err
