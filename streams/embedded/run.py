"""`ladderlog run`: a broker, the topics, a worker and games, shown at work on one machine."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from streams.core.ladders import Ladders
from streams.core.outcomes import OutcomeCounts
from streams.core.rankings import ranking_text
from streams.core.rules import LadderRules
from streams.embedded.club import simulate
from streams.embedded.providers import provided
from streams.files.jsonl import open_lines
from streams.files.progress import progress
from streams.runtime.clock import Clock, clock_of_environment
from streams.runtime.competitions import read_closed, week_text
from streams.runtime.produce import ProduceReport, Sender, produce_events, produce_lines
from streams.runtime.settings import Settings
from streams.runtime.status import PartitionStatus, read_fold, read_status
from streams.runtime.topics import ensure_topics

GAMES = 20_000
PLAYERS = 500
TOP = 10
WINNERS = 3
# Events a second of the live trickle: slow enough to read, fast enough to see it move.
TRICKLE = 5.0
_SEASON = timedelta(days=28)
_POLL = 0.25
# More than enough for the simulated duplicates, which come a little later.
_REMEMBERED = 1_000
# A worker that does not finish within this is broken, on any machine.
_PATIENCE = 300.0
_STOP_PATIENCE = 30.0


class ShowError(Exception):
    """The demonstration cannot go on; the message says why."""


def show(
    rules: Mapping[str, LadderRules],
    ladder_file: Path,
    games: Path | None,
    *,
    once: bool,
    seed: int,
    echo: Callable[[str], None],
) -> None:
    """Run everything until Ctrl-C (or, `once`, until the report), and leave nothing behind.

    Raises ShowError when a part ends that should not, and BrokerError when no broker can be had.
    """
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with provided(os.environ.get("LADDERLOG_BOOTSTRAP_SERVERS")) as servers:
            settings = Settings(servers)
            echo(f"Broker at {servers}.")
            asyncio.run(ensure_topics(settings))
            clock = clock_of_environment()
            season = _season(seed, clock)
            started = time.monotonic()
            # All of the past before the worker: between two games that come slowly, on a busy machine, it
            # would take a week for over, and the rest of its games for late.
            produced = _produce(settings, games, itertools.islice(season, GAMES))
            sending = time.monotonic() - started
            with _worker(settings, ladder_file) as worker:
                owned = time.monotonic()
                status = asyncio.run(_finished(settings, rules, worker, clock))
                _report(settings, rules, status, produced, sending + time.monotonic() - owned, echo)
                if not once:
                    live = None if games is not None else _as_of_now(season, clock)
                    _go_on(settings, rules, worker, live, echo)
    except KeyboardInterrupt:
        echo("\nStopped.")
    finally:
        signal.signal(signal.SIGTERM, previous)


def _season(seed: int, clock: Clock) -> Iterator[dict[str, Any]]:
    """Simulate a season that ends about now, and goes on from there."""
    start = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) - _SEASON
    return simulate(games=None, players=PLAYERS, seed=seed, start=start)


@contextmanager
def _worker(settings: Settings, ladder_file: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a worker that owns every partition, and stop it at the end."""
    with tempfile.NamedTemporaryFile(prefix="ladderlog-worker-", suffix=".log") as log:
        environment = {
            **os.environ,
            "LADDERLOG_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
            "LADDERLOG_LADDERS": str(ladder_file.resolve()),
        }
        # Said in options, so that variables set for another deployment do not lead the worker there.
        command = [sys.executable, "-m", "streams", "worker", "--until-stdin-ends"]
        command += ["--app-id", settings.app_id, "--partitions", str(settings.partitions)]
        command += ["--topic-prefix", settings.topic_prefix, "--output-prefix", settings.topic_prefix]
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _await_owner(process, Path(log.name), settings.partitions)
            yield process
        except _WorkerEndedError as error:
            lines = Path(log.name).read_text(errors="replace").splitlines()[-15:]
            raise ShowError("\n  ".join([str(error), *lines])) from error
        finally:
            _stop(process)


def _await_owner(process: "subprocess.Popen[bytes]", log: Path, partitions: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while log.read_text(errors="replace").count("owner from offset") < partitions:
        if process.poll() is not None:
            raise _WorkerEndedError(f"the worker ended with status {process.returncode}:")
        if time.monotonic() > deadline:
            raise ShowError(f"the worker does not own its partitions after {_PATIENCE:.0f} seconds")
        time.sleep(_POLL)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


class _WorkerEndedError(Exception):
    pass


def _produce(settings: Settings, games: Path | None, season: Iterable[dict[str, Any]]) -> ProduceReport:
    if games is None:
        with progress("games in", GAMES) as bar:
            return asyncio.run(produce_events(settings, season, "ladderlog/run", bar))
    with open_lines(str(games)) as lines, progress("games in") as bar:
        return asyncio.run(produce_lines(settings, lines, "ladderlog/run", bar))


async def _finished(
    settings: Settings, rules: Mapping[str, LadderRules], worker: "subprocess.Popen[bytes]", clock: Clock
) -> list[PartitionStatus]:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if worker.poll() is not None:
            raise _WorkerEndedError(f"the worker ended with status {worker.returncode}:")
        status = await read_status(settings)
        if all(partition.behind == 0 for partition in status) and await _weeks_are_closed(
            settings, rules, clock
        ):
            return status
        await asyncio.sleep(_POLL)
    raise ShowError(f"the worker is not through after {_PATIENCE:.0f} seconds")


async def _weeks_are_closed(settings: Settings, rules: Mapping[str, LadderRules], clock: Clock) -> bool:
    """Say whether the timer has ended every week that is over."""
    fold = await read_fold(settings, lambda: Ladders(rules))
    return not fold.weeks_due(clock.now())


def _report(
    settings: Settings,
    rules: Mapping[str, LadderRules],
    status: list[PartitionStatus],
    produced: ProduceReport,
    seconds: float,
    echo: Callable[[str], None],
) -> None:
    fold = asyncio.run(read_fold(settings, lambda: Ladders(rules)))
    for ladder, ladder_rules in rules.items():
        for system in ladder_rules.systems:
            echo(ranking_text(fold, ladder, system, TOP))
    totals = {
        name: sum(partition.counts.get(name, 0) for partition in status) for name in OutcomeCounts().shown()
    }
    counts = ", ".join(f"{count} {name}" for name, count in totals.items())
    _report_weeks(settings, echo)
    echo(f"\n{produced.taken} events in {seconds:.1f} s, {produced.taken / seconds:.0f} games per second.")
    echo(f"Of the events: {counts}.")
    for number, reason in produced.failed:
        echo(f"Not sent: event {number}: {reason}")
    echo(
        f"\nWhere to look: ladderlog status --bootstrap-servers {settings.bootstrap_servers}"
        f"\n               ladderlog ranking --ladder {next(iter(rules))} "
        f"--bootstrap-servers {settings.bootstrap_servers}"
    )


def _report_weeks(settings: Settings, echo: Callable[[str], None]) -> None:
    """Show the winners of the last closed week of every ladder that has one."""
    closed = asyncio.run(read_closed(settings))
    last = dict(sorted(closed))
    for closing in last.items():
        echo(week_text(closed[closing], WINNERS))


def _go_on(
    settings: Settings,
    rules: Mapping[str, LadderRules],
    worker: "subprocess.Popen[bytes]",
    season: Iterator[dict[str, Any]] | None,
    echo: Callable[[str], None],
) -> None:
    """Keep everything running until Ctrl-C or SIGTERM, with a live trickle of simulated games."""
    echo("\nRunning on until Ctrl-C." + ("" if season is None else f" {TRICKLE:g} games a second go on."))
    try:
        asyncio.run(_trickle(settings, worker, season))
    except KeyboardInterrupt:
        echo("\nStopping.")
        fold = asyncio.run(read_fold(settings, lambda: Ladders(rules)))
        ladder = next(iter(rules))
        echo(ranking_text(fold, ladder, next(iter(rules[ladder].systems)), TOP))


async def _trickle(
    settings: Settings, worker: "subprocess.Popen[bytes]", season: Iterator[dict[str, Any]] | None
) -> None:
    async with Sender(settings, "ladderlog/run") as sender:
        with progress("live") as bar:
            for event in itertools.repeat(None) if season is None else season:
                if worker.poll() is not None:
                    raise _WorkerEndedError(f"the worker ended with status {worker.returncode}:")
                if event is not None:
                    await sender.send(event)
                    bar.update(1)
                await asyncio.sleep(1 / TRICKLE)


def _as_of_now(season: Iterator[dict[str, Any]], clock: Clock) -> Iterator[dict[str, Any]]:
    """Let simulated games end now; a duplicate stays a duplicate."""
    sent: dict[str, dict[str, Any]] = {}
    for event in season:
        game = sent.get(event["game_id"])
        if game is None:
            now = clock.now().isoformat(timespec="seconds").replace("+00:00", "Z")
            players = [
                {**player, "left_at": now} if "left_at" in player else player for player in event["players"]
            ]
            game = sent[event["game_id"]] = {**event, "started_at": now, "ended_at": now, "players": players}
        if len(sent) > _REMEMBERED:
            del sent[next(iter(sent))]
        yield dict(game)
