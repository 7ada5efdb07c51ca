"""The commands that show what a deployment knows: `ranking` and `week`."""

import asyncio
from pathlib import Path

import click

from streams.cli.deployments import deployment_of
from streams.cli.json_output import echo_json, json_option, named
from streams.cli.options import kafka_options, ladders_option
from streams.cli.settings_model import command
from streams.core.ladders import Ladders
from streams.core.rankings import ranking, ranking_text
from streams.core.rules import LadderRules
from streams.core.weeks import is_week, week_of
from streams.runtime.settings import Settings


@command("ranking")
@kafka_options
@ladders_option
@click.option("--ladder", required=True, help="Which ladder.")
@click.option("--system", help="Which system; all of the ladder when not given.")
@click.option("--top", default=10, type=click.IntRange(1), help="How many players.")
@json_option
def ranking_command(
    settings: Settings, ladders: Path, ladder: str, system: str | None, top: int, *, as_json: bool
) -> None:
    """Print a ladder's ranking."""
    from streams.runtime.status import read_fold

    known = deployment_of(settings, ladders)
    systems = known.systems(ladder, system)
    fold = asyncio.run(read_fold(known.settings, lambda: Ladders(known.rules)))
    if as_json:
        rankings = [
            {"system": name, "players": [named(ranked) for ranked in ranking(fold, ladder, name, top)]}
            for name in systems
        ]
        echo_json({"ladder": ladder, "systems": rankings})
        return
    for name in systems:
        click.echo(ranking_text(fold, ladder, name, top))


@command("week")
@kafka_options
@ladders_option
@click.option("--ladder", required=True, help="Which ladder.")
@click.option("--week", "label", help="Such as 2026-W48.", show_default="the present one")
@click.option("--top", type=click.IntRange(1), help="How many players.", show_default="all")
@json_option
def week_command(
    settings: Settings, ladders: Path, ladder: str, label: str | None, top: int | None, *, as_json: bool
) -> None:
    """Print the standings of a week of a ladder's competition, running or closed."""
    from streams.runtime.competitions import read_week, week_fields, week_text

    known = deployment_of(settings, ladders)
    week = _week(known.ladder(ladder), label)
    standings = asyncio.run(read_week(known.settings, lambda: Ladders(known.rules), ladder, week))
    if standings is None:
        raise click.ClickException(f"nobody has played in week {week} of ladder {ladder!r}")
    if as_json:
        echo_json(week_fields(standings, top))
    else:
        click.echo(week_text(standings, top).lstrip("\n"))


def _week(rules: LadderRules, label: str | None) -> str:
    """Return the week asked for, or the present one. Raises click.ClickException when the ladder has none."""
    from streams.runtime.clock import clock_of_environment

    if rules.competition() is None:
        raise click.ClickException(f"ladder {rules.ladder!r} has no weekly competition")
    if label is None:
        return week_of(clock_of_environment().now(), rules.context().timezone)
    if not is_week(label):
        raise click.BadParameter(f"{label!r} is no week such as 2026-W48")
    return label
