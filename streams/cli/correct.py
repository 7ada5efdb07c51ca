"""The commands that change the past: `void` notes what was wrong, `rebuild` puts it right."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.cli.options import kafka_options, ladders_option, read_rules
from streams.core.events import Game, GameVoided, RatingChanged, Rejected
from streams.core.rankings import shown
from streams.files.progress import progress
from streams.runtime.partition import RefusedError
from streams.runtime.produce import Sender
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.rebuild import RebuildError, RebuildReport, rebuild_partition
from streams.runtime.settings import Settings
from streams.wire.decode import decode_consumed

_SHOWN_MOVES = 10


@click.command("void")
@kafka_options
@click.option("--ladder", required=True, help="The ladder of the games.")
@click.option("--game-id", "game_ids", multiple=True, help="A game to take back; may be repeated.")
@click.option("--player", help="Take back every game of this player so far.")
@click.option("--reason", required=True, help="Why; it is kept with the game.")
def void_command(
    ladder: str, game_ids: tuple[str, ...], player: str | None, reason: str, **kafka: Any
) -> None:
    """Take games back. Ratings stay as they are until `ladderlog rebuild`."""
    if not game_ids and player is None:
        raise click.UsageError("say which games: --game-id or --player")
    settings = Settings(**kafka)
    wanted = dict.fromkeys(game_ids)
    if player is not None:
        wanted |= dict.fromkeys(asyncio.run(_games_of(settings, ladder, player)))
    voided = asyncio.run(_void(settings, ladder, list(wanted), reason))
    click.echo(f"{voided} games of {ladder} taken back; `ladderlog rebuild` puts that into force")


@click.command("rebuild")
@kafka_options
@ladders_option
@click.option("--partition", type=click.IntRange(0), help="Only this one; all when not given.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
def rebuild_command(ladders: Path, partition: int | None, *, dry_run: bool, **kafka: Any) -> None:
    """Put voided and corrected games into force: every difference is published as a correction."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    rules = read_rules(ladders)
    settings = Settings(**kafka)
    for number in range(settings.partitions) if partition is None else [partition]:
        try:
            with progress(f"partition {number}", unit="records") as bar:
                report = asyncio.run(rebuild_partition(settings, rules, number, bar, dry_run=dry_run))
        except (RebuildError, RefusedError, KafkaError) as error:
            raise click.ClickException(str(error) or type(error).__name__) from error
        click.echo(report_text(report, dry_run=dry_run))


def report_text(report: RebuildReport, *, dry_run: bool) -> str:
    """Say what a rebuild did to a partition, the largest moves first."""
    if not report.corrections:
        return f"partition {report.partition}: no corrections pending"
    corrections = ", ".join(f"{count} on {ladder}" for ladder, count in report.corrections.items())
    published = "would be published" if dry_run else "were published"
    lines = [
        f"partition {report.partition}: corrections pending: {corrections}",
        f"  {len(report.changes)} changes and {len(report.weeks)} revised weeks {published}",
    ]
    for change in sorted(report.changes, key=_move, reverse=True)[:_SHOWN_MOVES]:
        where = f"{change.ladder}, {change.system}" + ("" if change.week is None else f", {change.week}")
        lines.append(f"  {change.player_id} ({where}): {shown(change.before)} becomes {shown(change.after)}")
    return "\n".join(lines)


def _move(change: RatingChanged) -> float:
    return abs(change.after - change.before)


async def _void(settings: Settings, ladder: str, game_ids: list[str], reason: str) -> int:
    async with Sender(settings, "ladderlog/void") as sender:
        for game_id in game_ids:
            await sender.send({"type": "game-voided", "ladder": ladder, "game_id": game_id, "reason": reason})
    if sender.report.failed:
        raise click.ClickException(f"the broker did not take all: {sender.report.failed[0][1]}")
    return sender.report.taken


async def _games_of(settings: Settings, ladder: str, player: str) -> list[str]:
    """Read the log for a player's games on a ladder that were not taken back already."""
    found: dict[str, None] = {}
    for partition in range(settings.partitions):
        async for event in _events(settings, TopicPartition(settings.input_topic, partition)):
            if event.ladder != ladder:
                continue
            if isinstance(event, GameVoided):
                found.pop(event.game_id, None)
            elif player in event.players:
                found[event.game_id] = None
    return list(found)


async def _events(settings: Settings, tp: TopicPartition) -> AsyncIterator[Game | GameVoided]:
    async with reading(settings.bootstrap_servers) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            for record in records:
                with suppress(Rejected):
                    event = decode_consumed(record)
                    if isinstance(event, Game | GameVoided):
                        yield event
