"""The fold over all ladders of a partition: input events in log order in, rows and published events out.

Pure: no clock, no I/O. Two folds of the same events hold the same rows and have put out the same events,
whatever batches they were given in.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from streams.core.events import Event, Game, GameVoided, Output, Rejected, WeekEnded
from streams.core.ladder import Corrections, Folded, Ladder
from streams.core.outcomes import NOTED, REJECTED
from streams.core.publications import NO_GAMES, Statistics, written_out
from streams.core.ratings.system import Competition, System
from streams.core.row_keys import split_key
from streams.core.rules import LadderRules

_PENDING: Folded = (NOTED, (), None)


class Ladders:
    """The fold over all ladders of a partition.

    `apply` takes one event; `load` and `changed_rows` are how a runtime keeps the rows: load every row once,
    then write what changed after each batch. `corrections` are games of one ladder as they should have been.
    """

    def __init__(self, rules: Mapping[str, LadderRules], corrections: Corrections | None = None) -> None:
        self._rules = rules
        self._corrections = corrections or Corrections()
        self._ladders: dict[str, Ladder] = {}

    def apply(self, event: Event, out: list[Output]) -> str:
        """Apply one event, append what it publishes to `out`, and return its outcome.

        Raises Rejected before anything has changed.
        """
        ((outcome, published, rejected),) = self.fold((event,))
        if rejected is not None:
            raise rejected
        out += written_out(published)
        return outcome

    def fold(self, events: Sequence[Event | Rejected]) -> list[Folded]:
        """Apply events in log order, and return what became of each; what is published stays in short.

        The same as applying one after the other, and a fifth faster: the games of a ladder go through one of
        its systems after the other, so that code and data of a system stay in the processor's cache. What is
        rejected already stays so.
        """
        games = [event for event in events if type(event) is Game]
        ladders = {game.ladder for game in games}
        if len(games) == len(events) and len(ladders) == 1 and ladders <= self._ladders.keys():
            return self._ladders[ladders.pop()].fold_games(games)
        return self._fold_mixed(events)

    def _fold_mixed(self, events: Sequence[Event | Rejected]) -> list[Folded]:
        folded: list[Folded] = [_PENDING] * len(events)
        runs: dict[str, _Run] = {}
        for position, event in enumerate(events):
            if isinstance(event, Rejected):
                folded[position] = REJECTED, (), event
                continue
            try:
                run = self._run_of(event.ladder, runs)
            except Rejected as rejected:
                folded[position] = REJECTED, (), rejected
                continue
            if type(event) is Game:
                run.games.append(event)
                run.positions.append(position)
            else:
                # It may matter to the games behind it, and those before it to what it publishes.
                run.finish(folded)
                folded[position] = run.ladder.fold(event)
        for run in runs.values():
            run.finish(folded)
        return folded

    def _run_of(self, ladder: str, runs: "dict[str, _Run]") -> "_Run":
        """Return the run of a ladder. Raises Rejected when the ladder is unknown."""
        run = runs.get(ladder)
        if run is None:
            run = runs[ladder] = _Run(self._ladder(ladder))
        return run

    def load(self, key: str, row: Any) -> None:
        """Take back one row, as `changed_rows` gave it out. Raises Rejected for a ladder that is unknown."""
        kind, ladder_id, rest = split_key(key, 3)
        self._ladder(ladder_id).load(kind, rest, row)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        """Yield (key, row) of every row changed since the last call; a None row is deleted."""
        for ladder in self._ladders.values():
            yield from ladder.changed_rows()

    def drop_changes(self) -> None:
        """Forget which rows have changed, for a fold that stores none."""
        for ladder in self._ladders.values():
            ladder.drop_changes()

    def ratings(self, ladder: str, system: str) -> list[tuple[str, float, int]]:
        """Return (player, rating, games) of everyone rated in a ladder's system, in no particular order."""
        rated = self.system(ladder, system)
        return [] if rated is None else rated.ratings()

    def system(self, ladder: str, system: str) -> System | None:
        """Return a ladder's system with its rows; None while the ladder has no events."""
        known = self._ladders.get(ladder)
        return None if known is None else known.systems.get(system)

    def competition(self, ladder: str) -> Competition | None:
        """Return a ladder's weekly competition; None when it has none, or no events yet."""
        known = self._ladders.get(ladder)
        return None if known is None else known.competition

    def statistics(self, ladder: str, player_id: str) -> Statistics:
        """Return a player's statistics on a ladder; zeros for a player without rated games."""
        known = self._ladders.get(ladder)
        return NO_GAMES if known is None else known.statistics.get(player_id, NO_GAMES)

    def pending(self, ladder: str) -> int:
        """Return how many voids and versions of a ladder's games no rebuild has put into force."""
        known = self._ladders.get(ladder)
        return 0 if known is None else known.pending

    @property
    def players(self) -> int:
        """Return how many rows of players there are, on all ladders."""
        return sum(ladder.players for ladder in self._ladders.values())

    @property
    def remembered_games(self) -> int:
        """Return how many games are told from their duplicates, on all ladders."""
        return sum(ladder.remembered_games for ladder in self._ladders.values())

    @property
    def pending_corrections(self) -> int:
        """Return how many voids and versions no rebuild has put into force, on all ladders."""
        return sum(ladder.pending for ladder in self._ladders.values())

    def voided_ahead_from(self, voided: GameVoided) -> float:
        """Return from which end on, in seconds since 1970, a game just taken back cannot have come before.

        Infinity when it has. Ask right behind the void: games that come after it count too.
        """
        return self._ladder(voided.ladder).voided_ahead_from(voided.game_id)

    def touch(self, ladder: str, player_id: str) -> None:
        """Count a player's row as changed, after a system's figures were set from outside."""
        self._ladders[ladder].touch(player_id)

    def fold_by(self, ladder: str, make: Callable[[LadderRules, Corrections], Ladder]) -> None:
        """Let a ladder be folded by what `make` makes of its rules and corrections, from its first event."""
        self._ladders[ladder] = make(self._rules[ladder], self._corrections)

    def replace(self, ladder: str, other: "Ladders") -> None:
        """Take over a ladder of another fold, rows not yet drained from it included."""
        self._ladders[ladder] = other._ladder(ladder)  # noqa: SLF001 - of the same class

    def weeks_due(self, now: datetime) -> list[WeekEnded]:
        """Return the week-ended records that should be on the log at `now`, ladder by ladder in week order.

        The fold itself asks no clock: somebody who has one appends these to the log. The same records are
        returned until the fold has applied them.
        """
        competitions = (ladder.competition for ladder in self._ladders.values())
        return [
            ended for competition in competitions if competition is not None for ended in competition.due(now)
        ]

    def weeks_overdue(self, now: datetime) -> dict[str, float]:
        """Return for how many seconds the first week-ended record of `weeks_due` has been due, by ladder.

        0 where none is; ladders without a competition are left out.
        """
        return {
            name: ladder.competition.overdue(now)
            for name, ladder in self._ladders.items()
            if ladder.competition is not None
        }

    def weeks_amended(self) -> list[tuple[WeekEnded, int]]:
        """Return a record for each closed week amended since it was published, and the number of its rows.

        On the log, or folded at the end of a file, the record publishes its standings.
        """
        competitions = (ladder.competition for ladder in self._ladders.values())
        return [
            amended
            for competition in competitions
            if competition is not None
            for amended in competition.amended()
        ]

    def _ladder(self, ladder: str) -> Ladder:
        known = self._ladders.get(ladder)
        if known is None:
            rules = self._rules.get(ladder)
            if rules is None:
                raise unknown_ladder(ladder)
            known = self._ladders[ladder] = Ladder(rules, self._corrections)
        return known


def unknown_ladder(ladder: str) -> Rejected:
    """Return what is wrong with a record of a ladder that there is not."""
    return Rejected("unknown-ladder", f"ladder: {ladder!r} is not in the ladder file")


class _Run:
    """Games of one ladder that wait to be folded together, and their positions among the events."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.games: list[Game] = []
        self.positions: list[int] = []

    def finish(self, folded: list[Folded]) -> None:
        """Fold the games, and put what became of each in its position."""
        if self.games:
            for position, result in zip(self.positions, self.ladder.fold_games(self.games), strict=True):
                folded[position] = result
            self.games.clear()
            self.positions.clear()
