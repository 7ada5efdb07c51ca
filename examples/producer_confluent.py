"""A site's producer of finished games, with confluent-kafka (librdkafka).

    python producer_confluent.py client.properties games.jsonl

Each line of the file is a game. The status is 1 when the broker did not confirm some: send these again, any
number of times. Ladderlog knows a game that comes again by its game_id, and counts it once.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from client_properties import read_properties
from confluent_kafka import KafkaException, Producer

Game = dict[str, Any]


class Unconfirmed:
    """The games that were given to librdkafka, until the broker has confirmed them."""

    def __init__(self) -> None:
        self._games: dict[int, Game] = {}
        self._number = 0

    def add(self, game: Game) -> Any:
        """Take in a game, and return what librdkafka is to call when it knows what became of it."""
        self._number += 1
        number = self._number
        self._games[number] = game

        def answered(error: Any, _message: Any) -> None:
            if error is None:
                del self._games[number]
            else:
                print(f"{game['game_id']}: {error}", file=sys.stderr)

        return answered

    @property
    def game_ids(self) -> list[str]:
        """Return the ids of those that are left."""
        return [game["game_id"] for game in self._games.values()]


def send(properties: dict[str, str], topic: str, games: Iterable[Game]) -> list[str]:
    """Send games, and return the game_ids of those that were not confirmed."""
    producer = Producer(
        {
            # Without it librdkafka hashes by CRC32: also right, but every game is then forwarded.
            "partitioner": "murmur2_random",
            # Confirmed means that every replica in sync has it, and a retry makes no second record.
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
            **properties,
        }
    )
    unconfirmed = Unconfirmed()
    rest = iter(games)
    try:
        for game in rest:
            _produce(producer, topic, game, unconfirmed)
            producer.poll(0)
        # As long as it takes: librdkafka itself gives a game up after delivery.timeout.ms (5 minutes).
        producer.flush()
    except (KafkaException, SystemError) as error:
        # Fatal, such as a missing right; confluent-kafka 2.16 makes a SystemError of it. No more is sent.
        print(f"the producer has ended: {error}", file=sys.stderr)
        for game in rest:
            unconfirmed.add(game)
    return unconfirmed.game_ids


def _produce(producer: Producer, topic: str, game: Game, unconfirmed: Unconfirmed) -> None:
    key, value = game["ladder"].encode(), json.dumps(game).encode()
    answered = unconfirmed.add(game)
    while True:
        try:
            producer.produce(topic, key=key, value=value, on_delivery=answered)
        except BufferError:
            producer.poll(1)  # the queue is full: wait for answers
        except KafkaException as error:  # too large, say
            answered(error, None)
            return
        else:
            return


def main(arguments: list[str] | None = None) -> int:
    """Send the games of a file, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("properties", type=Path)
    parser.add_argument("games", type=Path)
    parser.add_argument("--topic", default="game-finished")
    options = parser.parse_args(arguments)
    with options.games.open(encoding="utf-8") as lines:
        games = (json.loads(line) for line in lines if line.strip())
        failed = send(read_properties(options.properties), options.topic, games)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
