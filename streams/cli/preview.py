"""What `ladderlog preview` was asked for: a table, its ladder's rules, and what is known of its players."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import click

from streams.core.events import MAX_PLAYERS, RatingImported
from streams.core.preview import Prospect, WaitingTable
from streams.core.rules import LadderRules
from streams.core.weeks import week_of


@dataclass(frozen=True)
class PreviewRequest:
    """The options as given; whatever is wrong with them is raised as click.BadParameter."""

    ladder: str
    players: str | None = None
    teams: Sequence[str] = ()
    system: str | None = None
    ratings: Sequence[str] = ()
    games: Sequence[str] = ()
    game_type: str | None = None

    def rules(self, ladders: Mapping[str, LadderRules]) -> LadderRules:
        """Give the rules of the ladder, which has the system that was asked for."""
        rules = ladders.get(self.ladder)
        if rules is None:
            raise click.BadParameter(
                f"{self.ladder!r} is not in the ladder file; there are {', '.join(ladders)}",
                param_hint="--ladder",
            )
        if self.system is not None and self.system not in rules.systems:
            raise click.BadParameter(
                f"{self.system!r} is not a system of {self.ladder}; there are {', '.join(rules.systems)}",
                param_hint="--system",
            )
        return rules

    def table(self, ended: datetime) -> WaitingTable:
        """Give the waiting table, whose game ends at that moment."""
        if (self.players is None) == (not self.teams):
            raise click.UsageError("say who plays: --players A,B, or --team A,B for each team")
        sides = [_names(team) for team in self.teams]
        if self.players is not None:
            sides = [[player_id] for player_id in _names(self.players)]
        everyone = [player_id for side in sides for player_id in side]
        if len(sides) < 2 or len(everyone) > MAX_PLAYERS or len(set(everyone)) != len(everyone):  # noqa: PLR2004
            raise click.UsageError(f"a table has 2 to {MAX_PLAYERS} different players, on 2 sides or more")
        return WaitingTable(self.ladder, sides, ended, self.game_type)

    def figures(self, rules: LadderRules, table: WaitingTable) -> list[RatingImported]:
        """Give what --rating and --games say of the players, as if imported into the one system meant."""
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

    def wanted(self, found: Sequence[Prospect]) -> list[Prospect]:
        """Give the prospects in the system that was asked for, or in all."""
        return [prospect for prospect in found if self.system in (None, prospect.system)]


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise click.UsageError(f"{text!r} names somebody without a name")
    return names


def _numbers(options: Sequence[str], table: WaitingTable, hint: str) -> dict[str, float]:
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
