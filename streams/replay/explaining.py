"""Why a rating moved, from a log: the ladder's home, or files, folded up to the game."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, TypeVar

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.corrections import CorrectionPlan
from streams.core.events import Event, Game, Rejected
from streams.core.explaining import Answer, ExplainedLadder, Question, answer
from streams.core.ladder import Corrections
from streams.core.publications import Publication
from streams.core.rules import LadderRules
from streams.processor import no_collection
from streams.replay.errors import LostError, ReplayError
from streams.replay.files import Numbered, decode_numbered, number_of, numbered_lines, plan_of_lines
from streams.replay.folding import PartitionFold
from streams.replay.log import read_bounds, read_plan, records_between
from streams.replay.offset_ranges import OffsetRange
from streams.replay.requests import LogFiles, Telling
from streams.runtime.changelog import read_state
from streams.runtime.homes import Homes, Place
from streams.runtime.settings import Settings
from streams.wire.decode import decode_consumed

_AT_ONCE = 1_000
# Of these only, the first pass over files decodes the lines. A backslash may spell anything.
_MAY_CORRECT = (b'"version"', b"game-voided", b"corrections-applied", b"\\")

Item = TypeVar("Item")


class NoGameError(ReplayError):
    """There is no report of the game in the log."""


async def explain_topic(
    settings: Settings, rules: LadderRules, question: Question, telling: Telling
) -> tuple[Answer, bool]:
    """Return what the home of a ladder says of a game, and whether a worker has come to the game.

    `settings.partitions` are those of the input. Raises NoGameError, and LostError when the log has lost its
    beginning.
    """
    home = Homes(settings.partitions).of(question.ladder)
    place = Place(Homes(settings.partitions), home)
    offset_range = await _whole(settings, home)
    advance = telling.start(2 * (offset_range.end - offset_range.start))
    by_ladder = {rules.ladder: rules}
    plan = await read_plan(settings, by_ladder, place, offset_range, advance)
    fold = PartitionFold(by_ladder, settings.app_id, attrgetter("offset"), plan, place=place)
    search = _Search[ConsumerRecord](question, fold, attrgetter("offset"), decode_consumed)
    between = records_between(
        settings.connection,
        TopicPartition(settings.input_topic, home),
        offset_range.start,
        offset_range.end,
    )
    with no_collection():
        async with aclosing(between):  # type: ignore[type-var]  # it is an async generator
            async for records in between:
                advance(len(records))
                if search.take(records):
                    break
    told = search.answer(
        plan,
        f"partition {home} of {settings.input_topic}, the home of the ladder; `ladderlog game` names every "
        f"record about it",
    )
    return told, told.offset < (await read_state(settings, home)).offset


def explain_files(log: LogFiles, rules: LadderRules, question: Question, telling: Telling) -> Answer:
    """Return what files, which are one log together, say of a game. Raises NoGameError."""
    advance = telling.start(None)
    plan = plan_of_lines(_that_may_correct(log.paths), log.app_id)
    fold = PartitionFold({rules.ladder: rules}, log.app_id, number_of, plan)
    search = _Search[Numbered](question, fold, number_of, decode_numbered)
    lines = numbered_lines(log.paths)
    with no_collection():
        while piece := list(islice(lines, _AT_ONCE)):
            advance(len(piece))
            if search.take(piece):
                break
    return search.answer(plan, ", ".join(log.paths))


class _Search(Generic[Item]):
    """A fold that goes on until the first report of a game has come; it is the fold's Sink."""

    def __init__(
        self,
        question: Question,
        fold: PartitionFold[Item],
        offset_of: Callable[[Item], int],
        decode: Callable[[Item], Event],
    ) -> None:
        self._question = question
        self._fold = fold
        self._offset_of = offset_of
        self._decode = decode
        self._first: int | None = None
        self._ladders: list[ExplainedLadder] = []
        fold.fold_by(question.ladder, self._watched)

    def take(self, items: Sequence[Item]) -> bool:
        """Fold items, and say whether the game was among them."""
        self._fold.apply(items, self._decode, self)
        return self._first is not None

    def answer(self, plan: CorrectionPlan, where: str) -> Answer:
        """Return what is to be said of the game; `where` it was looked for. Raises NoGameError."""
        (ladder,) = self._ladders
        if self._first is None:
            raise NoGameError(
                f"there is no valid report of game {self._question.game_id!r} of ladder "
                f"{self._question.ladder!r} in {where}"
            )
        return answer(self._question, ladder.reports[0], self._first, plan)

    def publish(self, item: Item, event: Event, published: Sequence[Publication]) -> None:  # noqa: ARG002 - a Sink
        """Note where the first report lies."""
        if self._first is None and isinstance(event, Game) and self._is_asked_for(event):
            self._first = self._offset_of(item)

    def reject(self, item: Any, rejected: Rejected) -> None:
        """Pass over what is no valid input, and what another ladder says."""

    def forward(self, item: Any, event: Event) -> None:
        """Pass over what lies away from home: its copy counts."""

    def _is_asked_for(self, game: Game) -> bool:
        return game.game_id == self._question.game_id and game.ladder == self._question.ladder

    def _watched(self, rules: LadderRules, corrections: Corrections) -> ExplainedLadder:
        ladder = ExplainedLadder(self._question, rules, corrections)
        self._ladders.append(ladder)
        return ladder


async def _whole(settings: Settings, partition: int) -> OffsetRange:
    """Return the whole of a partition. Raises LostError when its beginning is gone."""
    (bounds,) = await read_bounds(settings, [partition])
    if bounds.first > 0:
        raise LostError(
            f"{settings.input_topic} has lost the beginning of partition {partition}, offsets 0 to "
            f"{bounds.first - 1}, and with it what the ratings before the game came from"
        )
    return OffsetRange(partition, 0, 0, bounds.last)


def _that_may_correct(paths: Sequence[str]) -> Iterator[Numbered]:
    for number, line in numbered_lines(paths):
        if any(part in line for part in _MAY_CORRECT):
            yield number, line
