"""A ladder's home: what is folded there, what is forwarded to it, and what is rejected on the way."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.structs import ConsumerRecord
from helpers import played, ranked

from streams.core.events import Event, GameVoided, Rejected
from streams.core.ladder import Folded
from streams.core.outcomes import FORWARDED, RATED, REJECTED, OutcomeCounts
from streams.core.publications import Publication
from streams.processor import Decoded, process
from streams.runtime.homes import FORWARDED_HEADER, Homes, Place, at_home, forwarded_copy
from streams.runtime.topics import MAX_INPUT_BYTES

# Of 4 partitions, "tiles" has its home in 1, "rummy" in 0, "belote" in 2 and "go" in 3.
HERE = 1
PLACE = Place(Homes(4), HERE)
COPY = (FORWARDED_HEADER, b"game-finished/3/7")


def record(offset: int, headers: Sequence[tuple[str, bytes | None]] = ()) -> Any:
    return ConsumerRecord(
        "game-finished", HERE, offset, 1_000 + offset, 0, b"any", b"{}", None, 3, 2, tuple(headers)
    )


def of(ladder: str) -> Event:
    return played("1", ranked("ann", 1), ranked("bob", 2), ladder=ladder)


class Taken:
    """A Sink that keeps the offsets of what it takes, by what it is."""

    def __init__(self) -> None:
        self.published: list[int] = []
        self.rejected: list[tuple[int, str]] = []
        self.forwarded: list[tuple[int, str]] = []

    def publish(self, item: Any, event: Event, published: Sequence[Publication]) -> None:  # noqa: ARG002 - a Sink
        """Keep what was folded."""
        self.published.append(item.offset)

    def reject(self, item: Any, rejected: Rejected) -> None:
        """Keep what was rejected."""
        self.rejected.append((item.offset, rejected.reason))

    def forward(self, item: Any, event: Event) -> None:
        """Keep what was forwarded."""
        self.forwarded.append((item.offset, event.ladder))


def rate(records: Sequence[Any], events: Sequence[Decoded]) -> list[Folded]:
    """Return a fold's answer for what it is given: an error stays one, all else is rated."""
    assert len(records) == len(events)

    return [(REJECTED, (), event) if isinstance(event, Rejected) else (RATED, (), None) for event in events]


def folded(entries: Sequence[tuple[Any, Decoded]]) -> tuple[Taken, OutcomeCounts]:
    """Fold records, each with its event, in a place."""
    taken, counts = Taken(), OutcomeCounts()
    events: Iterator[Decoded] = iter([event for _, event in entries])

    def decode(_record: Any) -> Event:
        event = next(events)
        if isinstance(event, Rejected):
            raise event
        return event

    process(at_home(rate, PLACE), [record for record, _ in entries], decode, taken, counts)
    return taken, counts


@pytest.mark.parametrize("ladder", ["tiles", "rummy", "belote", "go", "Ångström", ""])
@pytest.mark.parametrize("partitions", [1, 4, 7])
def test_the_home_is_where_java_clients_send_the_ladder_as_key(ladder: str, partitions: int) -> None:
    chosen = DefaultPartitioner()(ladder.encode(), list(range(partitions)), list(range(partitions)))

    assert Homes(partitions).of(ladder) == chosen


def test_what_is_away_from_home_is_forwarded_and_the_rest_folded_in_order() -> None:
    entries = [
        (record(0), of("tiles")),
        (record(1), of("go")),
        (record(2), Rejected("schema", "no game")),
        (record(3), GameVoided("belote", "1", "cheat")),
        (record(4), of("tiles")),
    ]

    taken, counts = folded(entries)

    assert taken.published == [0, 4]
    assert taken.forwarded == [(1, "go"), (3, "belote")]
    assert taken.rejected == [(2, "schema")]
    assert counts == OutcomeCounts(read=5, rated=2, rejected=1, forwarded=2)
    assert counts.outcomes() == "2 rated, 0 ignored, 1 rejected, 0 noted, 2 forwarded"


def test_a_copy_at_home_is_a_record_like_any_other() -> None:
    taken, _ = folded([(record(0, [COPY]), of("tiles"))])

    assert taken.published == [0]


def test_a_copy_away_from_home_is_not_forwarded_again() -> None:
    taken, counts = folded([(record(0, [COPY]), of("go")), (record(1, [(FORWARDED_HEADER, None)]), of("go"))])

    assert taken.rejected == [(0, "misplaced"), (1, "misplaced")]
    assert counts == OutcomeCounts(read=2, rejected=2)


def test_a_record_whose_copy_no_topic_takes_is_rejected_where_it_lies() -> None:
    large = [("trace", b"x" * MAX_INPUT_BYTES)]

    taken, _ = folded([(record(0, large), of("go")), (record(1, large), of("tiles"))])

    assert taken.rejected == [(0, "too-large")]
    assert taken.published == [1]


def test_a_copy_has_the_ladder_as_key_and_says_where_it_is_from() -> None:
    headers = [("ce_id", b"1"), ("nothing", None), ("ce_id", b"2")]

    copy = forwarded_copy(record(9, headers), "go")

    assert copy == (b"go", b"{}", [*headers, (FORWARDED_HEADER, b"game-finished/1/9")])


def test_the_account_of_a_deployment_older_than_forwarding_has_none() -> None:
    counts = OutcomeCounts(read=3, rated=2, ignored=1, rejected=0, noted=0)

    assert counts.forwarded == 0


def test_a_forwarded_record_has_an_outcome_of_its_own() -> None:
    assert PLACE.judge(record(0), of("go")) == (FORWARDED, (), None)
    assert PLACE.judge(record(0), of("tiles")) is None
