"""The one drive loop: decode, fold, publish or reject, count; and the pause of garbage collection around it.

A worker's partition, a rebuild, a replay and `rate` all go through here. They differ in where their items
come from, in the fold, and in the Sink that takes what the fold puts out.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from streams.core.events import Event, Rejected
from streams.core.ladder import Folded
from streams.core.outcomes import FORWARDED, RATED, OutcomeCounts
from streams.core.publications import Publication

# Events decoded, then folded, together: code and data of either step stay in the processor's cache, which
# takes a tenth off both.
EVENTS_TOGETHER = 100

Item = TypeVar("Item")
Decoded = Event | Rejected

# Applies decoded items in log order, and returns what became of each.
Fold = Callable[[Sequence[Item], Sequence[Decoded]], Sequence[Folded]]


class Sink(Protocol):
    """Takes what a fold puts out; `item` is the record or line that it comes from."""

    def publish(self, item: Any, event: Event, published: Sequence[Publication]) -> None:
        """Take an event that was not rejected, and what follows from it, which may be nothing."""

    def reject(self, item: Any, rejected: Rejected) -> None:
        """Take an item that is no valid input, and why."""

    def forward(self, item: Any, event: Event) -> None:
        """Take a record that lies away from the home of its event's ladder, where a copy of it belongs."""


def process(
    fold: Fold[Item],
    items: Sequence[Item],
    decode: Callable[[Item], Event],
    sink: Sink | None,
    counts: OutcomeCounts,
) -> None:
    """Apply items in log order: what follows goes to the sink, if there is one, outcomes to the counts.

    `decode` makes an event of an item, or raises Rejected.
    """
    for start in range(0, len(items), EVENTS_TOGETHER):
        piece = items[start : start + EVENTS_TOGETHER]
        process_decoded(fold, piece, decode_all(decode, piece), sink, counts)


def process_decoded(
    fold: Fold[Item],
    items: Sequence[Item],
    events: Sequence[Decoded],
    sink: Sink | None,
    counts: OutcomeCounts,
) -> None:
    """Apply items that are decoded already, at most about EVENTS_TOGETHER of them."""
    folded = fold(items, events)
    if sink is not None:
        publish = sink.publish
        for item, event, (outcome, published, rejected) in zip(items, events, folded, strict=True):
            if outcome is RATED:
                publish(item, event, published)  # type: ignore[arg-type]  # no Rejected
            elif rejected is not None:
                sink.reject(item, rejected)
            elif outcome is FORWARDED:
                sink.forward(item, event)  # type: ignore[arg-type]  # no Rejected
            else:
                publish(item, event, published)  # type: ignore[arg-type]  # no Rejected
    counts.count_all([outcome for outcome, _, _ in folded])


def decode_all(decode: Callable[[Item], Event], items: Iterable[Item]) -> list[Decoded]:
    """Return the events of items, a Rejected in the place of one that is not a valid input by itself."""
    events: list[Decoded] = []
    for item in items:
        try:
            events.append(decode(item))
        except Rejected as rejected:
            events.append(rejected)
    return events


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch the search for objects that refer to each other off for a while.

    A fold makes none, and holds so many others that looking through them takes a third of the time. What is
    no longer used is freed as ever.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
