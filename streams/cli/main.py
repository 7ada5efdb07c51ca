"""The command line: `ladderlog` with all its commands."""

import gc
import sys
import zoneinfo

import click

from streams.cli.correct import rebuild_command, void_command
from streams.cli.explain import explain_command
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
from streams.cli.settings import settings_command
from streams.cli.show import ranking_command, week_command
from streams.runtime.connection import ConnectionSettingsError
from streams.runtime.exit_statuses import EXIT_NO_RIGHTS, EXIT_UNREACHABLE

_USAGE = 2
_COMMANDS = (
    topics_command,
    worker_command,
    produce_command,
    rate_command,
    simulate_command,
    settings_command,
    status_command,
    ranking_command,
    week_command,
    game_command,
    explain_command,
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
    except ConnectionSettingsError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(_USAGE)
    except Exception as error:
        rights = sys.modules.get("streams.runtime.rights")
        if rights is not None and isinstance(error, rights.MissingRightsError):
            click.echo(f"Error: {error}", err=True)
            sys.exit(EXIT_NO_RIGHTS)
        # A command that has not imported Kafka's client has no error of it.
        errors = sys.modules.get("aiokafka.errors")
        if errors is None or not isinstance(error, errors.KafkaError):
            raise
        click.echo(f"Error: Kafka: {str(error) or type(error).__name__}", err=True)
        sys.exit(EXIT_UNREACHABLE if isinstance(error, errors.KafkaConnectionError) else 1)
