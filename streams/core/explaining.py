"""Why a rating moved: one game of one ladder, folded with the steps to what it made of one player's ratings.

The fold is the ladder's own; only where the game is rated its systems are asked first for their steps.

Pure: no clock, no I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from streams.core.corrections import CorrectionPlan
from streams.core.events import Game, GameIgnored
from streams.core.ladder import Corrections, Folded, Ladder
from streams.core.outcomes import IGNORED, NOTED
from streams.core.ratings.explanation import Step, last_result
from streams.core.ratings.system import Change, Notes, OpenedGame, System, SystemChanges
from streams.core.rules import LadderRules

# Behind the last offset of any log.
_END = 1 << 63


@dataclass(frozen=True)
class Question:
    """Which player's change in which game is to be explained."""

    ladder: str
    game_id: str
    player_id: str


@dataclass(frozen=True)
class Explained:
    """What a game made of the player's rating in one system.

    Without a `change`, `reason` is why: one of `streams.core.events.REASONS`. `steps` is None when the system
    does not explain itself.
    """

    system: str
    change: Change | None = None
    steps: Sequence[Step] | None = ()
    reason: str | None = None


@dataclass(frozen=True)
class Report:
    """A report of the game, as it was rated where a correction stands in its place, and what came of it."""

    game: Game
    outcome: str
    systems: Sequence[Explained]


@dataclass(frozen=True)
class Answer:
    """What is to be said of the game's first report, the only one that can be rated.

    `offset` is where that lies in the log. `corrected_at` is the offset of the rebuild that put the last word
    on the game into force, if one did; `pending` says that something was said later that waits for a rebuild.
    """

    question: Question
    report: Report
    offset: int
    corrected_at: int | None = None
    pending: bool = False


class ExplanationError(ValueError):
    """A system's steps do not lead to the rating that the system gives: its explanation is wrong."""


class ExplainedLadder(Ladder):
    """The fold of a ladder that keeps what came of each report of one game."""

    def __init__(self, question: Question, rules: LadderRules, corrections: Corrections) -> None:
        super().__init__(rules, corrections)
        self.reports: list[Report] = []
        self._question = question
        self._rated: Game | None = None
        self._explained: list[Explained] = []

    def fold_games(self, games: Sequence[Game]) -> list[Folded]:
        """Fold games in log order, those of the question by themselves."""
        game_id = self._question.game_id
        if all(game.game_id != game_id for game in games):
            return super().fold_games(games)
        return [
            self._fold_report(game)
            if game.game_id == game_id
            else super(ExplainedLadder, self).fold_games((game,))[0]
            for game in games
        ]

    def _fold_report(self, game: Game) -> Folded:
        usual = self.rate_batches
        self.rate_batches = [partial(self._rate, system) for system in self.systems.values()]
        self._rated, self._explained = None, []
        (folded,) = super().fold_games((game,))
        self.rate_batches = usual
        outcome, published, _ = folded
        if outcome == IGNORED and self._rated is None:
            self._explained = [
                Explained(reason.system, reason=reason.reason)
                for ignored in published
                if isinstance(ignored, GameIgnored)
                for reason in ignored.reasons
            ]
        self.reports.append(Report(self._rated or game, outcome, self._explained))
        return folded

    def _rate(self, system: System, games: Sequence[OpenedGame], notes: Notes) -> list[SystemChanges]:
        """Rate one game by a system, and ask it for its steps before."""
        if not games:
            return []
        (opened,) = games
        game, player_id = opened.game, self._question.player_id
        plays = player_id in game.players
        steps = system.explain(game, opened.places, player_id) if plays else ()
        rated = system.rate_batch(games, notes)
        change = next((made for made in rated[0].changes if made.player_id == player_id), None)
        reason = next((note.reason for note in notes.get(0, ()) if note.system == system.name), None)
        if change is not None and steps is not None and last_result(steps) != change.after:
            raise ExplanationError(
                f"{system.name}: the steps for {player_id!r} in game {game.game_id!r} lead to "
                f"{last_result(steps)!r}, not to {change.after!r}"
            )
        self._rated = game
        self._explained.append(
            Explained(
                system.name,
                change,
                steps if change is not None else (),
                None if change is not None else reason,
            )
        )
        return rated


def answer(question: Question, report: Report, offset: int, plan: CorrectionPlan) -> Answer:
    """Return what is to be said of a game whose first report lies at an offset of the log."""
    ladder, game_id = question.ladder, question.game_id
    markers = plan.markers.get(ladder, ())
    until = max((marker.until for marker in markers), default=0)
    in_force = plan.corrections(ladder, until).amendments.get(game_id)
    corrected_at = None
    if in_force is not None:
        corrected_at = next(
            marker.offset
            for marker in markers
            if plan.corrections(ladder, marker.until).amendments.get(game_id) == in_force
        )
    # What was said before the game came counts at once, and is the first report itself when it is a version.
    known = plan.corrections(ladder, max(until, offset + 1)).amendments.get(game_id)
    last = plan.corrections(ladder, _END).amendments.get(game_id)
    pending = last != known or report.outcome == NOTED
    return Answer(question, report, offset, corrected_at, pending)
