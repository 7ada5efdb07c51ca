"""Part `load`: how long a starting worker takes to load the rows of many players, and its memory."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from deployment import create_topics
from games import FUNDOX_ALONE, finished
from processes import BENCH, Process, output_of, started, worker_command
from table import Table, verdict

from streams.core.ladders import Ladders
from streams.core.outcomes import OutcomeCounts
from streams.files.ladder_file import read_ladders
from streams.runtime.settings import Settings
from streams.runtime.transaction import PartitionWriter
from streams.wire.decode import decode_checked

TARGET_PLAYERS = 1_000_000
TARGET_SECONDS = 15.0
TARGET_BYTES = 1_000_000_000
_PATIENCE = 600.0
_LOADED = r"(\d+) rows loaded in ([\d.]+) s"
_PLAYERS_AT_ONCE = 50_000
_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Loaded:
    """What one start showed."""

    rows: int
    seconds: float
    until_owner: float
    peak: int
    bare: float


def measure(bootstrap: str, prefix: str, folder: Path, players: int) -> Table:
    """Measure the players' rows alone, and with those of the games that are remembered."""
    ladders = folder / "fundox.toml"
    ladders.write_text(FUNDOX_ALONE, encoding="utf-8")
    found = {}
    for games_too in (False, True):
        name = "all" if games_too else "players"
        settings = Settings(bootstrap, topic_prefix=f"{prefix}load-{name}-", partitions=1)
        asyncio.run(_write(settings, ladders, players, games_too=games_too))
        found[name] = _start(settings, ladders, folder / f"load-{name}.log")
    return _table(players, found["players"], found["all"])


def _start(settings: Settings, ladders: Path, log: Path) -> Loaded:
    bare = orjson.loads(
        output_of([str(BENCH / "bare_loop.py"), settings.bootstrap_servers, settings.changelog_topic, "rows"])
    )
    began = time.monotonic()
    with started(worker_command(settings, ladders), log) as process:
        line = process.wait_for(_LOADED, _PATIENCE)
        until_owner = time.monotonic() - began
        return Loaded(int(line[1]), float(line[2]), until_owner, _settled_peak(process), bare["seconds"])


def _settled_peak(process: Process) -> int:
    time.sleep(2)
    process.check()
    return process.peak_bytes()


async def _write(settings: Settings, ladders: Path, players: int, *, games_too: bool) -> None:
    """Write the changelog as the owner of the partition would: its transactions, its rows, its watermark."""
    await create_topics(settings)
    writer = PartitionWriter(settings, 0)
    await writer.start()
    now = int(time.time() * 1000)
    try:
        for rows in _rows(ladders, players, games_too=games_too):
            transaction = writer.new_transaction()
            transaction.append_rows(rows, now)
            # The rows are those of offset 0, which is where a group without a committed offset is.
            transaction.append_watermark(0, OutcomeCounts(), now)
            async with transaction.open():
                await transaction.send()
                await transaction.send_offset(0)
    finally:
        await writer.stop()


def _rows(ladders: Path, players: int, *, games_too: bool) -> Iterator[list[tuple[str, Any]]]:
    """Yield the fold's own rows, some thousand players at a time, each after one game."""
    rules = read_ladders(ladders)
    for start in range(0, players, _PLAYERS_AT_ONCE):
        fold = Ladders(rules)
        members = range(start, min(players, start + _PLAYERS_AT_ONCE))
        for game in _games(members):
            fold.apply(decode_checked(game), [])
        yield [(key, row) for key, row in fold.changed_rows() if games_too or key.startswith("player/")]


def _games(members: range) -> Iterator[dict[str, Any]]:
    ended = datetime.now(UTC).replace(microsecond=0)
    for winner in members[:-1:2]:
        pair = [(winner, 1), (winner + 1, 2)]
        players = [{"player_id": f"player-{number}", "rank": rank} for number, rank in pair]
        yield finished(f"game-{winner}", ended, players)


def _table(players: int, alone: Loaded, everything: Loaded) -> Table:
    shown = [(f"{players:,} players", alone), ("the same, and a remembered game of each two", everything)]
    rows = [
        (
            text,
            f"{loaded.rows:,}",
            f"{loaded.seconds:.1f}",
            f"{loaded.until_owner:.1f}",
            f"{loaded.peak / _MEGABYTE:,.0f}",
            f"{loaded.seconds / loaded.bare:.1f}",
        )
        for text, loaded in shown
    ]
    return Table(
        "load",
        "Load: a worker that starts on a full changelog",
        (
            "",
            "rows",
            "loading, s",
            "from the start of the process, s",
            "peak memory, MB",
            "times a bare read",
        ),
        rows,
        (*_reached(players, alone), "A bare read fetches the same rows and parses them."),
    )


def _reached(players: int, loaded: Loaded) -> list[str]:
    if players < TARGET_PLAYERS:
        return []
    seconds = verdict(loaded.seconds, TARGET_SECONDS, below=True)
    peak = verdict(loaded.peak, TARGET_BYTES, below=True)
    return [
        f"{TARGET_PLAYERS:,} players, to reach: under {TARGET_SECONDS:.0f} s ({seconds}).",
        f"{TARGET_PLAYERS:,} players, to reach: under {TARGET_BYTES // _MEGABYTE:,} MB ({peak}).",
    ]
