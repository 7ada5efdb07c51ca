"""The commands that change the past: `void` notes what was wrong, `rebuild` puts it right."""

import asyncio
import logging
from collections.abc import Collection
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli.deployments import NoSuchThingError, deployment_of, one_of
from streams.cli.options import kafka_options, ladders_option
from streams.cli.settings_model import command
from streams.core.events import RatingChanged
from streams.core.rankings import shown
from streams.files.progress import progress
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.replay.voiding import Voidable
    from streams.runtime.rebuild import RebuildReport

_SHOWN_MOVES = 10
_SHOWN_PLAYERS = 10


@command("void")
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
    """Take games back. Ratings stay as they are until `ladderlog rebuild`; a game to come is ignored."""
    from streams.replay.voiding import read_games, void

    if not game_ids and player is None:
        raise click.UsageError("say which games: --game-id or --player")
    known = deployment_of(settings, ladders)
    known.ladder(ladder)
    games = asyncio.run(read_games(known.settings, ladder, game_ids, player))
    if player is not None and player not in games.players:
        raise NoSuchThingError(
            f"player {player!r} has no games on ladder {ladder!r}; {_players_text(games.players)}"
        )
    voidable = games.voidable()
    wanted = [*voidable.on_log, *voidable.missing]
    report = asyncio.run(void(known.settings, ladder, wanted, reason))
    if report.failed:
        raise click.ClickException(
            f"the broker took {report.taken} of {len(wanted)}: {report.failed[0][1]}; run the command again"
        )
    click.echo(_void_text(ladder, voidable))


@command("rebuild")
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


def _void_text(ladder: str, voidable: "Voidable") -> str:
    """Return what became of the games to take back as lines of text."""
    lines = [f"{game_id} is not on the log: it will be ignored when it comes" for game_id in voidable.missing]
    lines += [
        f"{game_id} is not on the log, and was taken back before: it will be ignored when it comes"
        for game_id in voidable.voided_missing
    ]
    if voidable.voided:
        lines.append(f"{_games_text(len(voidable.voided))} of {ladder} had been taken back before")
    if voidable.on_log:
        taken = _games_text(len(voidable.on_log))
        lines.append(f"{taken} of {ladder} taken back; `ladderlog rebuild` puts that into force")
    return "\n".join(lines or [f"no game of {ladder} to take back"])


def _games_text(count: int) -> str:
    return "1 game" if count == 1 else f"{count} games"


def _players_text(players: Collection[str]) -> str:
    """Return the first players by name, and how many there are beside them."""
    if not players:
        return "nobody has"
    more = len(players) - _SHOWN_PLAYERS
    return f"there are {', '.join(nsmallest(_SHOWN_PLAYERS, players))}" + (
        f" and {more} more" if more > 0 else ""
    )


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
