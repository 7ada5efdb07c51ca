"""Made-up games of two players, always the same ones, and how a backlog of them gets onto the log."""

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from aiokafka import AIOKafkaProducer

from streams.core.events import GAME_FINISHED
from streams.runtime.batches import Batches
from streams.runtime.settings import Settings
from streams.wire.encode import Record, encode_event

LADDER = "bench"
FUNDOX_ALONE = f"""\
[ladders.{LADDER}]
systems = ["fundox"]
"""
ALL_SYSTEMS = f"""\
[ladders.{LADDER}]
systems = ["weekly", "fundox", "points", "closeness", "bga"]
timezone = "Europe/Paris"
"""
PLAYERS = 5_000
# Long ago, because a broker refuses records that claim to be from the future.
_FIRST_END = datetime(2025, 1, 6, tzinfo=UTC)
_DURATION = timedelta(minutes=15)
_DRAWS = 0.05
_SOURCE = "ladderlog/bench"
_GAMES_AT_ONCE = 20_000
_MAX_BATCH_BYTES = 900_000
_MAX_REQUEST_BYTES = 8 * 1024 * 1024


class Timed(NamedTuple):
    """A game's fields and the end of it, in milliseconds: the timestamp of its record."""

    fields: dict[str, Any]
    timestamp: int


def games(
    count: int, players: int = PLAYERS, *, points: bool = False, seconds: float = 1.0
) -> Iterator[Timed]:
    """Yield `count` games of two out of `players`, one ending every so many seconds."""
    rng = random.Random(1)
    for number in range(count):
        ended = _FIRST_END + timedelta(seconds=int(number * seconds))
        first = rng.randrange(players)
        second = (first + 1 + rng.randrange(players - 1)) % players
        draw = rng.random() < _DRAWS
        winner: dict[str, Any] = {"player_id": f"player-{first}", "rank": 1}
        loser: dict[str, Any] = {"player_id": f"player-{second}", "rank": 1 if draw else 2}
        if points:
            winner["points"] = 100 + rng.randrange(50)
            loser["points"] = winner["points"] - (0 if draw else 1 + rng.randrange(100))
        yield Timed(finished(f"game-{number}", ended, [winner, loser]), int(ended.timestamp() * 1000))


def finished(game_id: str, ended: datetime, players: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the fields of one game as a site sends it."""
    return {
        "game_id": game_id,
        "ladder": LADDER,
        "started_at": _moment(ended - _DURATION),
        "ended_at": _moment(ended),
        "players": players,
    }


def encoded(fields: dict[str, Any]) -> Record:
    """Encode a game as `ladderlog produce` does, CloudEvents headers included."""
    return encode_event(GAME_FINISHED, fields, _SOURCE, f"{LADDER}/{fields['game_id']}")


def write_file(path: Path, played: Iterable[Timed]) -> None:
    """Write games as JSON lines."""
    with path.open("wb") as file:
        for fields, _ in played:
            file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))


async def produce(settings: Settings, played: Iterable[Timed]) -> None:
    """Put a backlog on partition 0 of the game-finished topic, whole batches at a time."""
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.bootstrap_servers,
        acks="all",
        max_batch_size=_MAX_BATCH_BYTES,
        max_request_size=_MAX_REQUEST_BYTES,
    )
    await producer.start()
    try:
        left = iter(played)
        while chunk := list(islice(left, _GAMES_AT_ONCE)):
            batches = Batches(producer)
            for fields, timestamp in chunk:
                batches.append((settings.input_topic, 0), timestamp, *encoded(fields))
            await batches.send()
    finally:
        await producer.stop()


def _moment(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
