"""`ladderlog restore`: a deployment whose rows or offsets are lost, put right from its log."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli.deployments import deployment_of
from streams.cli.options import kafka_options, ladders_option
from streams.cli.replay import replay_errors, told_progress
from streams.cli.settings_model import command
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.replay.restore import Restored


@command("restore", short_help="Make lost rows and offsets anew from the log.")
@kafka_options
@ladders_option
@click.option("--from-snapshot", "snapshot", type=click.Path(), help="Go on from the rows in this file.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
def restore_command(settings: Settings, ladders: Path, snapshot: str | None, *, dry_run: bool) -> None:
    """Make rows, manifest and offsets anew from the log, where a worker refuses to run (status 78).

    For offsets that were moved, expired or deleted, and a changelog that was lost, emptied or damaged. What
    was published says how far the workers had come; it stays, and nothing is published twice. Stop the
    workers first.
    """
    from streams.replay.restore import RestoreRequest, restore

    known = deployment_of(settings, ladders)
    request = RestoreRequest(known.settings, known.rules, snapshot, dry_run)
    with replay_errors(), told_progress("restore", "records") as telling:
        report = asyncio.run(restore(request, telling.start))
    for note in report.notes:
        click.echo(f"note: {note}")
    for restored in report.partitions:
        click.echo(_text(restored, dry_run=dry_run))


def _text(restored: "Restored", *, dry_run: bool) -> str:
    """Return what was restored of a partition as a line."""
    if restored.is_sound:
        return f"partition {restored.partition}: offset {restored.offset}: nothing to restore"
    manifest = "the manifest, " if restored.manifest is not None else ""
    return (
        f"partition {restored.partition}: offset {restored.offset} (rows were of {restored.watermark}, the "
        f"group had {'none' if restored.committed is None else restored.committed}): {manifest}"
        f"{len(restored.rows)} rows and {len(restored.records)} events "
        f"{'would be' if dry_run else 'were'} written"
    )
