"""`ladderlog preview`: a waiting table, its ladder's rules, and what is known of its players."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from streams.cli.deployments import deployment_of
from streams.cli.json_output import echo_json, json_option, named
from streams.cli.options import (
    app_id_option,
    connection_options,
    gathered,
    gathered_settings,
    ladders_option,
    parse_moment,
    partitions_option,
    prefix_option,
    read_rules,
    replication_option,
    systems_of,
)
from streams.cli.settings_model import command
from streams.core.events import MAX_PLAYERS, RatingImported
from streams.core.preview import Known, Prospect, WaitingTable, preview_text, prospects, rows_of
from streams.core.rules import LadderRules
from streams.core.weeks import week_of
from streams.runtime.settings import Settings

_MIN_SIDES = 2


@dataclass(frozen=True)
class PreviewRequest:
    """The options as given; what is wrong with them is raised as click.UsageError or BadParameter."""

    ladder: str
    players: str | None = None
    teams: Sequence[str] = ()
    system: str | None = None
    ratings: Sequence[str] = ()
    games: Sequence[str] = ()
    game_type: str | None = None

    def rules(self, ladders: Mapping[str, LadderRules]) -> LadderRules:
        """Return the rules of the ladder, which has the system that was asked for."""
        rules = ladders.get(self.ladder)
        if rules is None:
            raise click.BadParameter(
                f"there is no ladder {self.ladder!r}; there are {', '.join(ladders)}", param_hint="--ladder"
            )
        systems_of(rules, self.system)
        return rules

    def table(self, ended: datetime) -> WaitingTable:
        """Return the waiting table, whose game ends at that moment."""
        if (self.players is None) == (not self.teams):
            raise click.UsageError("say who plays: --players A,B, or --team A,B for each team")
        sides = [_names(team) for team in self.teams]
        if self.players is not None:
            sides = [[player_id] for player_id in _names(self.players)]
        everyone = [player_id for side in sides for player_id in side]
        distinct = len(set(everyone)) == len(everyone)
        if len(sides) < _MIN_SIDES or len(everyone) > MAX_PLAYERS or not distinct:
            raise click.UsageError(f"a table has 2 to {MAX_PLAYERS} different players, on 2 sides or more")
        return WaitingTable(self.ladder, sides, ended, self.game_type)

    def figures(self, rules: LadderRules, table: WaitingTable) -> list[RatingImported]:
        """Return what --rating and --games say of the players, as if imported into the one system meant."""
        ratings = _numbers(self.ratings, table, "--rating")
        games = _numbers(self.games, table, "--games")
        if not ratings and not games:
            return []
        system = self.system or next(iter(rules.systems))
        if self.system is None and len(rules.systems) > 1:
            raise click.UsageError(
                f"--rating and --games need --system, which is one of {', '.join(rules.systems)}"
            )
        meant = next(made for made in rules.new_systems() if made.name == system)
        if not meant.importable:
            raise click.UsageError(f"{system} is computed from all games: ask with --bootstrap-servers")
        weekly = system == rules.competition()
        week = week_of(table.ended, rules.context().timezone) if weekly else None
        start = meant.initial_rating
        return [
            RatingImported(rules.ladder, system, player_id, ratings.get(player_id, start), int(played), week)
            for player_id in table.players()
            if (played := games.get(player_id, 0)) or player_id in ratings
        ]

    def wanted(self, all_prospects: Sequence[Prospect]) -> list[Prospect]:
        """Return the prospects in the system that was asked for, or in all."""
        return [prospect for prospect in all_prospects if self.system in (None, prospect.system)]


@command("preview")
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
@connection_options(
    required=False, text="Ask this broker's deployment, unless --rating or --games say what is known."
)
@prefix_option
@app_id_option
@partitions_option
@replication_option
@json_option
@gathered_settings
@gathered("request", PreviewRequest)
def preview_command(
    ladders: Path,
    request: PreviewRequest,
    settings: Settings | None,
    at: str | None,
    *,
    unrated: bool,
    as_json: bool,
) -> None:
    """Say what everyone at a waiting table stands to earn for a win and to lose for a loss."""
    from streams.runtime.clock import clock_of_environment

    asks = settings is not None and not request.ratings and not request.games
    deployment = deployment_of(settings, ladders) if asks and settings is not None else None
    rules = request.rules(read_rules(ladders) if deployment is None else deployment.rules)
    table = request.table(clock_of_environment().now() if at is None else parse_moment(at))
    known = Known(figures=request.figures(rules, table))
    if deployment is not None:
        known = _known_to(deployment.settings, rules, table)
    wanted = request.wanted(prospects(rules, table, known))
    if as_json:
        echo_json({"ladder": request.ladder, "rated": not unrated, "prospects": list(map(named, wanted))})
    else:
        click.echo(preview_text(request.ladder, wanted, unrated=unrated).lstrip("\n"))


def _known_to(settings: Settings, rules: LadderRules, table: WaitingTable) -> Known:
    """Return what a deployment knows of the table's players."""
    from streams.runtime.status import read_rows

    return Known(rows_of(asyncio.run(read_rows(settings)).items(), rules, table))


def _names(text: str) -> list[str]:
    """Return the names in `A,B`. Raises click.UsageError when one is empty."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise click.UsageError(f"{text!r} names somebody without a name")
    return names


def _numbers(options: Sequence[str], table: WaitingTable, hint: str) -> dict[str, float]:
    """Return the number of each player from texts such as `ann=1500`; `hint` is the option they come from.

    Raises click.BadParameter when a text is not that, or names somebody who is not at the table.
    """
    numbers: dict[str, float] = {}
    for option in options:
        player_id, _, text = option.rpartition("=")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        whole = hint == "--games"
        if not player_id or not math.isfinite(number) or (whole and (number < 0 or number % 1)):
            raise click.BadParameter(f"{option!r} is not PLAYER={hint[2:].upper()}", param_hint=hint)
        if player_id not in table.players():
            raise click.BadParameter(f"{player_id!r} is not at the table", param_hint=hint)
        numbers[player_id] = number
    return numbers
