"""The command line: `ladderlog` with all its commands."""

import gc
import sys
import zoneinfo

import click

from streams.cli.correct import rebuild_command, void_command
from streams.cli.export import export_command
from streams.cli.game import game_command
from streams.cli.imports import import_command
from streams.cli.operate import broker_command, run_command, status_command, topics_command, worker_command
from streams.cli.preview import preview_command
from streams.cli.produce import produce_command, simulate_command
from streams.cli.rate import rate_command
from streams.cli.repartition import repartition_command
from streams.cli.replay import audit_command, compare_command, replay_command, snapshot_command
from streams.cli.restore import restore_command
from streams.cli.show import ranking_command, week_command

_COMMANDS = (
    topics_command,
    worker_command,
    produce_command,
    rate_command,
    simulate_command,
    status_command,
    ranking_command,
    week_command,
    game_command,
    preview_command,
    broker_command,
    run_command,
    import_command,
    export_command,
    replay_command,
    audit_command,
    snapshot_command,
    compare_command,
    void_command,
    rebuild_command,
    restore_command,
    repartition_command,
)


@click.group(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ladderlog")
def cli() -> None:
    """Ratings, rankings and weekly competitions of a game site, as a stream processor on Kafka."""


for _command in _COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """Run the command line."""
    # The same zones on every machine: those of the tzdata package, not of the operating system.
    zoneinfo.reset_tzpath(to=())
    # Little here is ever garbage in a cycle, and a collection looks at every row: rarely is often enough.
    gc.set_threshold(50_000, 20, 100)
    try:
        cli()
    except Exception as error:
        if not _is_of_kafka(error):
            raise
        click.echo(f"Error: Kafka: {error or type(error).__name__}", err=True)
        sys.exit(1)


def _is_of_kafka(error: Exception) -> bool:
    """Say whether Kafka's client raised it; a command that has not imported the client cannot tell."""
    errors = sys.modules.get("aiokafka.errors")
    return errors is not None and isinstance(error, errors.KafkaError)
