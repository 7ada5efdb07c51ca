"""Decoding: every kind of bad input is rejected with its reason, and the message names field and value."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.events import RATING_CHANGED, Counts, Game, RatingChanged, Rejected, WeekEnded
from streams.wire.decode import decode_line, decode_record
from streams.wire.decode_fast import MAX_RECORD_BYTES
from streams.wire.encode import encode_event, encode_published, rejection_headers

GOOD: dict[str, Any] = {
    "game_id": "g-1",
    "ladder": "chess",
    "ended_at": "2026-11-29T20:00:00Z",
    "players": [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}],
}
NOW = 1_796_000_000_000


def record(fields: Any, headers: Any = (), timestamp: int = NOW) -> Any:
    value = fields if isinstance(fields, bytes) or fields is None else orjson.dumps(fields)
    return decode_record(value, headers, timestamp)


def rejection(*args: Any, **kwargs: Any) -> Rejected:
    with pytest.raises(Rejected) as caught:
        record(*args, **kwargs)
    return caught.value


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != field}


def with_player(**fields: Any) -> dict[str, Any]:
    return {**GOOD, "players": [{**GOOD["players"][0], **fields}, GOOD["players"][1]]}


def test_a_plain_producer_needs_no_headers() -> None:
    game = record(GOOD)

    assert isinstance(game, Game)
    assert game.rated is True
    assert list(game.players) == ["ann", "bob"]


@pytest.mark.parametrize("text", ["2026-11-29t20:00:00Z", "2026-11-29T20:00:00z", "2026-11-29t20:00:00.000z"])
def test_a_moment_may_be_written_in_lower_case(text: str) -> None:
    game = record({**GOOD, "ended_at": text, "started_at": text})

    assert game.digest == record({**GOOD, "started_at": GOOD["ended_at"]}).digest
    assert game.ended_at == text
    assert game.ended == record(GOOD).ended


@pytest.mark.parametrize(
    ("timestamp", "said"),
    [
        (-1, "the record has none"),
        (-2, "no moment"),
        (NOW * 1_000, "microseconds"),
        (32_503_680_000_000, "microseconds"),
    ],
)
def test_a_timestamp_that_is_no_moment_is_named(timestamp: int, said: str) -> None:
    rejected = rejection(GOOD, timestamp=timestamp)

    assert rejected.reason == "timestamp"
    assert str(timestamp) in rejected.message
    assert said in rejected.message


def test_a_timestamp_in_seconds_is_told_from_a_game_of_the_future() -> None:
    rejected = rejection(GOOD, timestamp=NOW // 1_000)

    assert rejected.reason == "future"
    assert "looks like seconds" in rejected.message


def test_a_header_name_that_is_not_utf8_is_shown_escaped() -> None:
    rejected = rejection(GOOD, headers=[("größe", b"1"), ("na\udcff", b"1")])

    assert (rejected.reason, rejected.message) == ("header-name", r"headers: the name 'na\\xff' is not UTF-8")


def test_unknown_fields_are_ignored() -> None:
    game = record({**GOOD, "table": 7})

    assert game.digest == record(GOOD).digest


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        (without("game_id"), '"game_id" is a required property'),
        (without("ended_at"), '"ended_at" is a required property'),
        ({**GOOD, "game_id": ""}, "game_id: "),
        ({**GOOD, "game_id": "x" * 129}, "game_id: "),
        ({**GOOD, "game_id": "a\nb"}, "game_id: "),
        ({**GOOD, "ladder": 5}, "ladder: 5"),
        ({**GOOD, "ended_at": "yesterday"}, 'ended_at: "yesterday"'),
        ({**GOOD, "ended_at": "2026-11-29T20:00:00"}, 'ended_at: "2026-11-29T20:00:00"'),
        ({**GOOD, "ended_at": "2026-02-30T20:00:00Z"}, 'ended_at: "2026-02-30T20:00:00Z"'),
        ({**GOOD, "rated": "yes"}, 'rated: "yes"'),
        ({**GOOD, "players": []}, "players: "),
        ({**GOOD, "players": GOOD["players"][:1]}, "players: "),
        ({**GOOD, "players": [{"player_id": f"p{n}", "rank": 1} for n in range(33)]}, "players: "),
        (with_player(rank=0), "players[0].rank: 0"),
        (with_player(rank=1.5), "players[0].rank: 1.5"),
        (with_player(points="many"), 'players[0].points: "many"'),
        (with_player(left="bored"), 'players[0].left: "bored"'),
        (with_player(left_at="now"), 'players[0].left_at: "now"'),
    ],
)
def test_what_does_not_fit_the_schema_is_rejected_by_field_and_value(
    fields: dict[str, Any], named: str
) -> None:
    rejected = rejection(fields)

    assert rejected.reason == "schema"
    assert named in rejected.message


@pytest.mark.parametrize("value", [b"", b"{", b"\xff\xfe", b'{"game_id": NaN}', b"[]", b'"game"', b"1", None])
def test_what_is_no_json_object_is_rejected(value: bytes | None) -> None:
    assert rejection(value).reason == "not-json"


def test_a_record_over_one_mebibyte_is_rejected() -> None:
    value = orjson.dumps({**GOOD, "padding": "x" * MAX_RECORD_BYTES})

    assert rejection(value).reason == "too-large"


def test_a_player_twice_is_rejected() -> None:
    fields = {**GOOD, "players": [{"player_id": "ann", "rank": 1}, {"player_id": "ann", "rank": 2}]}

    rejected = rejection(fields)

    assert rejected.reason == "same-player-twice"
    assert "'ann'" in rejected.message


def test_a_game_that_ends_before_it_starts_is_rejected() -> None:
    fields = {**GOOD, "started_at": "2026-11-29T21:00:01+01:00"}

    assert rejection(fields).reason == "started-after-ended"


def test_a_start_at_the_same_moment_in_another_zone_is_no_mistake() -> None:
    game = record({**GOOD, "started_at": "2026-11-29T21:00:00+01:00"})

    assert game.game_id == "g-1"


def test_an_end_more_than_a_day_after_the_record_is_rejected() -> None:
    ended = 1_795_982_400_000
    day = 24 * 3600 * 1000

    in_time = record(GOOD, timestamp=ended - day)

    assert in_time.ended_epoch * 1000 == ended
    assert rejection(GOOD, timestamp=ended - day - 1).reason == "future"


@pytest.mark.parametrize(
    "name", [b"game-started.v1", b"game-finished.v2", b"rating-changed.v1", b"", b"\xff"]
)
def test_an_unknown_type_is_rejected(name: bytes) -> None:
    assert rejection(GOOD, headers=[("ce_type", name)]).reason == "type"


def test_the_ce_type_header_names_the_event() -> None:
    fields = {"ladder": "chess", "week": "2026-W48", "final": False}

    event = record(fields, headers=[("ce_id", b"1"), ("ce_type", b"week-ended.v1")])

    assert event == WeekEnded("chess", "2026-W48", final=False)


def test_the_type_field_of_a_file_names_the_event() -> None:
    event = decode_line(b'{"type": "week-ended", "ladder": "chess", "week": "2026-W48", "final": true}\n')

    assert event == WeekEnded("chess", "2026-W48", final=True)


def test_equal_content_has_an_equal_digest_however_it_is_written() -> None:
    written_otherwise = {
        **GOOD,
        "ended_at": "2026-11-29T21:00:00+01:00",
        "rated": True,
        "players": GOOD["players"][::-1],
    }

    assert record(written_otherwise).digest == record(GOOD).digest


@pytest.mark.parametrize(
    "fields",
    [
        {**GOOD, "ended_at": "2026-11-29T20:00:01Z"},
        {**GOOD, "rated": False},
        {**GOOD, "game_type": "blitz"},
        with_player(rank=2),
        with_player(points=3),
        with_player(left="abandoned"),
        with_player(team="north"),
    ],
)
def test_other_content_has_another_digest(fields: dict[str, Any]) -> None:
    assert record(fields).digest != record(GOOD).digest


def test_an_encoded_game_decodes_to_the_same_game() -> None:
    _, value, headers = encode_event("game-finished", GOOD, "test", "chess/g-1")

    assert decode_record(value, headers, NOW) == record(GOOD)


def test_a_published_change_has_cloudevents_headers() -> None:
    change = RatingChanged(
        "chess/fundox/g-1/ann", "chess", "fundox", "ann", "g-1", 1, 1600, 1608, "2026-11-29T20:00:00Z"
    )
    change.statistics = Counts(1, 1, 0, 0)

    ((topic, (key, _, headers)),) = encode_published([change], b"ladderlog/test", "game-finished/0/7")

    assert (topic, key) == (RATING_CHANGED, b"ann")
    assert dict(headers) == {
        "ce_id": b"chess/fundox/g-1/ann",
        "ce_source": b"ladderlog/test",
        "ce_type": b"rating-changed.v1",
        "ce_specversion": b"1.0",
        "ce_time": b"2026-11-29T20:00:00Z",
        "ce_dataschema": b"urn:ladderlog:schema:rating-changed.v1",
    }


def test_a_rejection_keeps_the_headers_and_adds_where_and_why() -> None:
    headers = rejection_headers(Rejected("schema", "wrong \ud800"), "games", 2, 40, [("a", b"1")])

    assert headers[0] == ("a", b"1")
    assert dict(headers[1:]) == {
        "__ladderlog.errors.reason": b"schema",
        "__ladderlog.errors.message": b"wrong \\ud800",
        "__ladderlog.errors.topic": b"games",
        "__ladderlog.errors.partition": b"2",
        "__ladderlog.errors.offset": b"40",
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_rejected(value: bytes) -> None:
    with pytest.raises(Rejected):
        record(value)


@given(st.fixed_dictionaries({}, optional={name: JSON | st.just(value) for name, value in GOOD.items()}))
def test_any_fields_are_decoded_or_rejected(fields: dict[str, Any]) -> None:
    try:
        outcome = record(json.dumps(fields).encode()).game_id
    except Rejected as rejected:
        outcome = rejected.reason

    assert outcome in ["schema", "not-json", "same-player-twice", "future", fields.get("game_id")]
