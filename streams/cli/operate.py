"""The commands that operate a deployment: `topics`, `worker`, `status`, `broker` and `run`."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from streams.cli.deployments import RefusedError, deployed, settings_of, with_partitions_there
from streams.cli.json_output import echo_json, json_option
from streams.cli.options import kafka_options, ladders_option, read_rules
from streams.cli.settings_model import command, option
from streams.core.rules import LadderRules
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.runtime.status import PartitionStatus
    from streams.runtime.topics import TopicReport

_ORPHAN_PATIENCE = 10.0


@command("topics")
@kafka_options
@click.option("--wait", default=0.0, type=click.FloatRange(0), help="Seconds to wait for the broker.")
@json_option
def topics_command(settings: Settings, wait: float, *, as_json: bool) -> None:
    """Create every topic that is missing, and report those with the wrong settings; nothing is altered.

    What a worker cannot go on with is a mistake, and the exit status is then 1.
    """
    from streams.runtime.topics import await_broker, ensure_topics

    asyncio.run(await_broker(settings, wait))
    settings = with_partitions_there(settings)
    reports = asyncio.run(ensure_topics(settings))
    if as_json:
        echo_json({"topics": list(map(_topic_fields, reports))})
    else:
        for report in reports:
            remarks = [*report.mistakes, *(f"warning: {warning}" for warning in report.warnings)]
            state = "created" if report.created else "\n  ".join(remarks) or "is there"
            click.echo(f"{report.spec.name}: {state}")
    deployed(settings)
    if any(report.mistakes for report in reports):
        raise click.ClickException("some topics have the wrong settings; nothing was altered")


@command("worker")
@kafka_options
@ladders_option
@option("http.port")
@option("http.host")
@option("http.ready.lag")
@option("log.format")
@click.option("--loglevel", default="info", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--until-stdin-ends", is_flag=True, help="Stop as after SIGTERM when standard input ends.")
@click.option(
    "--week-ends/--no-week-ends",
    default=True,
    help="Whether to end weeks at midnight, and to forward what lies away from home; one deployment on a "
    "topic must, a second one need not.",
)
@click.option(
    "--share-outputs",
    is_flag=True,
    help="Publish beside another deployment's events in the same topics, when this one begins.",
)
def worker_command(
    settings: Settings,
    ladders: Path,
    http_port: int | None,
    http_host: str,
    http_ready_lag: float,
    log_format: str,
    loglevel: str,
    *,
    until_stdin_ends: bool,
    week_ends: bool,
    share_outputs: bool,
) -> None:
    """Rate games: run a worker until SIGTERM or Ctrl-C. Start as many as there are partitions."""
    from streams.runtime.health import PortError, listen
    from streams.runtime.worker import WorkerOptions, run_worker

    rules = read_rules(ladders)
    try:
        listening = None if http_port is None else listen(http_host, http_port, http_ready_lag)
    except PortError as error:
        raise click.UsageError(str(error)) from error
    settings = with_partitions_there(settings)
    _check_start(settings, rules, share_outputs=share_outputs)
    if until_stdin_ends:
        Thread(target=_terminate_when_stdin_ends, daemon=True).start()
    options = WorkerOptions(loglevel, log_format, week_ends, listening)
    run_worker(settings, rules, options)


def _check_start(settings: Settings, rules: Mapping[str, LadderRules], *, share_outputs: bool) -> None:
    """Raise click.ClickException when a worker must not start, with status 78 when an operator must look."""
    from streams.runtime import refusals
    from streams.runtime.start import begun_otherwise, check_outputs
    from streams.runtime.topics import check_topics

    deployed(settings)
    reports = asyncio.run(check_topics(settings))
    for report in reports:
        for warning in report.warnings:
            click.echo(f"warning: {report.spec.name}: {warning}", err=True)
    mistakes = [f"{report.spec.name}: {mistake}" for report in reports for mistake in report.mistakes]
    if mistakes:
        differences = asyncio.run(begun_otherwise(settings, rules))
        if differences:
            raise RefusedError(f"refused to run: {refusals.other_rules(settings, differences)}")
        raise click.ClickException("the topics are not as they have to be:\n  " + "\n  ".join(mistakes))
    try:
        asyncio.run(check_outputs(settings, shared=share_outputs))
    except refusals.RefusedError as error:
        raise RefusedError(f"refused to run: {error}") from error


@command("status")
@kafka_options
@click.option(
    "--wait", default=0.0, type=click.FloatRange(0), help="Seconds to wait until nothing is behind."
)
@json_option
def status_command(settings: Settings, wait: float, *, as_json: bool) -> None:
    """Show how far every partition is and what became of its records.

    The exit status is 1 when records are behind after --wait, and when they are and no worker runs.
    """
    from streams.runtime.status import await_done, members

    settings = settings_of(settings)
    partitions = asyncio.run(await_done(settings, wait))
    workers = asyncio.run(members(settings))
    behind = sum(partition.behind for partition in partitions)
    if as_json:
        echo_json({"behind": behind, "workers": workers, "partitions": list(map(asdict, partitions))})
    else:
        for partition in partitions:
            _show_status(partition)
        click.echo(f"{behind} behind")
    for partition in partitions:
        _check_account(partition)
    if behind and not workers:
        raise click.ClickException(
            f"records are behind and no worker runs: group {settings.app_id!r} has no member; start "
            "`ladderlog worker`"
        )
    if behind and wait:
        raise click.ClickException(f"{behind} records are still behind after {wait:g} s")


@command("broker")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Keep the broker's data here; else it is temporary."
)
@click.option("--port", type=click.IntRange(1, 65535), help="Listen on this port; else a free one is chosen.")
def broker_command(data: Path | None, port: int | None) -> None:
    """Run a real Kafka broker on this machine, for development, until Ctrl-C."""
    from streams.embedded.broker import run_forever
    from streams.embedded.errors import BrokerError

    try:
        run_forever(data, port, click.echo)
    except BrokerError as error:
        raise click.ClickException(str(error)) from error


@command("run")
@ladders_option
@click.option("--games", type=click.Path(path_type=Path, exists=True), help="Your own games, as JSON lines.")
@click.option("--once", is_flag=True, help="End after the report, with exit status 0.")
@click.option("--seed", default=1, type=int, help="Of the simulated club.")
def run_command(ladders: Path, games: Path | None, *, once: bool, seed: int) -> None:
    """Show everything at work: broker, worker, 20,000 simulated games (or your own), then a live trickle."""
    from streams.embedded.errors import BrokerError, ShowError
    from streams.embedded.run import ShowRequest, show

    request = ShowRequest(read_rules(ladders), ladders, games, once, seed)
    try:
        show(request, click.echo)
    except (BrokerError, ShowError) as error:
        raise click.ClickException(str(error)) from error


def _topic_fields(report: "TopicReport") -> dict[str, Any]:
    """Return what is known of a topic, by name."""
    spec = report.spec
    return {
        "name": spec.name,
        "partitions": spec.partitions,
        "replication": spec.replication,
        "created": report.created,
        "mistakes": report.mistakes,
        "warnings": report.warnings,
    }


def _show_status(status: "PartitionStatus") -> None:
    """Show one partition."""
    outcomes = ", ".join(f"{count} {name}" for name, count in status.counts.items())
    click.echo(f"partition {status.partition}: offset {status.offset}: {outcomes or 'nothing read'}")
    for ladder, pending in status.pending.items():
        noun, them = ("correction", "it") if pending == 1 else ("corrections", "them")
        click.echo(f"  {pending} {noun} pending on {ladder}: `ladderlog rebuild` puts {them} into force")


def _check_account(status: "PartitionStatus") -> None:
    """Raise click.ClickException when a partition's account does not add up."""
    counts = status.counts
    if counts and counts["read"] != sum(counts.values()) - counts["read"]:
        raise click.ClickException(
            f"partition {status.partition}: the outcomes do not add up to the records read"
        )


def _terminate_when_stdin_ends() -> None:
    """Stop with the process that started this one and holds its standard input, however that ends."""
    while sys.stdin.buffer.read(1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    # The broker may have gone with that process; an orderly stop would wait for it.
    time.sleep(_ORPHAN_PATIENCE)
    os._exit(1)
