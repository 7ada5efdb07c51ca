"""`ladderlog repartition`: the log copied into topics with more partitions."""

import asyncio
import signal
import sys
from dataclasses import replace

import click

from streams.cli.options import (
    app_id_option,
    connection_options,
    gathered_settings,
    options,
    prefix_option,
    replication_option,
)
from streams.cli.settings_model import command
from streams.files.progress import progress
from streams.runtime.settings import Settings

_deployment = options(
    connection_options(), prefix_option, app_id_option, replication_option, gathered_settings
)


@command("repartition", short_help="Copy the log into topics with more partitions.")
@_deployment
@click.option("--to-prefix", required=True, help="Put before every topic of the new deployment.")
@click.option("--partitions", required=True, type=click.IntRange(2), help="Of every topic there.")
@click.option("--follow", is_flag=True, help="Go on with what comes later, until SIGTERM or Ctrl-C.")
def repartition_command(settings: Settings, to_prefix: str, *, follow: bool) -> None:
    """Copy game-finished into topics with another prefix and number of partitions, which are created.

    A deployment that starts there rates the same games in the same order. Workers of the old one may run
    meanwhile. Ended at any point, run it again: it goes on, and copies nothing twice.
    """
    from streams.runtime.repartition import RepartitionError

    if to_prefix == settings.topic_prefix:
        raise click.BadParameter("the new topics need another prefix", param_hint="--to-prefix")
    # The partitions are those of the new topics; how many the old ones have is asked.
    target = replace(settings, topic_prefix=to_prefix)
    try:
        behind = asyncio.run(_repartition(settings, target, follow=follow))
    except RepartitionError as error:
        raise click.ClickException(str(error)) from error
    if behind and not follow:
        sys.exit(1)


async def _repartition(old: Settings, new: Settings, *, follow: bool) -> bool:
    """Copy, say what was copied, and return whether the old deployment has not done everything."""
    from streams.runtime.repartition import repartition

    stopped = asyncio.Event() if follow else None
    if stopped is not None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    with progress("repartition", unit="records") as bar:
        report = await repartition(old, new, bar.update, stopped)
    click.echo(
        f"{report.copied} records copied to {new.input_topic}, {report.invalid} of them no valid events; "
        f"{report.forwarded} left out, of which forwarded copies were taken"
    )
    if report.markers:
        click.echo(
            f"{report.markers} markers of a rebuild left out, which name offsets of the old log: run "
            f"`ladderlog rebuild` on the new deployment"
        )
    if report.behind:
        click.echo(
            f"the old deployment is behind in partitions {', '.join(map(str, report.behind))}: what lies "
            f"away from home there is copied when its workers have forwarded it; run them, then this again",
            err=True,
        )
    return bool(report.behind)
