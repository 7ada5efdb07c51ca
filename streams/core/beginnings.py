"""Ladders that were taken in while their deployment ran: what came before them stays rejected.

Their records of before were answered for already, as of an unknown ladder; a fold of the log has to say the
same of them, or history would change.

Pure: standard library only.
"""

from collections.abc import Iterable, Mapping, Sequence

from streams.core.events import Event, Rejected
from streams.core.ladders import unknown_ladder
from streams.core.rules import LadderRules


class Beginnings:
    """From which offset of its home on each ladder is known: most of them from the first."""

    def __init__(self, rules: Mapping[str, LadderRules]) -> None:
        self._since = {
            ladder: ladder_rules.since for ladder, ladder_rules in rules.items() if ladder_rules.since
        }

    def knows(self, event: Event, offset: int) -> bool:
        """Say whether the ladder of an event at an offset was known there."""
        return offset >= self._since.get(event.ladder, 0)

    def known(self, events: Sequence[Event | Rejected], offsets: Iterable[int]) -> Sequence[Event | Rejected]:
        """Return events, each at its offset, with a Rejected in the place of one that came too early."""
        if not self._since:
            return events
        return [
            event
            if isinstance(event, Rejected) or self.knows(event, offset)
            else unknown_ladder(event.ladder)
            for event, offset in zip(events, offsets, strict=True)
        ]
