"""The schemas are valid, their examples fit, and they keep to what registries understand."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from streams.core.events import (
    CompetitionClosed,
    CorrectionsApplied,
    Game,
    GameIgnored,
    GameVoided,
    RatingChanged,
    RatingImported,
    WeekEnded,
)
from streams.core.player_events import PLAYER_EVENTS, ActivityIgnored, PlayerStatus
from streams.wire.decode import decode_checked
from streams.wire.decode_players import decode_activity
from streams.wire.encode import encode_json
from streams.wire.schemas import EVENTS, VERSION, schema, schema_directory, validator

EXAMPLES = sorted(schema_directory().glob("examples/*/*.json"))
INPUTS = {
    "game-finished": Game,
    "rating-imported": RatingImported,
    "week-ended": WeekEnded,
    "game-voided": GameVoided,
    "corrections-applied": CorrectionsApplied,
}
OUTPUTS: dict[str, Any] = {
    output.topic: output
    for output in (RatingChanged, GameIgnored, CompetitionClosed, PlayerStatus, ActivityIgnored)
}


def event_of(example: Path) -> str:
    return example.parent.name.removesuffix(f".{VERSION}")


def keywords(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set(node).union(*(keywords(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(keywords(value) for value in node))
    return set()


@pytest.mark.parametrize("event", EVENTS)
def test_a_schema_is_valid_json_schema_2020_12(event: str) -> None:
    document = schema(event)

    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert jsonschema_rs.meta.is_valid(document)


@pytest.mark.parametrize("event", EVENTS)
def test_a_schema_uses_no_keyword_on_which_registries_differ(event: str) -> None:
    found = keywords(schema(event))

    assert found & {"unevaluatedProperties", "unevaluatedItems", "prefixItems", "$dynamicRef"} == set()


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_has_an_example(event: str) -> None:
    assert event in {event_of(example) for example in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_fits_its_schema(example: Path) -> None:
    body = json.loads(example.read_bytes())

    assert validator(event_of(example)).is_valid(body)


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if event_of(example) in INPUTS],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_every_input_example_ever_published_still_decodes(example: Path) -> None:
    event = event_of(example)

    decoded = decode_checked(json.loads(example.read_bytes()), event)

    assert type(decoded) is INPUTS[event]


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if event_of(example) in PLAYER_EVENTS],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_every_example_of_an_event_of_a_player_decodes(example: Path) -> None:
    event = event_of(example)

    decoded = decode_activity(json.loads(example.read_bytes()), event)

    assert type(decoded.event) is PLAYER_EVENTS[event]


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if event_of(example) in OUTPUTS],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_an_output_example_is_encoded_as_it_is(example: Path) -> None:
    text = example.read_bytes()

    event = msgspec.json.decode(text, type=OUTPUTS[event_of(example)])

    assert json.loads(encode_json(event)) == json.loads(text)


@pytest.mark.parametrize("event", OUTPUTS)
def test_an_output_has_the_fields_of_its_schema(event: str) -> None:
    assert set(OUTPUTS[event].__struct_fields__) == set(schema(event)["properties"])


def test_every_event_of_the_schemas_has_a_type() -> None:
    assert {*INPUTS, *OUTPUTS, *PLAYER_EVENTS} == set(EVENTS)
