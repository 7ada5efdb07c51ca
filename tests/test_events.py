"""The public models of events: what they encode is valid, and what is published decodes to them."""

import json
from pathlib import Path

import msgspec
import pytest
from helpers import LADDER, played, ranked

from streams import events
from streams.core.events import Rejected, WeekEnded
from streams.core.ladders import Ladders
from streams.core.publications import Publication
from streams.core.rules import parse_ladders
from streams.wire.decode import decode_checked, decode_record
from streams.wire.decode_fast import _Finished, _Seat
from streams.wire.decode_players import decode_activity, decode_activity_record
from streams.wire.encode import encode_published, rejection_headers
from streams.wire.schemas import EVENTS, VERSION, schema, schema_directory

GAME = events.GameFinished(
    "g-1", LADDER, "2026-11-29T20:00:00Z", [events.Player("ann", rank=1), events.Player("bob", rank=2)]
)
EXAMPLES = sorted(schema_directory().glob("examples/*/*.json"))
LATER = 1_800_000_000_000
INPUTS: list[events.Input] = [
    GAME,
    events.RatingImported(LADDER, "bga", "ann", 1700.5, 31),
    events.WeekEnded(LADDER, "2026-W48", final=False),
    events.GameVoided(LADDER, "g-1", "engine use"),
    events.CorrectionsApplied(LADDER, "ladderlog", 7),
]


def test_every_event_of_the_schemas_has_a_model() -> None:
    assert list(EVENTS) == list(events.TYPES)


@pytest.mark.parametrize("name", EVENTS)
def test_a_model_has_the_fields_of_its_schema(name: str) -> None:
    assert set(schema(name)["properties"]) == set(events.TYPES[name].__struct_fields__)


def test_a_player_has_the_fields_of_the_schema() -> None:
    properties = schema("game-finished")["properties"]["players"]["items"]["properties"]

    assert set(properties) == set(events.Player.__struct_fields__)


def test_the_fast_decoder_knows_the_fields_of_the_models() -> None:
    assert {*events.GameFinished.__struct_fields__, "type"} == set(_Finished.__struct_fields__)
    assert set(events.Player.__struct_fields__) == set(_Seat.__struct_fields__)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_example_decodes_to_its_model_and_back(example: Path) -> None:
    value = example.read_bytes()

    event = events.decode(value, [("ce_type", example.parent.name.encode())])

    given = json.loads(value)
    assert f"{events.name_of(event)}.{VERSION}" == example.parent.name
    # What is said that is the default need not be said again.
    assert given == {**given, **json.loads(msgspec.json.encode(event))}


@pytest.mark.parametrize("event", INPUTS, ids=events.name_of)
def test_an_encoded_input_is_taken_and_comes_back(event: events.Input) -> None:
    key, value, headers = events.encode(event, source="test")

    assert LADDER.encode() == key
    assert decode_checked(json.loads(value), events.name_of(event)) == decode_record(value, headers, LATER)
    assert event == events.decode(value, headers)


@pytest.mark.parametrize("name", events.PLAYER_EVENTS)
def test_an_encoded_event_of_a_player_is_taken_and_comes_back(name: str) -> None:
    for example in sorted(schema_directory().glob(f"examples/{name}.{VERSION}/*.json")):
        event = msgspec.json.decode(example.read_bytes(), type=events.PLAYER_EVENTS[name])

        key, value, headers = events.encode(event, source="test")

        assert key.decode() == event.player_id
        assert decode_activity_record(value, headers, LATER) == decode_activity(json.loads(value), name)
        assert event == events.decode(value, headers)


def test_an_id_may_be_given() -> None:
    given = dict(events.encode(GAME, source="my-site", event_id="report-7")[2])
    made = dict(events.encode(GAME, source="my-site")[2])

    assert (given["ce_id"], given["ce_source"]) == (b"report-7", b"my-site")
    assert f"{LADDER}/g-1".encode() == made["ce_id"]


def test_a_game_without_headers_is_a_game() -> None:
    _, value, _ = events.encode(GAME, source="test")

    assert events.decode(value) == events.decode(value, None) == GAME


def test_what_is_published_decodes_to_the_models() -> None:
    fold = Ladders(parse_ladders({"ladders": {LADDER: {"systems": ["weekly", "bga"]}}}))
    log = [
        played("1", ranked("a", 1), ranked("b", 2)),
        played("1", ranked("a", 1), ranked("b", 2)),
        WeekEnded(LADDER, "2026-W48", final=True),
    ]
    published: list[Publication] = [each for _, out, _ in fold.fold(log) for each in out]

    decoded = [
        events.decode(value, headers)
        for _, (_, value, headers) in encode_published(published, b"test", "game-finished/0/7")
    ]

    kinds = [events.RatingChanged] * 4 + [events.GameIgnored, events.CompetitionClosed]
    assert kinds == [type(event) for event in decoded]
    assert [event.player_id for event in decoded[:4]] == ["a", "b", "a", "b"]  # type: ignore[union-attr]


def test_fields_of_later_versions_are_passed_over() -> None:
    value = b'{"ladder": "chess", "week": "2026-W48", "final": true, "colour": "red"}'

    event = events.decode(value, [("ce_type", b"week-ended.v1")])

    assert events.WeekEnded("chess", "2026-W48", final=True) == event


def test_another_type_is_named() -> None:
    with pytest.raises(events.UnknownEventError, match=r"ce_type: b'game-finished.v2' is none of .*v1"):
        events.decode(b"{}", [("ce_type", b"game-finished.v2")])


def test_the_headers_of_a_rejected_record_say_why_and_where() -> None:
    headers = rejection_headers(Rejected("not-json", "no"), "game-finished", 2, 7, [("mine", b"x")])

    assert events.Rejection("not-json", "no", "game-finished", 2, 7) == events.rejection(headers)


def test_of_a_record_that_was_rejected_twice_the_last_time_counts() -> None:
    once = rejection_headers(Rejected("too-large", "1"), "game-finished", 2, 7, [])
    once.append(("__ladderlog.errors.cut-from-bytes", b"2000000"))
    twice = rejection_headers(Rejected("not-json", "2"), "game-finished", 0, 9, once)

    assert events.Rejection("too-large", "1", "game-finished", 2, 7, 2_000_000) == events.rejection(once)
    assert events.Rejection("not-json", "2", "game-finished", 0, 9) == events.rejection(twice)
