"""The benchmark: measures Ladderlog beside its bounds and an ordinary Faust agent, in one run.

python bench/run.py [stages] [rate] [replay] [worker] [latency] [load] [closeness]
"""

import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import backlog
import click
import latency
import load
import rating
import replay
import stages
from processes import BENCH, BenchError, output_of
from table import Table, fill

from streams.embedded.errors import BrokerError
from streams.embedded.providers import provided

PARTS = ("stages", "rate", "replay", "worker", "latency", "load", "closeness")
_PROFILE_LINES = 15


@dataclass(frozen=True)
class Sizes:
    """How much each part measures."""

    games: int = 200_000
    ordinary_games: int = 20_000
    repeat: int = 3
    rates: tuple[int, ...] = (50, 500, 3_000)
    seconds: float = 15.0
    players: int = 1_000_000
    closeness_games: int = 1_000_000


FULL = Sizes()
QUICK = Sizes(
    games=50_000,
    ordinary_games=3_000,
    repeat=1,
    rates=(50, 500),
    seconds=4.0,
    players=50_000,
    closeness_games=10_000,
)


@dataclass
class Bench:
    """One run: its sizes, a folder for files, and a broker that is started when a part needs it."""

    sizes: Sizes
    folder: Path
    given: str | None
    stack: ExitStack
    prefix: str = field(default_factory=lambda: f"bench-{int(time.time())}-")
    _servers: str | None = None

    def servers(self) -> str:
        """Give the broker's address; it is the given one, or an embedded one for the whole run."""
        if self._servers is None:
            self._servers = self.stack.enter_context(provided(self.given))
        return self._servers

    def worker(self) -> Table:
        """Measure part `worker`."""
        sizes = self.sizes
        options = backlog.Options(sizes.games, min(sizes.ordinary_games, sizes.games), sizes.repeat)
        return backlog.measure(self.servers(), self.prefix, self.folder, options)

    def latency(self) -> Table:
        """Measure part `latency`."""
        sizes = self.sizes
        return latency.measure(self.servers(), self.prefix, self.folder, list(sizes.rates), sizes.seconds)

    def load(self) -> Table:
        """Measure part `load`."""
        return load.measure(self.servers(), self.prefix, self.folder, self.sizes.players)

    def rate(self) -> Table:
        """Measure part `rate`."""
        return rating.measure(self.folder, self.sizes.games, self.sizes.repeat)

    def replay(self) -> Table:
        """Measure part `replay`."""
        # A replay has a start, which is to be little beside the rest.
        games = 3 * self.sizes.games
        return replay.measure(self.servers(), self.prefix, self.folder, games, self.sizes.repeat)

    def stages(self) -> Table:
        """Measure part `stages`."""
        return stages.measure(self.folder, min(self.sizes.games, 100_000))

    def closeness(self) -> Table | None:
        """Run the comparison of ways to compute closeness, which prints its own figures."""
        script = BENCH / "closeness_cost.py"
        if not script.exists():
            return None
        printed = output_of([str(script), str(self.sizes.closeness_games)]).decode().strip()
        return Table("closeness", "Closeness: what a game costs", (), (), (f"```\n{printed}\n```",))

    def profile(self, parts: tuple[str, ...]) -> None:
        """Print profiles instead of figures."""
        if "rate" in parts:
            rating.profile(self.folder, self.sizes.games, _PROFILE_LINES)
        if "worker" in parts:
            backlog.profile(self.servers(), self.prefix, self.folder, self.sizes.games, _PROFILE_LINES)


def _size(name: str, kind: click.ParamType, text: str, *, multiple: bool = False) -> Callable[..., Any]:
    """Make the option of a size, which shows its full value as default."""
    full = getattr(FULL, name)
    shown = ", ".join(f"{value:,}" for value in full) if multiple else f"{full:,}"
    option = f"--{name.replace('_', '-')}"
    return click.option(option, type=kind, multiple=multiple, show_default=shown, help=text)


@click.command(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@_size("games", click.IntRange(1_000), "Of the backlog, and of the file that is rated.")
@_size("ordinary_games", click.IntRange(100), "That the ordinary agent gets.")
@_size("repeat", click.IntRange(1), "Rounds of `worker`, `rate` and `replay`; the median counts.")
@_size("rates", click.IntRange(1), "Games a second of `latency`; may be given again.", multiple=True)
@_size("seconds", click.FloatRange(1), "Measured at each rate.")
@_size("players", click.IntRange(1_000), "Whose rows are loaded.")
@_size("closeness_games", click.IntRange(1_000), "Of `closeness`.")
@click.option("--quick", is_flag=True, help="Small sizes, to see that everything works: no figures to quote.")
@click.option("--profile", is_flag=True, help="Print cProfile's top lines of `rate` and `worker` instead.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables into this page.")
@click.option(
    "--bootstrap-servers",
    envvar="LADDERLOG_BOOTSTRAP_SERVERS",
    help="Measure on this broker; an embedded one is started when not given.",
)
def main(
    parts: tuple[str, ...],
    *,
    quick: bool,
    profile: bool,
    markdown: Path | None,
    bootstrap_servers: str | None,
    **given: object,
) -> None:
    """Measure PARTS (all when none is named) and print a table of each."""
    sizes = Sizes(**{**vars(QUICK if quick else FULL), **{k: v for k, v in given.items() if v}})
    parts = parts or PARTS
    # So that what was started is stopped, and the files are removed, as with Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with _bench(sizes, bootstrap_servers) as bench:
            if profile:
                bench.profile(parts)
            else:
                _measure(bench, parts, markdown)
    except (BenchError, BrokerError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _bench(sizes: Sizes, given: str | None) -> Iterator[Bench]:
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="ladderlog-bench-") as folder:
        yield Bench(sizes, Path(folder), given, stack)


def _measure(bench: Bench, parts: tuple[str, ...], markdown: Path | None) -> None:
    tables = [_machine()]
    print(tables[0].notes[0], flush=True)
    for part in PARTS:
        if part not in parts:
            continue
        click.echo(f"{part} …", err=True)
        measured: Callable[[], Table | None] = getattr(bench, part)
        table = measured()
        if table is not None:
            print(f"\n{table.text()}", flush=True)
            tables.append(table)
            if markdown is not None:
                fill(markdown, tables)


def _machine() -> Table:
    note = (
        f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores; "
        f"{platform.python_implementation()} {platform.python_version()}. "
        f"Load average before the start: {os.getloadavg()[0]:.1f}; above 0.3, wait: figures will be too low."
    )
    return Table("machine", "Machine", (), (), (note,))


if __name__ == "__main__":
    main()
