"""Part `latency`: from sending a game to its committed rating-changed, at a few steady rates.

The schedule is open-loop: game n is due at start + n / rate whatever happened to those before it, and its
latency counts from when it was due. A system that stalls is charged for everyone who waited meanwhile.
"""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from deployment import create_topics, reader_of
from games import FUNDOX_ALONE, PLAYERS, encoded, finished
from processes import BenchError, started, worker_command
from table import Table, verdict

from streams.core.events import RATING_CHANGED
from streams.runtime.settings import Settings
from streams.wire.encode import Record

TARGET_RATE = 500
TARGET_MS = 250.0
WARM_UP = 5.0
_START_PATIENCE = 60.0
_READY = "owner from offset"
# Games still under way when the sending ends; beyond this they are lost, or the worker cannot keep up.
_DRAIN = 30.0
_numbers = itertools.count()


@dataclass(frozen=True)
class Run:
    """What one steady rate showed: milliseconds of each game after the warm-up, in order of arrival."""

    rate: int
    latencies: list[float]

    def quantile(self, part: float) -> float:
        """Give the latency that this part of the games did not exceed."""
        return sorted(self.latencies)[min(len(self.latencies) - 1, int(part * len(self.latencies)))]

    def growth(self) -> float:
        """Give the median of the last third over that of the first: what grows with time shows here."""
        third = len(self.latencies) // 3
        return median(self.latencies[-third:]) / median(self.latencies[:third])


@dataclass
class _Probe:
    """When each game that has not come back is due, and the latencies of those that have."""

    counted_from: float
    under_way: dict[str, float]
    latencies: list[float] = field(default_factory=list)

    def arrived(self, game_id: str, now: float) -> None:
        due = self.under_way.pop(game_id, None)
        if due is not None and due >= self.counted_from:
            self.latencies.append(1000 * (now - due))


def measure(bootstrap: str, prefix: str, folder: Path, rates: list[int], seconds: float) -> Table:
    """Measure each rate with one worker, then the way through the broker without one."""
    settings = Settings(bootstrap, topic_prefix=f"{prefix}latency-", partitions=1)
    without = Settings(bootstrap, topic_prefix=f"{prefix}alone-", partitions=1)
    ladders = folder / "fundox.toml"
    ladders.write_text(FUNDOX_ALONE, encoding="utf-8")
    asyncio.run(create_topics(settings))
    asyncio.run(create_topics(without))
    changed = settings.topic(RATING_CHANGED)
    with started(worker_command(settings, ladders), folder / "latency.log") as process:
        process.wait_for(_READY, _START_PATIENCE)
        runs = [asyncio.run(_run(settings, changed, rate, seconds, process.check)) for rate in rates]
    alone = [asyncio.run(_run(without, without.input_topic, rate, seconds)) for rate in rates]
    return _table(runs, alone, seconds)


async def _run(
    settings: Settings, topic: str, rate: int, seconds: float, check: Callable[[], None] | None = None
) -> Run:
    tp = TopicPartition(topic, 0)
    prepared = [_game() for _ in range(int(rate * (WARM_UP + seconds)))]
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.bootstrap_servers, acks="all", enable_idempotence=True, linger_ms=0
    )
    await producer.start()
    try:
        async with reader_of(settings) as reader:
            reader.assign([tp])
            await reader.seek_to_end(tp)
            await reader.position(tp)
            begin = asyncio.get_running_loop().time() + 0.5
            due = {game_id: begin + number / rate for number, (game_id, _) in enumerate(prepared)}
            probe = _Probe(counted_from=begin + WARM_UP, under_way=due)
            receiving = asyncio.create_task(_receive(reader, probe))
            await _send(producer, settings.input_topic, [(due[game_id], sent) for game_id, sent in prepared])
            await _drained(probe, check)
            receiving.cancel()
    finally:
        await producer.stop()
    return Run(rate, probe.latencies)


async def _send(producer: AIOKafkaProducer, topic: str, schedule: list[tuple[float, Record]]) -> None:
    """Send every game when it is due; those that came due while others were on their way go together."""
    now: Callable[[], float] = asyncio.get_running_loop().time
    number = 0
    while number < len(schedule):
        await asyncio.sleep(max(0.0, schedule[number][0] - now()))
        batch = producer.create_batch()
        latest = now()
        while number < len(schedule) and schedule[number][0] <= latest:
            key, value, headers = schedule[number][1]
            if batch.append(key=key, value=value, headers=headers, timestamp=None) is None:
                break
            number += 1
        if batch.record_count():
            await (await producer.send_batch(batch, topic, partition=0))


async def _receive(reader: AIOKafkaConsumer, probe: _Probe) -> None:
    now = asyncio.get_running_loop().time
    while True:
        for records in (await reader.getmany(timeout_ms=1000)).values():
            moment = now()
            for record in records:
                probe.arrived(orjson.loads(record.value)["game_id"], moment)


async def _drained(probe: _Probe, check: Callable[[], None] | None) -> None:
    deadline = asyncio.get_running_loop().time() + _DRAIN
    while probe.under_way:
        if check is not None:
            check()
        if asyncio.get_running_loop().time() > deadline:
            raise BenchError(f"{len(probe.under_way)} games did not come back within {_DRAIN:.0f} s")
        await asyncio.sleep(0.05)


def _game() -> tuple[str, Record]:
    """Make the next game, ready to be sent."""
    number = next(_numbers)
    first = number * 7919 % PLAYERS
    second = (first + 1 + number * 104_729 % (PLAYERS - 1)) % PLAYERS
    players = [{"player_id": f"player-{first}", "rank": 1}, {"player_id": f"player-{second}", "rank": 2}]
    game_id = f"live-{number}"
    return game_id, encoded(finished(game_id, datetime.now(UTC).replace(microsecond=0), players))


def _table(runs: list[Run], alone: list[Run], seconds: float) -> Table:
    rows = [
        (
            f"{run.rate:,}",
            *(f"{figure:.0f}" for figure in (run.quantile(0.5), run.quantile(0.99), max(run.latencies))),
            f"{run.growth():.1f}",
            f"{base.quantile(0.5):.1f}",
            f"{base.quantile(0.99):.1f}",
        )
        for run, base in zip(runs, alone, strict=True)
    ]
    notes = [f"{seconds:.0f} s each after {WARM_UP:.0f} s of warm-up; every game came back."]
    for run in runs:
        if run.rate == TARGET_RATE:
            worst = run.quantile(0.99)
            reached = verdict(worst, TARGET_MS, below=True)
            notes.append(
                f"99 % at {TARGET_RATE} games/s: {worst:.0f} ms; to reach: under {TARGET_MS:.0f} ({reached})."
            )
    return Table(
        "latency",
        "Latency: from sending a game to its committed rating-changed, in milliseconds",
        (
            "games/s",
            "50 %",
            "99 %",
            "longest",
            "last third to first",
            "broker alone 50 %",
            "broker alone 99 %",
        ),
        rows,
        notes,
    )
