"""A site's producer of finished games, with aiokafka.

    python producer_aiokafka.py client.properties games.jsonl

Each line of the file is a game. The status is 1 when the broker did not confirm some: send these again, any
number of times. Ladderlog knows a game that comes again by its game_id, and counts it once.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from client_properties import for_aiokafka, read_properties

Game = dict[str, Any]

# Under way at once; the file may be longer than the memory.
WINDOW = 1_000


async def send(properties: dict[str, str], topic: str, games: Iterable[Game]) -> list[str]:
    """Send games, and return the game_ids of those that were not confirmed.

    Raises KafkaError when it cannot begin: nobody answers, the password is wrong, or a right is missing.
    """
    producer = AIOKafkaProducer(
        **for_aiokafka(properties),
        # Confirmed means that every replica in sync has it, and a retry makes no second record.
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
    )
    failed: list[str] = []
    under_way: list[tuple[Game, asyncio.Future[Any]]] = []
    try:
        await producer.start()
        for game in games:
            # The ladder as key, which aiokafka hashes by murmur2, leads to the home of the ladder. Headers
            # need not be given.
            key, value = game["ladder"].encode(), json.dumps(game).encode()
            try:
                under_way.append((game, await producer.send(topic, key=key, value=value)))
            except KafkaError as error:  # too large, say
                _note(failed, game, error)
            if len(under_way) >= WINDOW:
                await _settle(under_way, failed)
        await _settle(under_way, failed)
    finally:
        await producer.stop()
    return failed


async def _settle(under_way: list[tuple[Game, asyncio.Future[Any]]], failed: list[str]) -> None:
    """Wait until the broker has answered for all that is under way. The client itself tries again."""
    for game, future in under_way:
        try:
            await future
        except KafkaError as error:
            _note(failed, game, error)
    under_way.clear()


def _note(failed: list[str], game: Game, error: KafkaError) -> None:
    print(f"{game['game_id']}: {error or type(error).__name__}", file=sys.stderr)
    failed.append(game["game_id"])


def main(arguments: list[str] | None = None) -> int:
    """Send the games of a file, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("properties", type=Path)
    parser.add_argument("games", type=Path)
    parser.add_argument("--topic", default="game-finished")
    options = parser.parse_args(arguments)
    with options.games.open(encoding="utf-8") as lines:
        games = (json.loads(line) for line in lines if line.strip())
        try:
            failed = asyncio.run(send(read_properties(options.properties), options.topic, games))
        except KafkaError as error:
            print(f"nothing was sent: {error or type(error).__name__}", file=sys.stderr)
            return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
