"""The commands that send games to a broker: `produce` from a file, `simulate` from a made-up club."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click
import orjson

from streams.cli.deployments import check_input_of
from streams.cli.options import (
    app_id_option,
    connection_options,
    gathered_settings,
    kafka_options,
    parse_moment,
    partitions_option,
    prefix_option,
    replication_option,
)
from streams.cli.settings_model import command
from streams.files.jsonl import open_lines
from streams.files.progress import file_progress, progress
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.runtime.produce import ProduceReport

# A quarter of an hour of a busy site; enough to see every ladder move.
_SIMULATED_GAMES = 20_000
_SIMULATED_PLAYERS = 500
_SIMULATION_START = "2026-11-02T00:00:00+00:00"


@command("produce")
@kafka_options
@click.argument("file")
def produce_command(settings: Settings, file: str) -> None:
    """Send the events of a file of JSON lines to the game-finished topic. `-` is standard input."""
    from streams.runtime.produce import produce_lines

    check_input_of(settings)
    with open_lines(file) as lines, file_progress("produce", lines) as bar:
        report = asyncio.run(produce_lines(settings, lines, "ladderlog/produce", bar))
    _show_report(report)


@command("simulate")
@click.option("--games", default=_SIMULATED_GAMES, type=click.IntRange(0), help="How many.")
@click.option("--players", default=_SIMULATED_PLAYERS, type=click.IntRange(5), help="Of the whole club.")
@click.option("--seed", default=1, type=int, help="Another seed is another club.")
@click.option("--start", default=_SIMULATION_START, help="When the first game ends, with its UTC offset.")
@connection_options(
    required=False, variable="LADDERLOG_SIMULATE_TO", text="Send to this broker instead of printing."
)
@prefix_option
@app_id_option
@partitions_option
@replication_option
@gathered_settings
def simulate_command(games: int, players: int, seed: int, start: str, settings: Settings | None) -> None:
    """Print the finished games of a made-up club as JSON lines, or send them to a broker."""
    from streams.embedded.club import simulate

    events = simulate(games=games, players=players, seed=seed, start=parse_moment(start))
    if settings is None:
        for event in events:
            sys.stdout.buffer.write(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))
        return
    from streams.runtime.produce import produce_events

    check_input_of(settings)
    with progress("simulate", games) as bar:
        report = asyncio.run(produce_events(settings, events, "ladderlog/simulate", bar))
    _show_report(report)


def _show_report(report: "ProduceReport") -> None:
    """Say how many events the broker took, and end with status 1 when it did not take all."""
    click.echo(f"{report.taken} events taken by the broker, {len(report.failed)} not", err=True)
    for number, reason in report.failed:
        click.echo(f"  event {number}: {reason}", err=True)
    if report.failed:
        sys.exit(1)
