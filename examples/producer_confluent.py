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


class Outcome:
    """What became of the games that were sent: `failed` has the game_ids of those that were not confirmed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def of(self, game: Game) -> Any:
        """Return what librdkafka is to call when it knows."""

        def answered(error: Any, _message: Any) -> None:
            if error is not None:
                self.note(game, error)

        return answered

    def note(self, game: Game, error: Any) -> None:
        """Take in a game that was not confirmed."""
        print(f"{game['game_id']}: {error}", file=sys.stderr)
        self.failed.append(game["game_id"])


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
    outcome = Outcome()
    for game in games:
        _produce(producer, topic, game, outcome)
        producer.poll(0)
    # As long as it takes: librdkafka itself gives a game up after delivery.timeout.ms (5 minutes).
    producer.flush()
    return outcome.failed


def _produce(producer: Producer, topic: str, game: Game, outcome: Outcome) -> None:
    key, value = game["ladder"].encode(), json.dumps(game).encode()
    while True:
        try:
            producer.produce(topic, key=key, value=value, on_delivery=outcome.of(game))
        except BufferError:
            producer.poll(1)  # the queue is full: wait for answers
        except KafkaException as error:  # too large, say
            outcome.note(game, error)
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
