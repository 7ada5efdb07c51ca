"""The commands that change the past: `void` notes what was wrong, `rebuild` puts it right."""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli.deployments import deployment_of, one_of
from streams.cli.options import kafka_options, ladders_option
from streams.core.events import RatingChanged
from streams.core.rankings import shown
from streams.files.progress import progress
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.runtime.rebuild import RebuildReport

_SHOWN_MOVES = 10


@click.command("void")
@kafka_options
@ladders_option
@click.option("--ladder", required=True, help="The ladder of the games.")
@click.option("--game-id", "game_ids", multiple=True, help="A game to take back; may be repeated.")
@click.option("--player", help="Take back every game of this player so far.")
@click.option("--reason", required=True, help="Why; it is kept with the game.")
def void_command(
    settings: Settings,
    ladders: Path,
    ladder: str,
    game_ids: tuple[str, ...],
    player: str | None,
    reason: str,
) -> None:
    """Take games back. Ratings stay as they are until `ladderlog rebuild`."""
    from streams.replay.voiding import games_of, void

    if not game_ids and player is None:
        raise click.UsageError("say which games: --game-id or --player")
    known = deployment_of(settings, ladders)
    known.ladder(ladder)
    settings = known.settings
    wanted = dict.fromkeys(game_ids)
    if player is not None:
        wanted |= dict.fromkeys(asyncio.run(games_of(settings, ladder, player)))
    report = asyncio.run(void(settings, ladder, wanted, reason))
    if report.failed:
        raise click.ClickException(f"the broker did not take all: {report.failed[0][1]}")
    click.echo(f"{report.taken} games of {ladder} taken back; `ladderlog rebuild` puts that into force")


@click.command("rebuild")
@kafka_options
@ladders_option
@click.option("--partition", type=click.IntRange(0), help="Only this one; all when not given.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
def rebuild_command(settings: Settings, ladders: Path, partition: int | None, *, dry_run: bool) -> None:
    """Put voided and corrected games into force: every difference is published as a correction."""
    from aiokafka.errors import KafkaError

    from streams.runtime.rebuild import RebuildError, rebuild_partition
    from streams.runtime.refusals import RefusedError

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    known = deployment_of(settings, ladders)
    settings, rules = known.settings, known.rules
    numbers = range(settings.partitions)
    if partition is not None:
        one_of(map(str, numbers), str(partition), "partition")
    for number in numbers if partition is None else [partition]:
        try:
            with progress(f"partition {number}", unit="records") as bar:
                report = asyncio.run(rebuild_partition(settings, rules, number, bar, dry_run=dry_run))
        except (RebuildError, RefusedError, KafkaError) as error:
            raise click.ClickException(str(error) or type(error).__name__) from error
        click.echo(_report_text(report, dry_run=dry_run))


def _report_text(report: "RebuildReport", *, dry_run: bool) -> str:
    """Return what a rebuild did to a partition as lines of text, the largest moves first."""
    if not report.corrections:
        return f"partition {report.partition}: no corrections pending"
    corrections = ", ".join(f"{count} on {ladder}" for ladder, count in report.corrections.items())
    published = "would be published" if dry_run else "were published"
    lines = [
        f"partition {report.partition}: corrections pending: {corrections}",
        f"  {len(report.changes)} changes and {len(report.weeks)} revised weeks {published}",
    ]
    moved = [change for change in report.changes if shown(change.before) != shown(change.after)]
    for change in sorted(moved, key=_move, reverse=True)[:_SHOWN_MOVES]:
        where = f"{change.ladder}, {change.system}" + ("" if change.week is None else f", {change.week}")
        lines.append(f"  {change.player_id} ({where}): {shown(change.before)} becomes {shown(change.after)}")
    if len(moved) > _SHOWN_MOVES:
        lines.append(f"  {len(moved) - _SHOWN_MOVES} more")
    return "\n".join(lines)


def _move(change: RatingChanged) -> float:
    return abs(change.after - change.before)
