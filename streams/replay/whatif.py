"""What if: the same log folded under two sets of rules, and their final ratings compared."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from streams.core.compare import Comparison, Figure, compare
from streams.core.events import Event, Rejected
from streams.core.publications import Publication
from streams.core.tally import Score, Tally
from streams.replay.files import replay_lines
from streams.replay.folding import PartitionFold, Rules
from streams.replay.log import PartitionReplay
from streams.replay.offset_ranges import OffsetRange
from streams.runtime.settings import Settings

Key = tuple[str, str]


class Outcome(NamedTuple):
    """What came of a log under one set of rules: every rating, and how well they told the winners."""

    ratings: dict[Key, dict[str, float]]
    tally: Tally


class TallySink:
    """A Sink for the tally alone."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def publish(self, item: Any, event: Event, published: Sequence[Publication]) -> None:  # noqa: ARG002 - a Sink
        """Add what follows from one event."""
        self._tally.add(event, published)

    def reject(self, item: Any, rejected: Rejected) -> None:
        """Count nothing."""

    def forward(self, item: Any, event: Event) -> None:
        """Count nothing: its copy counts."""


def outcome_of_topic(
    settings: Settings, rules: Rules, ranges: Sequence[OffsetRange], advance: Callable[[int], None]
) -> Outcome:
    """Fold ranges of the input topic."""
    outcome = _new_outcome(rules)
    for offset_range in ranges:
        sink = TallySink(outcome.tally)
        replay = PartitionReplay(settings, rules, offset_range, sink, advance=advance)
        asyncio.run(replay.run())
        _add_ratings(outcome, replay.fold)
    return outcome


def outcome_of_files(
    paths: Sequence[str], rules: Rules, app_id: str, advance: Callable[[int], None]
) -> Outcome:
    """Fold files of JSON lines."""
    outcome = _new_outcome(rules)
    fold = replay_lines(paths, rules, app_id, TallySink(outcome.tally), advance=advance)
    _add_ratings(outcome, fold)
    return outcome


def comparisons(before: Outcome, after: Outcome) -> Iterator[Comparison]:
    """Compare every system that a ladder has under both sets of rules, in the order of the former."""
    for key, ratings in before.ratings.items():
        if key in after.ratings:
            tally = _figures(before.tally.scores[key], after.tally.scores[key])
            yield compare(*key, ratings, after.ratings[key], tally)


def one_sided(before: Outcome, after: Outcome) -> list[str]:
    """Name the systems that stand in one of the two only, and so cannot be compared."""
    return [
        *(f"{'/'.join(key)}: only before" for key in before.ratings if key not in after.ratings),
        *(f"{'/'.join(key)}: only after" for key in after.ratings if key not in before.ratings),
    ]


def _new_outcome(rules: Rules) -> Outcome:
    keys = [(ladder, system) for ladder, ladder_rules in rules.items() for system in ladder_rules.systems]
    return Outcome({key: {} for key in keys}, Tally(rules))


def _add_ratings(outcome: Outcome, fold: PartitionFold[Any]) -> None:
    for key, ratings in outcome.ratings.items():
        ratings.update({player_id: rating for player_id, rating, _ in fold.ratings(*key)})


def _figures(before: Score, after: Score) -> list[Figure]:
    if not before.compared and not after.compared:
        return []
    figures = [
        Figure("comparisons", before.compared, after.compared),
        Figure("higher rated won, %", _percent(before.accuracy), _percent(after.accuracy)),
        Figure("log-loss", before.log_loss, after.log_loss),
    ]
    return [figure for figure in figures if (figure.before, figure.after) != (None, None)]


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part
