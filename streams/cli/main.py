"""The command line: the one place where settings, files, folds and the broker are put together."""

import asyncio
import gc
import os
import signal
import sys
import time
import zoneinfo
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import click
import orjson
from aiokafka.errors import KafkaError

from streams.cli.correct import rebuild_command, void_command
from streams.cli.export import export_command
from streams.cli.imports import import_command
from streams.cli.options import (
    app_id_option,
    file_errors,
    kafka_options,
    ladders_option,
    partitions_option,
    prefix_option,
    read_rules,
    replication_option,
)
from streams.cli.preview import PreviewRequest
from streams.cli.replay import audit_command, compare_command, replay_command, snapshot_command
from streams.core.ladders import Ladders
from streams.core.rankings import ranking_text
from streams.core.rules import LadderRules
from streams.core.tally import Tally, tally_text
from streams.core.weeks import is_week, week_of
from streams.files.jsonl import open_lines
from streams.files.pipeline import StageError
from streams.files.progress import progress
from streams.files.rate import RateFiles, rate_lines
from streams.runtime.settings import Settings

# A quarter of an hour of a busy site; enough to see every ladder move.
_SIMULATED_GAMES = 20_000
_SIMULATED_PLAYERS = 500
_ORPHAN_PATIENCE = 10.0
_SIMULATION_START = "2026-11-02T00:00:00+00:00"


@click.group(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ladderlog")
def cli() -> None:
    """Ratings, rankings and weekly competitions of a game site, as a stream processor on Kafka."""


@cli.command()
@kafka_options
@click.option("--wait", default=0.0, type=click.FloatRange(0), help="Seconds to wait for the broker.")
def topics(wait: float, **kafka: Any) -> None:
    """Create every topic that is missing, and report those with the wrong settings."""
    from streams.runtime.topics import await_broker, ensure_topics

    settings = Settings(**kafka)
    asyncio.run(await_broker(settings, wait))
    reports = asyncio.run(ensure_topics(settings))
    for report in reports:
        state = "created" if report.created else "; ".join(report.mistakes) or "is there"
        click.echo(f"{report.spec.name}: {state}")
    if any(report.mistakes for report in reports):
        raise click.ClickException("some topics have the wrong settings; nothing was altered")


@cli.command()
@kafka_options
@ladders_option
@click.option("--loglevel", default="info", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--until-stdin-ends", is_flag=True, help="Stop as after SIGTERM when standard input ends.")
@click.option(
    "--week-ends/--no-week-ends",
    default=True,
    help="Whether to end weeks at midnight; one deployment on a topic must, a second one need not.",
)
def worker(ladders: Path, loglevel: str, *, until_stdin_ends: bool, week_ends: bool, **kafka: Any) -> None:
    """Rate games: run a worker until SIGTERM or Ctrl-C. Start as many as there are partitions."""
    from streams.runtime.topics import check_topics
    from streams.runtime.worker import run_worker

    rules = read_rules(ladders)
    settings = Settings(**kafka)
    mistakes = asyncio.run(check_topics(settings))
    if mistakes:
        raise click.ClickException("the topics are not as they have to be:\n  " + "\n  ".join(mistakes))
    if until_stdin_ends:
        Thread(target=_terminate_when_stdin_ends, daemon=True).start()
    run_worker(settings, lambda: Ladders(rules), loglevel, ends_weeks=week_ends)


@cli.command()
@kafka_options
@click.argument("file")
def produce(file: str, **kafka: Any) -> None:
    """Send the events of a file of JSON lines to the game-finished topic. `-` is standard input."""
    from streams.runtime.produce import produce_lines

    with open_lines(file) as lines, progress("produce") as bar:
        report = asyncio.run(produce_lines(Settings(**kafka), lines, "ladderlog/produce", bar))
    _echo_produced(report)


@cli.command()
@ladders_option
@click.option("--closed", type=click.File("wb"), help="Where competition-closed events go.")
@click.option("--ignored", type=click.File("wb"), help="Where game-ignored events go.")
@click.option("--rejected", type=click.File("wb"), help="Where rejected lines go, with the reason.")
@click.option("--tally", is_flag=True, help="Print how often the higher-rated won, instead of events.")
@click.argument("file")
def rate(ladders: Path, file: str, *, tally: bool, **files: Any) -> None:
    """Rate the games of a file without a broker; rating-changed events go to standard output."""
    rules = read_rules(ladders)
    counted = Tally(rules) if tally else None
    changed = None if tally else sys.stdout.buffer
    with file_errors(), open_lines(file) as lines, progress("rate") as bar:
        try:
            report = rate_lines(lines, rules, RateFiles(changed, **files), bar, counted)
        except StageError as error:
            raise click.ClickException(str(error)) from error
        sys.stdout.flush()
    if counted is not None:
        click.echo(tally_text(counted))
    click.echo(
        f"{report.read} read: {report.rated} rated, {report.ignored} ignored, {report.rejected} rejected, "
        f"{report.noted} noted",
        err=True,
    )


@cli.command()
@click.option("--games", default=_SIMULATED_GAMES, type=click.IntRange(0), help="How many.")
@click.option("--players", default=_SIMULATED_PLAYERS, type=click.IntRange(5), help="Of the whole club.")
@click.option("--seed", default=1, type=int, help="Another seed is another club.")
@click.option("--start", default=_SIMULATION_START, help="When the first game ends, with its UTC offset.")
@click.option(
    "--bootstrap-servers", envvar="LADDERLOG_SIMULATE_TO", help="Send to this broker instead of printing."
)
@prefix_option
@app_id_option
@partitions_option
@replication_option
def simulate(
    games: int, players: int, seed: int, start: str, bootstrap_servers: str | None, **kafka: Any
) -> None:
    """Print the finished games of a made-up club as JSON lines, or send them to a broker."""
    from streams.embedded.club import simulate as simulated

    events = simulated(games=games, players=players, seed=seed, start=_moment(start))
    if bootstrap_servers is None:
        for event in events:
            sys.stdout.buffer.write(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))
        return
    from streams.runtime.produce import produce_events

    settings = Settings(bootstrap_servers, **kafka)
    with progress("simulate", games) as bar:
        report = asyncio.run(produce_events(settings, events, "ladderlog/simulate", bar))
    _echo_produced(report)


@cli.command()
@kafka_options
@click.option(
    "--wait", default=0.0, type=click.FloatRange(0), help="Seconds to wait until nothing is behind."
)
def status(wait: float, **kafka: Any) -> None:
    """Show how far every partition is and what became of its records."""
    from streams.runtime.status import await_done

    behind = 0
    for found in asyncio.run(await_done(Settings(**kafka), wait)):
        counts = found.counts
        outcomes = ", ".join(f"{count} {name}" for name, count in counts.items())
        behind += found.behind
        click.echo(f"partition {found.partition}: offset {found.offset}: {outcomes or 'nothing read'}")
        if counts and counts["read"] != sum(counts.values()) - counts["read"]:
            raise click.ClickException(
                f"partition {found.partition}: the outcomes do not add up to the records read"
            )
    click.echo(f"{behind} behind")


@cli.command()
@kafka_options
@ladders_option
@click.option("--ladder", required=True, help="Which ladder.")
@click.option("--system", help="Which system; all of the ladder when not given.")
@click.option("--top", default=10, type=click.IntRange(1), help="How many players.")
def ranking(ladders: Path, ladder: str, system: str | None, top: int, **kafka: Any) -> None:
    """Print a ladder's ranking."""
    from streams.runtime.status import read_fold

    rules = read_rules(ladders)
    _rules_of(rules, ladder, ladders)
    fold = asyncio.run(read_fold(Settings(**kafka), lambda: Ladders(rules)))
    for name in [system] if system else rules[ladder].systems:
        click.echo(ranking_text(fold, ladder, name, top))


@cli.command()
@kafka_options
@ladders_option
@click.option("--ladder", required=True, help="Which ladder.")
@click.option("--week", "label", help="Such as 2026-W48.", show_default="the present one")
@click.option("--top", type=click.IntRange(1), help="How many players.", show_default="all")
def week(ladders: Path, ladder: str, label: str | None, top: int | None, **kafka: Any) -> None:
    """Print the standings of a week of a ladder's competition, running or closed."""
    from streams.runtime.clock import clock_of_environment
    from streams.runtime.competitions import read_week, week_text

    rules = read_rules(ladders)
    own = _rules_of(rules, ladder, ladders)
    if own.competition() is None:
        raise click.ClickException(f"ladder {ladder!r} has no weekly competition")
    if label is None:
        label = week_of(clock_of_environment().now(), own.context().timezone)
    elif not is_week(label):
        raise click.BadParameter(f"{label!r} is no week such as 2026-W48")
    found = asyncio.run(read_week(Settings(**kafka), lambda: Ladders(rules), ladder, label))
    if found is None:
        raise click.ClickException(f"nobody has played in week {label} of ladder {ladder!r}")
    click.echo(week_text(found, top).lstrip("\n"))


@cli.command()
@ladders_option
@click.option("--ladder", required=True, help="Which ladder.")
@click.option("--players", metavar="A,B[,C,D]", help="Who sits at the table.")
@click.option(
    "--team", "teams", multiple=True, metavar="A,B", help="Instead of --players, once for each team."
)
@click.option("--system", help="Which system; all of the ladder when not given.")
@click.option("--rating", "ratings", multiple=True, metavar="PLAYER=RATING", help="Else the player is new.")
@click.option("--games", multiple=True, metavar="PLAYER=GAMES", help="Rated games so far; else none.")
@click.option("--game-type", help="Of the game to be played; else the ladder's name.")
@click.option("--at", default=None, show_default="now", help="When it ends: the week it will count for.")
@click.option("--unrated", is_flag=True, help="The game will not be rated: ratings stand in brackets.")
@click.option(
    "--bootstrap-servers",
    envvar="LADDERLOG_BOOTSTRAP_SERVERS",
    help="Ask this broker's deployment, unless --rating or --games say what is known.",
)
@prefix_option
@app_id_option
@partitions_option
@replication_option
def preview(
    ladders: Path,
    ladder: str,
    bootstrap_servers: str | None,
    at: str | None,
    *,
    unrated: bool,
    **given: Any,
) -> None:
    """Say what everyone at a waiting table stands to earn for a win and to lose for a loss."""
    from streams.core.preview import Known, preview_text, prospects, rows_of
    from streams.runtime.clock import clock_of_environment

    kafka = {name: given.pop(name) for name in ("topic_prefix", "app_id", "partitions", "replication")}
    request = PreviewRequest(ladder, **given)
    rules = request.rules(read_rules(ladders))
    table = request.table(clock_of_environment().now() if at is None else _moment(at))
    known = Known(figures=request.figures(rules, table))
    if bootstrap_servers is not None and not known.figures:
        from streams.runtime.status import read_rows

        rows = asyncio.run(read_rows(Settings(bootstrap_servers, **kafka)))
        known = Known(rows_of(rows.items(), rules, table))
    found = request.wanted(prospects(rules, table, known))
    click.echo(preview_text(ladder, found, unrated=unrated).lstrip("\n"))


@cli.command()
@click.option(
    "--data", type=click.Path(path_type=Path), help="Keep the broker's data here; else it is temporary."
)
@click.option("--port", type=click.IntRange(1, 65535), help="Listen on this port; else a free one is chosen.")
def broker(data: Path | None, port: int | None) -> None:
    """Run a real Kafka broker on this machine, for development, until Ctrl-C."""
    from streams.embedded.broker import BrokerError, run_forever

    try:
        run_forever(data, port, click.echo)
    except BrokerError as error:
        raise click.ClickException(str(error)) from error


@cli.command()
@ladders_option
@click.option("--games", type=click.Path(path_type=Path, exists=True), help="Your own games, as JSON lines.")
@click.option("--once", is_flag=True, help="End after the report, with exit status 0.")
@click.option("--seed", default=1, type=int, help="Of the simulated club.")
def run(ladders: Path, games: Path | None, once: bool, seed: int) -> None:  # noqa: FBT001 - a flag is one
    """Show everything at work: broker, worker, 20,000 simulated games (or your own), then a live trickle."""
    from streams.embedded.broker import BrokerError
    from streams.embedded.run import ShowError, show

    rules = read_rules(ladders)
    try:
        show(rules, ladders, games, once=once, seed=seed, echo=click.echo)
    except (BrokerError, ShowError) as error:
        raise click.ClickException(str(error)) from error


cli.add_command(import_command)
cli.add_command(export_command)
cli.add_command(replay_command)
cli.add_command(audit_command)
cli.add_command(snapshot_command)
cli.add_command(compare_command)
cli.add_command(void_command)
cli.add_command(rebuild_command)


def main() -> None:
    """Run the command line."""
    # The same zones on every machine: those of the tzdata package, not of the operating system.
    zoneinfo.reset_tzpath(to=())
    # Little here is ever garbage in a cycle, and a collection looks at every row: rarely is often enough.
    gc.set_threshold(50_000, 20, 100)
    try:
        cli()
    except KafkaError as error:
        click.echo(f"Error: Kafka: {error or type(error).__name__}", err=True)
        sys.exit(1)


def _terminate_when_stdin_ends() -> None:
    """Stop with the process that started this one and holds its standard input, however that ends."""
    while sys.stdin.buffer.read(1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    # The broker may have gone with that process; an orderly stop would wait for it.
    time.sleep(_ORPHAN_PATIENCE)
    os._exit(1)


def _rules_of(rules: dict[str, LadderRules], ladder: str, path: Path) -> LadderRules:
    if ladder not in rules:
        raise click.BadParameter(f"{ladder!r} is not in {path}; there are {', '.join(rules)}")
    return rules[ladder]


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no moment such as 2026-11-02T20:00:00+01:00") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _echo_produced(report: Any) -> None:
    click.echo(f"{report.taken} events taken by the broker, {len(report.failed)} not", err=True)
    for number, reason in report.failed:
        click.echo(f"  event {number}: {reason}", err=True)
    if report.failed:
        sys.exit(1)
