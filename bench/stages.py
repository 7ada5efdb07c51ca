"""Part `stages`: where a game's microseconds go in the worker, stage after stage, without a broker.

A hundred games go through all stages before the next hundred come, as in the worker, with a clock between two
stages: a profiler would make small Python calls look dearer than they are.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

import orjson
from aiokafka import AIOKafkaProducer
from games import ALL_SYSTEMS, FUNDOX_ALONE, encoded, games
from table import Table

from streams.core.events import GAME_FINISHED
from streams.core.ladders import Ladders
from streams.core.rules import LadderRules
from streams.files.ladder_file import read_ladders
from streams.processor import EVENTS_TOGETHER, decode_all
from streams.runtime.batches import Batches, partition_of
from streams.wire.decode import decode_record
from streams.wire.encode import Record, encode_published
from streams.wire.schemas import validator

_ROUNDS = 3
_GROUP = EVENTS_TOGETHER
_GAMES_A_TRANSACTION = 20_000
_SOURCE = b"ladderlog/bench"
_PARTITIONS = 4
_is_valid = validator(GAME_FINISHED).is_valid

PARSE = "(for comparison: orjson.loads)"
CHECK = "(for comparison: the JSON Schema)"
DECODE = "decode the record"
FOLD = "fold the game"
ENCODE = "encode what is published"
PARTITION = "choose its partitions"
APPEND = "append it to record batches"
COLLECT = "collect the changed rows"
ROWS = "encode and append the rows"
STAGES = (DECODE, FOLD, ENCODE, PARTITION, APPEND, COLLECT, ROWS)
SHOWN = (DECODE, PARSE, CHECK, *STAGES[1:])

_clock = time.perf_counter
Raw = tuple[Record, int]


class Samples:
    """What each stage took for one game, group by group, in microseconds."""

    def __init__(self) -> None:
        self._samples: dict[str, list[float]] = defaultdict(list)

    def add(self, stage: str, seconds: float, count: int) -> None:
        """Add one group's seconds."""
        self._samples[stage].append(1e6 * seconds / count)

    def timed(self, stage: str, count: int, work: Callable[[], object]) -> None:
        """Do some work of `count` games at once and add what it takes."""
        began = _clock()
        work()
        self.add(stage, _clock() - began, count)

    def figure(self, stage: str) -> float:
        """Give the lower quartile: a busy machine adds to some groups and takes off from none."""
        return quantiles(self._samples[stage])[0]


def measure(folder: Path, count: int) -> Table:
    """Measure every stage with fundox alone and with all systems."""
    found = []
    for name, text in (("fundox", FUNDOX_ALONE), ("all", ALL_SYSTEMS)):
        ladders = folder / f"{name}.toml"
        ladders.write_text(text, encoding="utf-8")
        samples = Samples()
        for _ in range(_ROUNDS):
            asyncio.run(_round(samples, read_ladders(ladders), count, points=name == "all"))
        found.append(samples)
    rows = [(stage, *(f"{samples.figure(stage):.2f}" for samples in found)) for stage in SHOWN]
    totals = [sum(samples.figure(stage) for stage in STAGES) for samples in found]
    rows.append(("**together**", *(f"{total:.1f}" for total in totals)))
    rows.append(("so many games/s on one core", *(f"{1e6 / total:,.0f}" for total in totals)))
    return Table(
        "stages",
        "Stages: where a game of two goes through the worker, µs a game",
        ("", "fundox alone", "all five systems"),
        rows,
        (f"Lower quartile of groups of {_GROUP} games; {count:,} games, {_ROUNDS} rounds.",),
    )


async def _round(samples: Samples, rules: dict[str, LadderRules], count: int, *, points: bool) -> None:
    """Take all games through every stage; a coroutine, because aiokafka makes producers nowhere else."""
    fold = Ladders(rules)
    # Never started: only its record batches are used.
    producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1", max_batch_size=900_000)
    batches = Batches(producer)
    raw = [(encoded(fields), timestamp) for fields, timestamp in games(count, points=points)]
    for start in range(0, count, _GROUP):
        group = raw[start : start + _GROUP]
        _parts_of_decoding(samples, group)
        _stages(samples, fold, batches, group)
        if (start + _GROUP) % _GAMES_A_TRANSACTION == 0:
            _append_rows(samples, batches, fold)
            batches = Batches(producer)
    await producer.stop()


def _stages(samples: Samples, fold: Ladders, batches: Batches, group: list[Raw]) -> None:
    """Take a group through the stages, as the worker's partition does."""
    began = _clock()
    events = decode_all(_decode, group)
    decoded = _clock()
    published = [out for _, out, _ in fold.fold(events)]
    folded = _clock()
    records = [
        record
        for offset, out in enumerate(published)
        for _, record in encode_published(out, _SOURCE, f"game-finished/0/{offset}")
    ]
    ready = _clock()
    targets = [("rating-changed", partition_of(record[0], _PARTITIONS)) for record in records]
    chosen = _clock()
    for target, record in zip(targets, records, strict=True):
        batches.append(target, group[0][1], *record)
    appended = _clock()
    moments = (began, decoded, folded, ready, chosen, appended)
    stages = (DECODE, FOLD, ENCODE, PARTITION, APPEND)
    for stage, start, end in zip(stages, moments, moments[1:], strict=False):
        samples.add(stage, end - start, len(group))


def _decode(raw: Raw) -> Any:
    (_, value, headers), timestamp = raw
    return decode_record(value, headers, timestamp)


def _parts_of_decoding(samples: Samples, group: list[Raw]) -> None:
    parsed = [orjson.loads(value) for (_, value, _), _ in group]
    samples.timed(PARSE, len(group), lambda: [orjson.loads(value) for (_, value, _), _ in group])
    samples.timed(CHECK, len(group), lambda: [_is_valid(fields) for fields in parsed])


def _append_rows(samples: Samples, batches: Batches, fold: Ladders) -> None:
    rows: list[tuple[str, Any]] = []
    samples.timed(COLLECT, _GAMES_A_TRANSACTION, lambda: rows.extend(fold.changed_rows()))

    def append() -> None:
        for key, row in rows:
            batches.append(("changelog", 0), 0, key.encode(), None if row is None else orjson.dumps(row))

    samples.timed(ROWS, _GAMES_A_TRANSACTION, append)
