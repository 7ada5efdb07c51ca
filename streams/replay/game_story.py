"""The story of one game: every record about it, what became of each, and what is in force.

It is told by what was published, not by folding again: what people saw is what is explained.

Pure: standard library and msgspec only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from streams.core.corrections import CorrectionsMarker
from streams.core.events import Game, GameVoided, RatingChanged, Reason
from streams.core.outcomes import FORWARDED, IGNORED, NOTED, RATED, REJECTED
from streams.core.rankings import shown_change

# What a record may be beside the outcomes: not come to yet, or one of which nothing published is left.
UNREAD = "unread"
UNKNOWN = "unknown"


class Place(NamedTuple):
    """Where a record lies."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True)
class Said:
    """A record about the game; `event` is None when it is no valid one, of which `text` is the beginning.

    `timestamp_ms` is the record's own. `copy_of` is the place, as text, of the record that it was forwarded
    from; None when it lies where it was sent.
    """

    place: Place
    timestamp_ms: int
    event: Game | GameVoided | None
    text: str = ""
    copy_of: str | None = None


class Rejection(NamedTuple):
    """Why a record was rejected."""

    reason: str
    message: str


@dataclass
class Published:
    """What was published about the game; reasons and rejections by the place, as text, of their record."""

    ignored: dict[str, Sequence[Reason]] = field(default_factory=dict)
    rejected: dict[str, Rejection] = field(default_factory=dict)
    changes: list[RatingChanged] = field(default_factory=list)


class Standing(Enum):
    """Whether what a void or a version says holds."""

    REBUILT = "in force since a rebuild"
    AT_ONCE = "in force from here on"
    PENDING = "waits for a rebuild"


@dataclass(frozen=True)
class Told:
    """A record, its outcome and why; of a void or a noted version also how it stands.

    `rebuilt_at` is the offset of the marker that put it into force.
    """

    said: Said
    outcome: str
    reasons: Sequence[Reason] = ()
    rejection: Rejection | None = None
    standing: Standing | None = None
    rebuilt_at: int | None = None


@dataclass(frozen=True)
class Story:
    """The records about a game in log order, and the changes that it made, by system and player."""

    ladder: str
    game_id: str
    records: Sequence[Told]
    changes: Sequence[RatingChanged]


# The first offset not applied yet, by partition.
Applied = Mapping[int, int]


def tell(
    ladder: str,
    game_id: str,
    said: Iterable[Said],
    published: Published,
    markers: Sequence[CorrectionsMarker],
    applied: Applied,
    home: int,
) -> Story:
    """Return the story of what was said and published; `home` is the partition that is the ladder's home.

    What lies elsewhere comes first, then the home in log order.
    """
    in_order = sorted(said, key=lambda record: (record.place.partition == home, record.place))
    teller = _Teller(published, markers, applied, home)
    records = [teller.tell(record) for record in in_order]
    changes = sorted(
        published.changes, key=lambda change: (change.system, change.week or "", change.player_id)
    )
    return Story(ladder, game_id, records, changes)


def change_text(change: RatingChanged) -> str:
    """Return how far a rating moved as it is shown, with its sign."""
    difference = shown_change(change.before, change.after)
    return f"{difference:+}" if difference else "0.0"


class _Teller:
    """Says what became of one record after the other."""

    def __init__(
        self, published: Published, markers: Sequence[CorrectionsMarker], applied: Applied, home: int
    ) -> None:
        self._published = published
        self._markers = markers
        self._applied = applied
        self._home = home
        self._systems = {change.system for change in published.changes}
        self._is_rated = False
        # Whether there was a report that a void takes back: one that was rated, or waits to be.
        self._is_reported = False

    def tell(self, said: Said) -> Told:
        reasons = self._published.ignored.get(str(said.place), ())
        rejection = self._published.rejected.get(str(said.place))
        outcome = self._outcome(said, reasons, rejection)
        standing, rebuilt_at = self._standing(said, outcome)
        if isinstance(said.event, Game) and outcome in (RATED, NOTED, UNKNOWN):
            self._is_reported = True
        return Told(said, outcome, reasons, rejection, standing, rebuilt_at)

    def _outcome(self, said: Said, reasons: Sequence[Reason], rejection: Rejection | None) -> str:
        if rejection is not None:
            return REJECTED
        if said.place.offset >= self._applied.get(said.place.partition, 0):
            return UNREAD
        if said.event is not None and said.place.partition != self._home:
            return FORWARDED
        if isinstance(said.event, GameVoided):
            return NOTED
        return UNKNOWN if said.event is None else self._outcome_of_game(said.event, reasons)

    def _outcome_of_game(self, game: Game, reasons: Sequence[Reason]) -> str:
        # A system that counted it for some of the players names the others.
        without = {reason.system for reason in reasons if not reason.players}
        if not self._is_rated and self._systems - without:
            self._is_rated = True
            return RATED
        if reasons:
            return IGNORED
        return NOTED if game.version > 1 else UNKNOWN

    def _standing(self, said: Said, outcome: str) -> tuple[Standing | None, int | None]:
        if outcome != NOTED:
            return None, None
        for marker in self._markers:
            if marker.until > said.place.offset:
                return Standing.REBUILT, marker.offset
        if isinstance(said.event, GameVoided) and not self._is_reported:
            return Standing.AT_ONCE, None
        return Standing.PENDING, None
