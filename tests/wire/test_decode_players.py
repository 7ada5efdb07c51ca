"""Events of players from bytes: what is wrong with one is said by field and value, and both ways agree."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.events import Rejected
from streams.core.player_events import (
    ACTIVITY_REJECTIONS,
    PLAYER_EVENTS,
    Activity,
    Connected,
    Played,
    Sanctioned,
)
from streams.wire.decode_fast import MAX_RECORD_BYTES
from streams.wire.decode_players import (
    decode_activity,
    decode_activity_line,
    decode_activity_record,
)
from streams.wire.encode import encode_event

CONNECTED: dict[str, Any] = {"event_id": "ev-1", "player_id": "ann", "at": "2026-11-29T20:00:00Z"}
SANCTIONED: dict[str, Any] = {**CONNECTED, "grade": "demon", "by": "sam", "until": "2026-11-30T20:00:00Z"}
PLAYED: dict[str, Any] = {**CONNECTED, "ladder": "chess", "game_id": "g-1", "offset": 7}
JUDGED: dict[str, Any] = {**CONNECTED, "act": "sanctioned", "by_grade": "seraph", "grade": "devilkin"}
MOMENT = 1_795_982_400_000_000
NOW = 1_796_000_000_000


def record(fields: Any, name: str = "connected", headers: Any = None, timestamp: int = NOW) -> Activity:
    value = fields if isinstance(fields, bytes) or fields is None else orjson.dumps(fields)
    if headers is None:
        headers = [("ce_type", f"{name}.v1".encode())]
    return decode_activity_record(value, headers, timestamp)


def rejection(*args: Any, **kwargs: Any) -> Rejected:
    with pytest.raises(Rejected) as caught:
        record(*args, **kwargs)
    assert caught.value.reason in ACTIVITY_REJECTIONS
    return caught.value


def test_an_event_has_its_moment_in_microseconds() -> None:
    expected = Activity(Connected("ev-1", "ann", "2026-11-29T21:00:00.25+01:00"), MOMENT + 250_000)

    assert expected == record({**CONNECTED, "at": "2026-11-29T21:00:00.25+01:00"})


def test_a_sanction_has_its_end_too() -> None:
    expected = Activity(
        Sanctioned("ev-1", "ann", CONNECTED["at"], "demon", "sam", "2026-11-30T20:00:00Z"),
        MOMENT,
        MOMENT + 86_400_000_000,
    )

    assert expected == record(SANCTIONED, "sanctioned")


def test_what_a_game_says_has_its_defaults() -> None:
    expected = Played("ev-1", "ann", CONNECTED["at"], "chess", "g-1", 7, 0, 1)

    assert expected == record(PLAYED, "played").event
    assert (expected.counted, expected.abandoned, expected.left_at) == (True, False, None)


@pytest.mark.parametrize("headers", [[], [("ce_id", b"1")]])
def test_without_a_type_nobody_knows_what_it_is(headers: list[tuple[str, bytes]]) -> None:
    rejected = rejection(CONNECTED, headers=headers)

    assert rejected.reason == "type"
    assert "ce_type: the header is missing" in rejected.message
    assert "connected.v1" in rejected.message


@pytest.mark.parametrize("name", ["game-finished", "player-status", "activity-ignored", "away"])
def test_another_type_is_named(name: str) -> None:
    rejected = rejection(CONNECTED, name)

    assert rejected.reason == "type"
    assert f"{name}.v1" in rejected.message


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b'{"at": NaN}'])
@pytest.mark.parametrize("name", ["connected", "played"])
def test_what_is_no_json_object_is_rejected(value: bytes | None, name: str) -> None:
    assert rejection(value, name).reason == "not-json"


@pytest.mark.parametrize(("name", "fields"), [("connected", CONNECTED), ("played", PLAYED)])
def test_a_record_over_one_mebibyte_is_rejected(name: str, fields: dict[str, Any]) -> None:
    assert rejection({**fields, "padding": "x" * MAX_RECORD_BYTES}, name).reason == "too-large"
    assert rejection({**fields, "player_id": "x" * MAX_RECORD_BYTES}, name).reason == "too-large"


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("connected", {**CONNECTED, "player_id": ""}, "player_id: "),
        ("connected", {**CONNECTED, "player_id": "a\nb"}, "player_id: "),
        ("connected", {**CONNECTED, "event_id": "x" * 257}, "event_id: "),
        ("connected", {**CONNECTED, "at": "today"}, 'at: "today"'),
        ("connected", {**CONNECTED, "at": "1969-12-31T23:59:59Z"}, "at: '1969-12-31T23:59:59Z' does not lie"),
        ("connected", {"event_id": "1", "player_id": "ann"}, 'the event: "at" is a required property'),
        ("sanctioned", {**SANCTIONED, "grade": "seraph"}, 'grade: "seraph"'),
        ("sanctioned", {**SANCTIONED, "until": None}, "until: null"),
        (
            "sanctioned",
            {**SANCTIONED, "until": "9999-12-31T23:59:59-01:00"},
            "until: '9999-12-31T23:59:59-01:00' does not lie",
        ),
        ("appointed", {**CONNECTED, "by": "sam", "grade": "demon"}, 'grade: "demon"'),
        ("reputation", {**CONNECTED, "by": "sam", "points": 0}, "points: "),
        ("reputation", {**CONNECTED, "by": "sam", "points": 1.5}, "points: 1.5"),
        ("reputation", {**CONNECTED, "by": "sam", "points": 1001}, "points: 1001"),
        ("disconnected", {**CONNECTED, "game_id": "g-1"}, 'the event: "deal_id" is a required property'),
        ("played", {**PLAYED, "offset": -1}, "offset: -1"),
        ("played", {**PLAYED, "left_at": "1950-01-01T00:00:00Z"}, "left_at: '1950-01-01T00:00:00Z' does not"),
        ("played", {**PLAYED, "left_at": None}, "left_at: null"),
        ("act-judged", {**JUDGED, "grade": "seraph"}, "grade: 'seraph' is no sanction"),
        ("act-judged", {**JUDGED, "act": "appointed"}, "grade: 'devilkin' is a sanction"),
        ("act-judged", {**CONNECTED, "act": "sanctioned", "by_grade": "seraph"}, "grade: "),
        ("act-judged", {**JUDGED, "act": "reputation"}, 'points: "points" is a required property'),
    ],
)
def test_what_does_not_fit_the_schema_is_named(name: str, fields: dict[str, Any], message: str) -> None:
    rejected = rejection(fields, name)

    assert rejected.reason == "schema"
    assert rejected.message.startswith(message)


@pytest.mark.parametrize("until", [SANCTIONED["at"], "2026-11-29T20:59:59.9+01:00"])
def test_a_sanction_that_is_over_before_it_begins_is_rejected(until: str) -> None:
    rejected = rejection({**SANCTIONED, "until": until}, "sanctioned")

    assert rejected.reason == "until"
    assert until in rejected.message


@pytest.mark.parametrize(("name", "fields"), [("connected", CONNECTED), ("played", PLAYED)])
def test_a_moment_more_than_a_day_after_the_record_is_rejected(name: str, fields: dict[str, Any]) -> None:
    in_time = MOMENT // 1000 - 86_400_000

    assert record(fields, name, timestamp=in_time).moment == MOMENT
    assert rejection(fields, name, timestamp=in_time - 1).reason == "future"


def test_a_timestamp_that_is_no_moment_is_named() -> None:
    assert rejection(CONNECTED, timestamp=-1).reason == "timestamp"


def test_whole_numbers_may_be_written_with_a_point() -> None:
    fields = {**CONNECTED, "by": "sam", "points": 2.0}

    assert record(fields, "reputation") == record({**fields, "points": 2}, "reputation")


def test_a_line_of_a_file_says_what_it_is() -> None:
    line = orjson.dumps({"type": "connected", **CONNECTED})

    assert decode_activity_line(line) == record(CONNECTED)


@pytest.mark.parametrize("said", [{}, {"type": "game-finished"}, {"type": ["connected"]}, {"type": None}])
def test_a_line_that_says_nothing_known_is_rejected(said: dict[str, Any]) -> None:
    with pytest.raises(Rejected) as caught:
        decode_activity_line(orjson.dumps({**said, **CONNECTED}))

    assert caught.value.reason == "type"
    assert caught.value.message.startswith("type: ")


def test_an_encoded_event_has_the_headers_of_cloudevents() -> None:
    key, value, headers = encode_event("connected", CONNECTED, "my-site")

    assert key == b"ann"
    assert dict(headers) == {
        "ce_id": b"ev-1",
        "ce_source": b"my-site",
        "ce_type": b"connected.v1",
        "ce_specversion": b"1.0",
        "ce_time": b"2026-11-29T20:00:00Z",
        "ce_dataschema": b"urn:ladderlog:schema:connected.v1",
    }
    assert decode_activity_record(value, headers, NOW) == record(CONNECTED)


def judged(decode: Any, *args: Any) -> Any:
    """Give what a decoder makes of something, or why it makes nothing of it."""
    try:
        return decode(*args)
    except Rejected as rejected:
        return rejected.reason, rejected.message


MOMENTS = st.sampled_from(
    [
        "2026-11-29T20:00:00Z",
        "2026-11-29t20:00:00z",
        "2026-11-29T20:00:00.123456+01:00",
        "1969-12-31T23:59:59Z",
        "2026-11-29T24:00:00Z",
        "now",
        None,
    ]
)
IDS = st.sampled_from(["ann", "zo\u00eb", "a\u200bb", "a\tb", "", "x" * 129, 7])
NUMBERS = st.sampled_from([0, 1, 2, 1.0, -1, 2**53, "1", None])
FLAGS = st.sampled_from([True, False, None, 0])
ANY_PLAYED = st.fixed_dictionaries(
    {**dict.fromkeys(("event_id", "player_id", "ladder", "game_id"), IDS), "at": MOMENTS, "offset": NUMBERS},
    optional={
        "index": NUMBERS,
        "version": NUMBERS,
        "counted": FLAGS,
        "abandoned": FLAGS,
        "left_at": MOMENTS,
        "colour": st.just("red"),
    },
)


@given(ANY_PLAYED)
def test_the_shorter_way_gives_what_the_schema_gives(fields: dict[str, Any]) -> None:
    assert judged(record, fields, "played") == judged(decode_activity, fields, "played")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@given(
    st.sampled_from(sorted(PLAYER_EVENTS)),
    st.fixed_dictionaries(
        {},
        optional={
            name: JSON | st.just(value)
            for name, value in {**SANCTIONED, **PLAYED, **JUDGED, "points": 3}.items()
        },
    ),
)
def test_any_fields_are_decoded_or_rejected(name: str, fields: dict[str, Any]) -> None:
    outcome = judged(record, json.dumps(fields).encode(), name)

    assert isinstance(outcome, Activity) or outcome[0] in ACTIVITY_REJECTIONS
