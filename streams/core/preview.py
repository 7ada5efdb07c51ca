"""Preview: what everyone at a waiting table stands to earn for a win and to lose for a loss (seed 000).

The answer is the fold's own: the results that matter are played on a small fold that holds only what the
table's players have, once for every result.

Pure: standard library only.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from streams.core.events import REASONS, Game, GameIgnored, Output, RatingChanged, RatingImported
from streams.core.ladders import Ladders
from streams.core.rankings import shown, shown_change
from streams.core.ratings.system import System
from streams.core.row_keys import split_key
from streams.core.rules import LadderRules

NEEDS_ROWS = "no-rows"
_NEEDS_ROWS_TEXT = "depends on all games of the ladder, which only a deployment knows"

_GAME_ID = "preview"
# In the key of a row of a ladder; those of the runtime have fewer.
_SLASHES = 2


@dataclass(frozen=True)
class WaitingTable:
    """A waiting table: who sits there, side by side (a side is one player or a team).

    `ended` is when the game would end, which decides the week it counts for.
    """

    ladder: str
    sides: Sequence[Sequence[str]]
    ended: datetime
    game_type: str | None = None

    def players(self) -> list[str]:
        """Return everyone at the table, side by side."""
        return [player_id for side in self.sides for player_id in side]


@dataclass(frozen=True)
class Known:
    """What is known of the players: rows of a deployment, or figures as if imported; else they are new."""

    rows: Sequence[tuple[str, Any]] | None = None
    figures: Sequence[RatingImported] = ()

    def fold(self, rules: LadderRules) -> Ladders:
        """Make a fold that knows this and nothing else."""
        fold = Ladders({rules.ladder: rules})
        for key, row in self.rows or ():
            fold.load(key, row)
        for imported in self.figures:
            fold.apply(imported, [])
        return fold


class Prospect(NamedTuple):
    """A player's rating in a system today, after the best and after the worst result for the player.

    `reason` says why there is none of these: one of `streams.core.events.REASONS`, or `NEEDS_ROWS`.
    """

    system: str
    player_id: str
    rating: float
    games: int
    best: float | None
    worst: float | None
    reason: str | None


def prospects(rules: LadderRules, table: WaitingTable, known: Known) -> list[Prospect]:
    """Return what everyone at the table stands to win at best and to lose at worst, system by system.

    Best is a win alone (by points: the others make none), worst the costliest of the defeats: alone in the
    last place, or against any of the others (by points: without one). Who only plays for a middle place
    lies between. A system that depends on all games has no prospects without a deployment's rows.
    """
    played = _Played()
    for game in possible_games(table):
        out: list[Output] = []
        known.fold(rules).apply(game, out)
        played.take(out)
    fold = known.fold(rules)
    prospects_of_all = []
    for fresh in rules.new_systems():
        system = fold.system(rules.ladder, fresh.name) or fresh
        for player_id in table.players():
            rating, games = system.rating_at(player_id, table.ended)
            best, worst, reason = played.extremes(system, player_id)
            if system.needs_all_games and known.rows is None:
                best, worst, reason = None, None, NEEDS_ROWS
            prospects_of_all.append(Prospect(system.name, player_id, rating, games, best, worst, reason))
    return prospects_of_all


def possible_games(table: WaitingTable) -> Iterator[Game]:
    """Yield the results that matter: each side wins alone, each side loses alone.

    A side that wins alone makes the only point; one that loses alone makes none.
    """
    sides = range(len(table.sides))
    for special in sides:
        yield _game(table, [1 if side == special else 2 for side in sides])
        yield _game(table, [2 if side == special else 1 for side in sides])


def rows_of(
    rows: Iterable[tuple[str, Any]], rules: LadderRules, table: WaitingTable
) -> list[tuple[str, Any]]:
    """Return what a preview needs of a deployment's rows: the players' own, and those of the whole ladder."""
    players = set(table.players())
    systems = {kind: system for system in rules.new_systems() for kind in system.row_kinds}
    return [(key, row) for key, row in rows if _is_of(key, table.ladder, players, systems)]


def preview_text(ladder: str, prospects: Sequence[Prospect], *, unrated: bool = False) -> str:
    """Show prospects as lines of text; at an unrated table ratings stand in brackets (seed 000)."""
    width = max((len(prospect.player_id) for prospect in prospects), default=0)
    lines = []
    system = ""
    for prospect in prospects:
        if prospect.system != system:
            system = prospect.system
            lines.append(f"\n{ladder}, {system}")
        rating = f"({shown(prospect.rating)})" if unrated else shown(prospect.rating)
        outlook = "unrated: nothing to win or lose" if unrated else _outlook(prospect)
        if prospect.reason == NEEDS_ROWS:
            rating = "?"
        lines.append(f"  {prospect.player_id:<{width}}  {rating:>8}  {prospect.games:>6} games   {outlook}")
    return "\n".join(lines)


@dataclass
class _Played:
    """What the possible games led to: ratings after them, or why they did not count."""

    after: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    reasons: dict[str, str] = field(default_factory=dict)

    def take(self, out: Sequence[Output]) -> None:
        for output in out:
            if isinstance(output, RatingChanged):
                self.after[output.system, output.player_id].append(output.after)
            elif isinstance(output, GameIgnored):
                self.reasons |= {reason.system: reason.reason for reason in output.reasons}

    def extremes(self, system: System, player_id: str) -> tuple[float | None, float | None, str | None]:
        after = self.after.get((system.name, player_id))
        if after is None:
            return None, None, self.reasons[system.name]
        return max(after), min(after), None


def _game(table: WaitingTable, ranks: Sequence[int]) -> Game:
    teams = any(len(side) > 1 for side in table.sides)
    seats = [
        (player_id, rank, str(number))
        for number, (side, rank) in enumerate(zip(table.sides, ranks, strict=True))
        for player_id in side
    ]
    players, reported, numbers = zip(*seats, strict=True)
    return Game(
        _GAME_ID,
        table.ladder,
        table.game_type,
        table.ended.isoformat(),
        table.ended.timestamp(),
        rated=True,
        players=players,
        ranks=reported,
        # Who wins makes a point, who loses none.
        points=[2.0 - rank for rank in reported],
        teams=numbers if teams else None,
        abandoned=None,
        left_epochs=None,
        digest=0,
    )


def _is_of(key: str, ladder: str, players: set[str], systems: Mapping[str, System]) -> bool:
    if key.count("/") < _SLASHES:
        return False
    kind, of_ladder, rest = split_key(key, _SLASHES + 1)
    if of_ladder != ladder or kind in ("game", "amendment", "pending"):
        return False
    player_id = rest if kind == "player" else systems[kind].player_of_row(kind, rest)
    return player_id is None or player_id in players


def _outlook(prospect: Prospect) -> str:
    if prospect.best is None or prospect.worst is None:
        reason = prospect.reason or ""
        return _NEEDS_ROWS_TEXT if reason == NEEDS_ROWS else f"not rated: {reason}: {REASONS[reason]}"
    win = shown_change(prospect.rating, prospect.best)
    loss = shown_change(prospect.rating, prospect.worst)
    if loss > 0:
        return f"earn {win}, or {loss} even for a loss"
    return f"earn {win}, lose {abs(loss)}"
