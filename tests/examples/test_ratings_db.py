"""What a site's database holds after any batches, redeliveries, restarts and takeovers."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ratings_db import OtherHistoryError, RatingsDb, TakenOverError

from streams import events
from streams.testing import Driver, finished

TOPIC = events.RATING_CHANGED
LADDERS = '[ladders.chess]\nsystems = ["fundox", "weekly"]\n'
MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC)


def played(games: int) -> Driver:
    driver = Driver(LADDERS)
    driver.send(events.RatingImported("chess", "fundox", "eve", 1700.0, 31))
    pairs = [("ann", "bob"), ("eve", "ann")]
    driver.send(*(finished(f"g-{number}", *pairs[number % 2]) for number in range(games)))
    driver.send(events.GameVoided("chess", "g-1", "engine use"))
    driver.rebuild()
    return driver


DRIVER = played(6)
VALUES = [published.value for published in DRIVER.published if published.topic == TOPIC]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[RatingsDb]:
    opened = RatingsDb(tmp_path / "ratings.sqlite")
    yield opened
    opened.close()


# Batches: how far each goes back, how many records it has, and whether it comes after a restart.
DELIVERIES = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9), st.booleans()), max_size=8)


@given(DELIVERIES)
def test_whatever_is_delivered_again_the_ratings_are_those_of_the_folds(
    batches: list[tuple[int, int, bool]],
) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ratings.sqlite"
        db = RatingsDb(file)
        db.begin(TOPIC, 0)
        reached = 0
        for back, length, restarted in [*batches, (0, len(VALUES), True)]:
            if restarted:
                db.close()
                db = RatingsDb(file)
                db.begin(TOPIC, 0)
            start = max(0, reached - back)
            reached = max(reached, min(start + length, len(VALUES)))
            db.apply(TOPIC, 0, VALUES[start : start + length], reached)
        found = db.ratings("chess", "fundox")
        db.close()

    last = {
        body["player_id"]: body["after"] for body in map(json.loads, VALUES) if body["system"] == "fundox"
    }
    assert found == last


def test_a_batch_is_kept_whole_or_not_at_all(db: RatingsDb) -> None:
    db.begin(TOPIC, 0)

    with pytest.raises(json.JSONDecodeError):
        db.apply(TOPIC, 0, [*VALUES[:3], b"{"], 4)

    assert db.ratings("chess", "fundox") == {}
    assert db.begin(TOPIC, 0) == 0


def test_a_change_that_is_missing_stops_it(db: RatingsDb) -> None:
    db.begin(TOPIC, 0)
    without_one = [value for value in VALUES if json.loads(value)["change_id"] != "chess/fundox/g-2/ann"]

    with pytest.raises(OtherHistoryError, match="chess/fundox/g-3/ann: sequence 4 follows 2; begin again"):
        db.apply(TOPIC, 0, without_one, len(VALUES))


def test_one_who_was_taken_for_dead_does_not_write(db: RatingsDb, tmp_path: Path) -> None:
    other = RatingsDb(tmp_path / "ratings.sqlite")
    for each in (db, other):
        each.begin(TOPIC, 0)
    other.apply(TOPIC, 0, VALUES[:8], 8)
    before = other.ratings("chess", "fundox")

    with pytest.raises(TakenOverError, match="rating-changed/0: offset None is not the last any more"):
        db.apply(TOPIC, 0, VALUES, len(VALUES))

    assert other.ratings("chess", "fundox") == before
    assert db.begin(TOPIC, 0) == 8
    other.close()


def test_standings_are_shown_when_all_parts_are_there(db: RatingsDb) -> None:
    driver = Driver(LADDERS)
    long = "x" * 100
    driver.send(
        *(finished(f"g-{number}", f"a-{long}{number}", f"b-{long}{number}") for number in range(2_500))
    )
    first, *rest = [
        published.value
        for published in driver.end_weeks(MIDNIGHT)
        if published.topic == events.COMPETITION_CLOSED
    ]
    db.begin("competition-closed", 0)

    db.apply("competition-closed", 0, [first], 1)
    nothing = db.standings("chess", "2026-W48")
    db.apply("competition-closed", 0, rest, 1 + len(rest))

    assert rest
    assert nothing == []
    assert [row["rank"] for row in db.standings("chess", "2026-W48")] == [1] * 2_500 + [2_501] * 2_500


def test_the_last_revision_counts_whatever_order_they_come_in(db: RatingsDb) -> None:
    driver = Driver(LADDERS)
    driver.send(finished("g-1", "ann", "bob"))
    (first,) = driver.end_weeks(MIDNIGHT)
    driver.send(finished("g-2", "bob", "ann"), finished("g-3", "bob", "ann"))
    (second,) = driver.end_weeks(MIDNIGHT)
    db.begin("competition-closed", 0)

    db.apply("competition-closed", 0, [first.value, second.value, first.value], 3)

    assert [row["player_id"] for row in db.standings("chess", "2026-W48")] == ["bob", "ann"]
