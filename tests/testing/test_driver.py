"""The driver publishes what a worker does, without a broker."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from season import LADDER_FILE
from season import events as season_events

from streams import events
from streams.core.ratings.parameters import LadderFileError
from streams.testing import Driver, Published, finished, ranked

CHESS = """
[ladders.chess]
systems = ["fundox", "weekly"]
timezone = "Europe/Paris"
"""
MIDNIGHT = datetime(2026, 11, 29, 23, tzinfo=UTC)
GRACE = timedelta(hours=24)
WON = finished("g-1", "ann", "bob")


def changes(published: list[Published]) -> dict[tuple[str, str], tuple[float, float]]:
    """Give before and after of each change, by system and player."""
    changed = [each.event for each in published if each.topic == events.RATING_CHANGED]
    return {(change.system, change.player_id): (change.before, change.after) for change in changed}


def test_a_game_publishes_what_the_systems_make_of_it() -> None:
    published = Driver(CHESS).send(WON)

    assert [(each.topic, each.key) for each in published] == [
        (events.RATING_CHANGED, b"ann"),
        (events.RATING_CHANGED, b"bob"),
    ] * 2
    assert changes(published) == {
        ("fundox", "ann"): (1600, 1608),
        ("fundox", "bob"): (1600, 1592),
        ("weekly", "ann"): (0, 10),
        ("weekly", "bob"): (0, 0),
    }


def test_what_follows_from_a_game_has_its_trace() -> None:
    trace = [
        ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("tracestate", b"a=1"),
    ]
    key, value, headers = events.encode(WON, source="site")
    driver = Driver(CHESS)

    rated = driver.send_record(value, key=key, headers=[*headers, *trace])
    ignored = driver.send_record(value, key=key, headers=[*headers, *trace])
    untraced = driver.send_record(value, key=key, headers=headers)

    assert [each.headers[-2:] for each in rated + ignored] == [trace] * 5
    assert [name for name, _ in untraced[0].headers if name.startswith("trace")] == []


def test_the_same_game_again_is_ignored() -> None:
    driver = Driver(CHESS)

    driver.send(WON)
    (again,) = driver.send(WON)

    assert again.topic == events.GAME_IGNORED
    assert again.event.reasons == [
        events.Reason("fundox", "duplicate"),
        events.Reason("weekly", "duplicate"),
    ]
    assert (driver.counts.read, driver.counts.rated, driver.counts.ignored) == (2, 1, 1)


def test_fields_as_a_file_has_them_do_too() -> None:
    players = [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}]
    fields = {"game_id": "g-1", "ladder": "chess", "ended_at": WON.ended_at, "players": players}
    voided = {"type": "game-voided", "ladder": "chess", "game_id": "g-1", "reason": "engine use"}
    driver = Driver(CHESS)

    assert driver.send(fields, voided) == Driver(CHESS).send(WON)
    assert driver.counts.noted == 1


def test_a_type_that_there_is_not_is_named() -> None:
    with pytest.raises(events.UnknownEventError, match="type: 'game-over' is none of game-finished, "):
        Driver(CHESS).send({"type": "game-over"})


def test_what_a_producer_sends_is_rejected_with_the_reason() -> None:
    driver = Driver(CHESS)

    (rejected,) = driver.send_record(b"{", key=b"k", headers=[("mine", b"1")])

    assert (rejected.topic, rejected.key, rejected.value) == (events.GAME_REJECTED, b"k", b"{")
    assert rejected.headers[0] == ("mine", b"1")
    assert rejected.event.reason == "not-json"
    assert (rejected.event.topic, rejected.event.offset) == (events.GAME_FINISHED, 0)


def test_a_record_may_have_a_timestamp_of_its_own() -> None:
    _, value, _ = events.encode(WON, source="test")

    (rejected,) = Driver(CHESS).send_record(value, timestamp=1_700_000_000_000)

    assert rejected.event.reason == "future"


def test_weeks_end_by_the_moment_that_is_given() -> None:
    driver = Driver(CHESS)
    driver.send(WON)

    before = driver.end_weeks(MIDNIGHT - timedelta(seconds=1))
    (closed,) = driver.end_weeks(MIDNIGHT)
    (final,) = driver.end_weeks(MIDNIGHT + GRACE)

    assert before == []
    assert (closed.event.week, closed.event.revision, closed.event.final) == ("2026-W48", 1, False)
    assert (final.event.week, final.event.revision, final.event.final) == ("2026-W48", 2, True)
    assert [row.player_id for row in closed.event.standings] == ["ann", "bob"]


def test_a_late_game_amends_its_week() -> None:
    driver = Driver(CHESS)
    driver.send(WON)
    driver.end_weeks(MIDNIGHT)

    driver.send(finished("g-2", "bob", "ann"))
    (amended,) = driver.end_weeks(MIDNIGHT + timedelta(minutes=5))

    assert (amended.event.revision, amended.event.final) == (2, False)
    assert [row.points for row in amended.event.standings] == [10.0, 0.0]


def test_a_moment_needs_an_offset() -> None:
    with pytest.raises(ValueError, match=r"now: 2026-11-29T23:00:00 has no UTC offset"):
        Driver(CHESS).end_weeks(MIDNIGHT.replace(tzinfo=None))


def test_a_rebuild_puts_what_was_said_of_games_into_force() -> None:
    driver = Driver(CHESS)
    second = finished("g-2", "ann", "bob")
    driver.send(WON, second, events.GameVoided("chess", "g-1", "engine use"))
    driver.send(finished("g-2", "bob", "ann", version=2))

    published = driver.rebuild()

    assert {change.event.reason for change in published} == {"correction"}
    assert changes(published)["fundox", "bob"][1] == 1608
    assert driver.ratings("chess", "fundox") == {"ann": 1592, "bob": 1608}
    assert driver.rebuild() == []
    assert driver.counts.noted == 3


def test_after_a_rebuild_games_go_on_from_the_corrected_ratings() -> None:
    driver = Driver(CHESS)
    driver.send(WON, events.GameVoided("chess", "g-1", "engine use"))
    driver.rebuild()

    later = changes(driver.send(finished("g-3", "ann", "bob")))
    driver.send(events.GameVoided("chess", "g-3", "engine use"))
    again = changes(driver.rebuild())

    assert later["fundox", "ann"] == (1600, 1608)
    assert again["fundox", "ann"] == (1608, 1600)


def test_ladders_may_be_a_file_or_a_document(tmp_path: Path) -> None:
    file = tmp_path / "ladders.toml"
    file.write_text(CHESS)
    document = {"ladders": {"chess": {"systems": ["fundox", "weekly"], "timezone": "Europe/Paris"}}}

    assert Driver(file).send(WON) == Driver(document).send(WON) == Driver(CHESS).send(WON)


def test_a_mistake_in_the_ladders_is_named() -> None:
    with pytest.raises(LadderFileError, match=r"ladders.chess.systems: 'elo' is none of"):
        Driver('[ladders.chess]\nsystems = ["elo"]')


def test_everything_published_is_kept_in_order() -> None:
    driver = Driver(CHESS)

    first, second = driver.send(WON), driver.send(finished("g-2", ranked("ann", 1), ranked("bob", 1)))

    assert driver.published == first + second


def test_a_season_of_every_system_has_every_outcome() -> None:
    driver = Driver(LADDER_FILE)

    for event in season_events(3_000):
        driver.send(event)

    counts = driver.counts
    assert counts.read == 3_000 == counts.rated + counts.ignored + counts.rejected + counts.noted
    assert min(counts.rated, counts.ignored, counts.rejected, counts.noted) > 0
