"""How long games are held up when the weeks of many ladders of one partition end at one midnight.

python bench/closing.py [--ladders 1000] [--players 20]

One worker owns one partition with all ladders. A trickle of games goes to it, the clock passes midnight,
later the end of the grace time. A game's latency counts from when it was due to its committed rating-changed.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from deployment import create_topics, reader_of, wait_committed
from processes import Process, started, worker_command
from table import Table, verdict

from streams.core.events import COMPETITION_CLOSED, GAME_FINISHED, RATING_CHANGED
from streams.embedded.providers import provided
from streams.runtime.batches import Batches
from streams.runtime.clock import CLOCK_FILE
from streams.runtime.reader import end_offset
from streams.runtime.settings import Settings
from streams.wire.encode import encode_event

TARGET_MS = 1_000.0
RATE = 100
_MIDNIGHT = datetime(2024, 11, 18, tzinfo=UTC)  # a Monday, and past by any clock
_GRACE = timedelta(hours=24)
_SECOND = timedelta(seconds=1)
# The trickle before the clock is set, and how long it goes on after it.
_BEFORE, _AFTER = 3.0, 6.0
_PATIENCE = 120.0
_READY = "owner from offset"
_LIVE = "live"
_SOURCE = "ladderlog/bench"


class Trickle:
    """Games at a steady rate, and how long each was under way, in milliseconds, by when it was due."""

    def __init__(self, settings: Settings, name: str, ended: datetime) -> None:
        self.latencies: list[tuple[float, float]] = []
        self._settings = settings
        self._name = name
        self._ended = ended
        self._due: dict[str, float] = {}

    async def run(self, seconds: float, producer: AIOKafkaProducer, reader: AIOKafkaConsumer) -> None:
        """Send games for so long, and wait until all came back."""
        receiving = asyncio.create_task(self._receive(reader, int(seconds * RATE)))
        begin = _now()
        for number in range(int(seconds * RATE)):
            due = begin + number / RATE
            await asyncio.sleep(max(0.0, due - _now()))
            game_id = f"{self._name}-{number}"
            self._due[game_id] = due
            key, value, headers = _encoded(_game(_LIVE, game_id, self._ended, number, 50))
            await producer.send(self._settings.input_topic, value, key, partition=0, headers=headers)
        await asyncio.wait_for(receiving, _PATIENCE)

    def worst(self, since: float = 0.0) -> float:
        """Give the longest latency of the games that were due since then."""
        return max(latency for due, latency in self.latencies if due >= since)

    async def _receive(self, reader: AIOKafkaConsumer, games: int) -> None:
        while len(self.latencies) < games:
            for records in (await reader.getmany(timeout_ms=1000)).values():
                moment = _now()
                for record in records:
                    due = self._due.pop(orjson.loads(record.value)["game_id"], None)
                    if due is not None:
                        self.latencies.append((due, 1000 * (moment - due)))


def measure(bootstrap: str, prefix: str, folder: Path, ladders: int, players: int) -> Table:
    """Measure a midnight and the end of a grace time, and a quiet time before them."""
    settings = Settings(bootstrap, topic_prefix=f"{prefix}closing-", partitions=1)
    names = [f"ladder-{number}" for number in range(ladders)]
    ladder_file = folder / "closing.toml"
    ladder_file.write_text(
        "\n".join(f'[ladders.{name}]\nsystems = ["weekly"]\n' for name in [_LIVE, *names]), encoding="utf-8"
    )
    clock = folder / "clock"
    _set(clock, _MIDNIGHT - _SECOND)
    asyncio.run(create_topics(settings))
    games = asyncio.run(_fill(settings, names, players))
    command = worker_command(settings, ladder_file)
    with started(command, folder / "closing.log", {CLOCK_FILE: str(clock)}) as process:
        process.wait_for(_READY, _PATIENCE)
        asyncio.run(wait_committed(settings, games, process, _PATIENCE))
        found = asyncio.run(_measure(settings, clock, process, ladders))
    return _table(found, ladders, players)


async def _measure(
    settings: Settings, clock: Path, process: Process, ladders: int
) -> list[tuple[str, float, float]]:
    found = []
    tp = TopicPartition(settings.topic(RATING_CHANGED), 0)
    async with (
        AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all", linger_ms=0) as producer,
        reader_of(settings) as reader,
    ):
        reader.assign([tp])
        await reader.seek_to_end(tp)
        await reader.position(tp)
        moments = {"midnight": _MIDNIGHT, "end of the grace time": _MIDNIGHT + _GRACE}
        for number, (title, moment) in enumerate(moments.items()):
            trickle = Trickle(settings, f"{_LIVE}-{number}", moment - _SECOND)
            running = asyncio.create_task(trickle.run(_BEFORE + _AFTER, producer, reader))
            await asyncio.sleep(_BEFORE)
            since = _now()
            _set(clock, moment)
            await running
            process.check()
            quiet = max(
                latency for due, latency in trickle.latencies if since - _BEFORE / 2 < due < since - 1
            )
            found.append((title, quiet, trickle.worst(since - 1)))
            await _closed(settings, (number + 1) * ladders)
    return found


async def _closed(settings: Settings, least: int) -> None:
    """Check that all ladders were closed while it was measured."""
    async with reader_of(settings) as reader:
        closed = await end_offset(reader, TopicPartition(settings.topic(COMPETITION_CLOSED), 0))
    if closed < least:
        raise click.ClickException(f"only {closed} closings were published, not {least}")


async def _fill(settings: Settings, names: list[str], players: int) -> int:
    """Put a game of every two players of every ladder on the log, and give their number."""
    async with AIOKafkaProducer(bootstrap_servers=settings.bootstrap_servers, acks="all") as producer:
        batches = Batches(producer)
        timestamp = int(_MIDNIGHT.timestamp() * 1000)
        games = list(_games(names, players))
        for game in games:
            batches.append((settings.input_topic, 0), timestamp, *_encoded(game))
        await batches.send()
    return len(games)


def _games(names: list[str], players: int) -> Iterator[dict[str, Any]]:
    for name in names:
        for number in range(players // 2):
            yield _game(name, f"game-{number}", _MIDNIGHT - timedelta(hours=1), 2 * number, players)


def _game(ladder: str, game_id: str, ended: datetime, number: int, players: int) -> dict[str, Any]:
    pair = [(number % players, 1), ((number + 1) % players, 2)]
    return {
        "game_id": game_id,
        "ladder": ladder,
        "ended_at": ended.isoformat(),
        "players": [{"player_id": f"player-{player}", "rank": rank} for player, rank in pair],
    }


def _encoded(game: dict[str, Any]) -> Any:
    return encode_event(GAME_FINISHED, game, _SOURCE, f"{game['ladder']}/{game['game_id']}")


def _set(clock: Path, moment: datetime) -> None:
    new = clock.with_suffix(".new")
    new.write_text(moment.isoformat(), encoding="ascii")
    new.replace(clock)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _table(found: list[tuple[str, float, float]], ladders: int, players: int) -> Table:
    worst = max(longest for _, _, longest in found)
    reached = verdict(worst, TARGET_MS, below=True)
    return Table(
        "closing",
        f"Closing: games while {ladders:,} ladders of {players} players end their week, in milliseconds",
        ("", "longest before", "longest meanwhile"),
        [(title, f"{quiet:.0f}", f"{longest:.0f}") for title, quiet, longest in found],
        (
            f"{RATE} games/s on one more ladder of the same partition; every game came back.",
            f"Longest: {worst:.0f} ms; to reach: under {TARGET_MS:,.0f} ms ({reached}).",
        ),
    )


@click.command(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.option("--ladders", default=1_000, type=click.IntRange(1))
@click.option("--players", default=20, type=click.IntRange(2), help="Of each ladder.")
@click.option("--bootstrap-servers", envvar="LADDERLOG_BOOTSTRAP_SERVERS", help="Else one is started.")
def main(ladders: int, players: int, bootstrap_servers: str | None) -> None:
    """Measure and print a table."""
    with (
        provided(bootstrap_servers) as servers,
        tempfile.TemporaryDirectory(prefix="ladderlog-bench-") as folder,
    ):
        prefix = f"bench-{datetime.now(UTC):%H%M%S}-"
        print(measure(servers, prefix, Path(folder), ladders, players).text())


if __name__ == "__main__":
    main()
