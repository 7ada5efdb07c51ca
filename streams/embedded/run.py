"""`ladderlog run`: a broker, the topics, a worker and games, shown at work on one machine."""

import asyncio
import itertools
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from streams.core.ladders import Ladders
from streams.core.outcomes import OutcomeCounts
from streams.core.rankings import ranking_text
from streams.core.rules import LadderRules
from streams.embedded.club import simulate
from streams.embedded.errors import ShowError
from streams.embedded.providers import provided
from streams.embedded.worker_process import PATIENCE, POLL, WorkerProcess, worker_of
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
# More than enough for the simulated duplicates, which come a little later.
_REMEMBERED = 1_000
_SOURCE = "ladderlog/run"

Event = dict[str, Any]


@dataclass(frozen=True)
class ShowRequest:
    """What to show: whose ladders, which games (None: a simulated season), and whether to end after it."""

    rules: Mapping[str, LadderRules]
    ladder_file: Path
    games: Path | None = None
    once: bool = False
    seed: int = 1


def show(request: ShowRequest, echo: Callable[[str], None]) -> None:
    """Run everything until Ctrl-C (or, `once`, until the report), and leave nothing behind.

    Raises ShowError when a part ends that should not, and BrokerError when no broker can be had.
    """
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with provided(os.environ.get("LADDERLOG_BOOTSTRAP_SERVERS")) as servers:
            echo(f"Broker at {servers}.")
            _Show(request, Settings(servers), clock_of_environment(), echo).run()
    except KeyboardInterrupt:
        echo("\nStopped.")
    finally:
        signal.signal(signal.SIGTERM, previous)


@dataclass(frozen=True)
class _Show:
    """A demonstration on a broker, from its topics on."""

    request: ShowRequest
    settings: Settings
    clock: Clock
    echo: Callable[[str], None]

    def run(self) -> None:
        """Send the games, have them rated, report, and go on unless once is enough."""
        asyncio.run(ensure_topics(self.settings))
        season = _season(self.request.seed, self.clock)
        started = time.monotonic()
        # All of the past before the worker: between two games that come slowly, on a busy machine, it would
        # take a week for over, and the rest of its games for late.
        produced = self._produce(itertools.islice(season, GAMES))
        sending = time.monotonic() - started
        with worker_of(self.settings, self.request.ladder_file) as worker:
            owned = time.monotonic()
            status = asyncio.run(self._finished(worker))
            self._report(status, produced, sending + time.monotonic() - owned)
            if not self.request.once:
                self._go_on(
                    worker, None if self.request.games is not None else _as_of_now(season, self.clock)
                )

    def _produce(self, season: Iterable[Event]) -> ProduceReport:
        """Send the games asked for, else those of a season."""
        games = self.request.games
        if games is None:
            with progress("games in", GAMES) as bar:
                return asyncio.run(produce_events(self.settings, season, _SOURCE, bar))
        with open_lines(str(games)) as lines, progress("games in") as bar:
            return asyncio.run(produce_lines(self.settings, lines, _SOURCE, bar))

    async def _finished(self, worker: WorkerProcess) -> list[PartitionStatus]:
        """Return where every partition is once nothing is behind and every week that is over has ended."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            worker.check()
            status = await read_status(self.settings)
            if all(partition.behind == 0 for partition in status) and await self._weeks_are_closed():
                return status
            await asyncio.sleep(POLL)
        raise ShowError(f"the worker is not through after {PATIENCE:.0f} seconds")

    async def _weeks_are_closed(self) -> bool:
        """Say whether the timer has ended every week that is over."""
        return not (await self._read_fold()).weeks_due(self.clock.now())

    async def _read_fold(self) -> Ladders:
        return await read_fold(self.settings, lambda: Ladders(self.request.rules))

    def _report(self, status: list[PartitionStatus], produced: ProduceReport, seconds: float) -> None:
        """Show the rankings, the last week's winners, how fast it was, and where to look further."""
        fold = asyncio.run(self._read_fold())
        for ladder, rules in self.request.rules.items():
            for system in rules.systems:
                self.echo(ranking_text(fold, ladder, system, TOP))
        self._report_weeks()
        self.echo(
            f"\n{produced.taken} events in {seconds:.1f} s, {produced.taken / seconds:.0f} games per second."
        )
        self.echo(f"Of the events: {_counts_text(status)}.")
        for number, reason in produced.failed:
            self.echo(f"Not sent: event {number}: {reason}")
        servers = self.settings.bootstrap_servers
        self.echo(
            f"\nWhere to look: ladderlog status --bootstrap-servers {servers}"
            f"\n               ladderlog ranking --ladder {next(iter(self.request.rules))} "
            f"--bootstrap-servers {servers}"
        )

    def _report_weeks(self) -> None:
        """Show the winners of the last closed week of every ladder that has one."""
        closed = asyncio.run(read_closed(self.settings))
        last = dict(sorted(closed))
        for closing in last.items():
            self.echo(week_text(closed[closing], WINNERS))

    def _go_on(self, worker: WorkerProcess, live: Iterator[Event] | None) -> None:
        """Keep everything running until Ctrl-C or SIGTERM, with a trickle of live games if there are any."""
        more = "" if live is None else f" {TRICKLE:g} games a second go on."
        self.echo("\nRunning on until Ctrl-C." + more)
        try:
            asyncio.run(self._trickle(worker, live))
        except KeyboardInterrupt:
            self.echo("\nStopping.")
            ladder, rules = next(iter(self.request.rules.items()))
            self.echo(ranking_text(asyncio.run(self._read_fold()), ladder, next(iter(rules.systems)), TOP))

    async def _trickle(self, worker: WorkerProcess, live: Iterator[Event] | None) -> None:
        async with Sender(self.settings, _SOURCE) as sender:
            with progress("live") as bar:
                for event in itertools.repeat(None) if live is None else live:
                    worker.check()
                    if event is not None:
                        await sender.send(event)
                        bar.update(1)
                    await asyncio.sleep(1 / TRICKLE)


def _season(seed: int, clock: Clock) -> Iterator[Event]:
    """Return a simulated season that ends about now, and goes on from there."""
    start = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) - _SEASON
    return simulate(games=None, players=PLAYERS, seed=seed, start=start)


def _counts_text(status: list[PartitionStatus]) -> str:
    """Return how many records of all partitions had each outcome."""
    totals = {
        name: sum(partition.counts.get(name, 0) for partition in status) for name in OutcomeCounts().shown()
    }
    return ", ".join(f"{count} {name}" for name, count in totals.items())


def _as_of_now(season: Iterator[Event], clock: Clock) -> Iterator[Event]:
    """Yield simulated games as if they ended now; a duplicate stays a duplicate."""
    sent: dict[str, Event] = {}
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
