"""The checker finds nothing in what is published, and whatever is done to it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from helpers import Record
from hypothesis import given
from hypothesis import strategies as st
from season import LADDER_FILE, START
from season import events as season_events

from streams import events
from streams.testing import Checker, Driver, Problem, finished, problems
from streams.wire.encode import MAX_PUBLISHED_BYTES

LADDERS = '[ladders.chess]\nsystems = ["fundox", "weekly"]\n'
MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC)


class Message:
    """A record as confluent-kafka has it: methods, and None for no headers."""

    def __init__(self, record: Record) -> None:
        for name, content in {**vars(record), "headers": record.headers or None}.items():
            setattr(self, name, lambda content=content: content)


def read(driver: Driver) -> list[Record]:
    """Give what a driver has published as records of one partition for each topic."""
    ends: dict[str, int] = {}
    records = []
    for topic, key, value, headers in driver.published:
        offset = ends[topic] = ends.get(topic, -1) + 1
        records.append(Record(topic=topic, partition=0, offset=offset, key=key, value=value, headers=headers))
    return records


def chess(games: int = 4) -> list[Record]:
    """Give the rating-changed records of a few games: four each, of fundox first."""
    driver = Driver(LADDERS)
    driver.send(*(finished(f"g-{number}", "ann", "bob") for number in range(games)))
    return read(driver)


def changed(record: Record, **fields: Any) -> Record:
    """Give a record with other fields in its value."""
    body = {**orjson.loads(record.value), **fields}
    return Record(**{**vars(record), "value": orjson.dumps(body)})


def moved(record: Record, **fields: Any) -> Record:
    """Give a record with another position, key, value or headers."""
    return Record(**{**vars(record), **fields})


@pytest.fixture(scope="module")
def season() -> list[Record]:
    """Give all that a season publishes, with corrections in between and at the end."""
    driver = Driver(LADDER_FILE)
    for number, event in enumerate(season_events(4_000)):
        driver.send(event)
        if number == 2_000:
            driver.rebuild()
    driver.rebuild()
    driver.end_weeks(START + timedelta(days=7))
    return read(driver)


def test_nothing_is_wrong_with_what_is_published(season: list[Record]) -> None:
    topics = {record.topic for record in season}
    changes = [orjson.loads(record.value) for record in season if record.topic == events.RATING_CHANGED]
    reasons = {change.get("reason") for change in changes}

    assert topics == {"rating-changed", "competition-closed", "game-ignored", "game-rejected"}
    assert reasons == {None, "import", "correction"}
    assert problems(season) == []


def test_records_of_every_client_do(season: list[Record]) -> None:
    assert problems(Message(record) for record in season[:100]) == []


@given(st.data())
def test_a_change_that_is_missing_is_found_unless_it_is_a_last_one(data: st.DataObject) -> None:
    records = chess()
    position = data.draw(st.integers(0, len(records) - 5))

    found = problems(records[:position] + records[position + 1 :])

    assert len(found) == 1
    assert "player 'ann' in chess/" in found[0] or "player 'bob' in chess/" in found[0]


@given(st.data())
def test_what_is_read_again_is_told_from_what_is_published_twice(data: st.DataObject) -> None:
    records = chess()
    start = data.draw(st.integers(0, len(records) - 1))
    again = data.draw(st.integers(start + 1, len(records)))
    redelivered = records[:again] + records[start:]
    twice = records + [moved(record, offset=100 + record.offset) for record in records[start:again]]

    assert kinds(redelivered) == ["redelivered"] * (again - start)
    assert kinds(twice) == ["double"] * (again - start)


def kinds(records: list[Record]) -> list[str]:
    checker = Checker()
    for record in records:
        checker.take(record)
    return [problem.kind for problem in checker.problems]


DAMAGES: dict[str, tuple[Callable[[Record], Record], str, str]] = {
    "sequence": (
        lambda record: changed(record, sequence=7),
        "chain",
        "0/4: player 'ann' in chess/fundox: sequence 7 follows 1",
    ),
    "before": (
        lambda record: changed(record, before=1600.5),
        "chain",
        "0/4: player 'ann' in chess/fundox: sequence 2 begins at 1600.5, the last one ended at 1608.0",
    ),
    "partition": (
        lambda record: moved(record, partition=3),
        "chain",
        "3/4: player 'ann' in chess/fundox was in partition 0 before: the changes have no order",
    ),
    "order": (
        lambda record: moved(record, offset=2),
        "order",
        "0/2: it was read behind offset 3",
    ),
    "key": (
        lambda record: moved(record, key=b"bob"),
        "invalid",
        "0/4: the key is b'bob', not 'ann'",
    ),
    "schema": (
        lambda record: changed(record, after="much"),
        "invalid",
        '0/4: after: "much" is not of type "number"',
    ),
    "json": (
        lambda record: moved(record, value=b"{"),
        "invalid",
        "0/4: the value is not JSON: unexpected end of data: line 1 column 2 (char 1)",
    ),
    "deleted": (
        lambda record: moved(record, value=None),
        "invalid",
        "0/4: the value is not JSON: Input is a zero-length, empty document: line 1 column 1 (char 0)",
    ),
}


@pytest.mark.parametrize(("damage", "kind", "message"), DAMAGES.values(), ids=DAMAGES)
def test_what_is_wrong_is_named_with_its_position(
    damage: Callable[[Record], Record], kind: str, message: str
) -> None:
    records = chess(2)[:5]
    checker = Checker()

    for record in records[:4]:
        assert checker.take(record) == []
    (problem,) = checker.take(damage(records[4]))

    assert (problem.kind, str(problem)) == (kind, f"rating-changed/{message}")
    assert checker.problems == [problem]


def test_a_chain_begins_with_1() -> None:
    (first, *_) = chess()

    assert problems([changed(first, sequence=2)]) == [
        "rating-changed/0/0: player 'ann' in chess/fundox begins with sequence 2, not 1"
    ]


def test_who_began_somewhere_misses_nothing_before() -> None:
    assert problems(chess()[5:], from_beginning=False) == []


def closings() -> list[Record]:
    """Give the three revisions of a week that a late game has amended."""
    driver = Driver(LADDERS)
    driver.send(finished("g-1", "ann", "bob"))
    driver.end_weeks(MIDNIGHT)
    driver.send(finished("g-2", "ann", "bob"))
    driver.end_weeks(MIDNIGHT + timedelta(hours=1))
    driver.end_weeks(MIDNIGHT + timedelta(hours=24))
    return [record for record in read(driver) if record.topic == events.COMPETITION_CLOSED]


def test_a_revision_that_is_missing_is_found() -> None:
    first, _, last = closings()

    assert problems(closings()) == []
    assert problems([first, last]) == [
        "competition-closed/0/2: chess/2026-W48: revision 3 follows revision 1"
    ]
    assert problems([last]) == ["competition-closed/0/2: chess/2026-W48 begins with revision 3"]
    assert problems([last], from_beginning=False) == []


def test_what_is_final_stays_so() -> None:
    *_, last = closings()
    after = moved(changed(last, revision=4, final=False), offset=3)

    assert problems([*closings(), after]) == ["competition-closed/0/3: chess/2026-W48 is not final any more"]


def parts() -> list[Record]:
    """Give the standings of a week with more players than one record takes."""
    driver = Driver(LADDERS)
    long = "x" * 100
    games = MAX_PUBLISHED_BYTES // len(long) // 4
    driver.send(*(finished(f"g-{number}", f"{long}{number}", f"y-{long}{number}") for number in range(games)))
    driver.end_weeks(MIDNIGHT)
    return [record for record in read(driver) if record.topic == events.COMPETITION_CLOSED]


def test_standings_in_parts_are_whole_or_not() -> None:
    records = parts()

    assert len(records) > 2
    assert problems(records) == []
    assert [line.split(": ", 1)[1] for line in problems([records[0], *records[2:]])] == [
        f"chess/2026-W48: revision 1, part 3 of {len(records)}, follows revision 1, part 1 of {len(records)},"
    ]


def test_a_rejected_record_needs_its_reason() -> None:
    record = Record(topic="x.game-rejected", partition=1, offset=7, key=None, value=b"{", headers=[])

    assert Checker().take(record) == [
        Problem("invalid", "x.game-rejected", 1, 7, "headers: there is no __ladderlog.errors.reason")
    ]


def test_a_topic_that_nothing_is_published_to_is_named() -> None:
    record = Record(topic="game-finished", partition=0, offset=0, key=None, value=b"{}", headers=[])

    with pytest.raises(ValueError, match=r"topic 'game-finished' is none of rating-changed, .*, with or"):
        Checker().take(record)
