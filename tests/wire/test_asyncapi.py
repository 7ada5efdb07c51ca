"""schemas/asyncapi.yaml is valid AsyncAPI 3, and says what the code does: topics, events, keys, headers."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import orjson
import pytest
import yaml
import zstandard
from season import LADDER_FILE, START
from season import events as season_events

from streams import events
from streams.core.events import REJECTIONS, Rejected
from streams.runtime.homes import forwarded_copy
from streams.runtime.rejections import rejected_record
from streams.runtime.settings import Settings
from streams.runtime.topics import topic_specs
from streams.runtime.week_timer import DueWeek, week_ended_record
from streams.testing import Driver, finished
from streams.wire.encode import TRACE_HEADERS, encode_published
from streams.wire.schemas import EVENTS, VERSION, schema_directory

VENDORED = Path(__file__).parent / "asyncapi" / "3.0.0.json.zst"
DOCUMENT: dict[str, Any] = yaml.safe_load((schema_directory() / "asyncapi.yaml").read_bytes())
MESSAGES: dict[str, dict[str, Any]] = {
    message["name"]: message for message in DOCUMENT["components"]["messages"].values()
}
INPUTS = {name for name, kind in events.TYPES.items() if kind in events.Input.__args__}
SETTINGS = Settings("")
PLAYER_TOPICS = (events.PLAYER_ACTIVITY, events.PLAYER_STATUS, events.ACTIVITY_IGNORED)
# What a key comes from, as a runtime expression of AsyncAPI.
KEY = re.compile(r"\$message\.payload#/(\w+)")
# Of rejected records here, that were games or had a header of their own.
COMING_ALONG = {"mine", "ce_id", "ce_source", "ce_type", "ce_specversion", "ce_dataschema", "ce_time"}
Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def resolved(reference: str) -> Any:
    """Give what a reference of the document leads to: a part of it, or a file beside it."""
    if not reference.startswith("#/"):
        return json.loads((schema_directory() / reference).read_bytes())
    node: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return (node.get("$ref") and resolved(node["$ref"])) or node if isinstance(node, dict) else node


def judge(node: Mapping[str, Any]) -> Any:
    """Compile a schema of the document with all that it refers to."""

    def whole(part: Any) -> Any:
        if isinstance(part, dict):
            if "$ref" in part:
                return whole(resolved(part["$ref"]))
            return {name: whole(child) for name, child in part.items() if name not in {"$id", "$schema"}}
        return [whole(child) for child in part] if isinstance(part, list) else part

    return jsonschema_rs.validator_for(whole(node), validate_formats=True)


def channel_of(topic: str) -> dict[str, Any]:
    """Give the channel of a topic of a deployment without prefix."""
    for channel in DOCUMENT["channels"].values():
        parameters = {name: each["default"] for name, each in channel.get("parameters", {}).items()}
        if channel["address"].format(**parameters) == topic:
            return dict(channel)
    raise AssertionError(topic)


def names_in(channel: Mapping[str, Any]) -> set[str]:
    return {resolved(reference)["name"] for reference in references(channel["messages"])}


def test_it_is_valid_by_the_schema_of_asyncapi() -> None:
    schema = orjson.loads(zstandard.ZstdDecompressor().decompressobj().decompress(VENDORED.read_bytes()))

    errors = [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(DOCUMENT)]

    assert errors == []


def test_what_is_wrong_is_seen_by_that_schema() -> None:
    schema = orjson.loads(zstandard.ZstdDecompressor().decompressobj().decompress(VENDORED.read_bytes()))
    validator = jsonschema_rs.validator_for(schema)

    assert not validator.is_valid({**DOCUMENT, "channels": {"a": {"adress": "a"}}})
    assert not validator.is_valid({**DOCUMENT, "operations": {"a": {"action": "publish"}}})


def test_every_reference_leads_somewhere() -> None:
    assert {reference for reference in references(DOCUMENT) if not resolved(reference)} == set()


def test_every_schema_file_is_referred_to() -> None:
    files = {f"./{path.name}" for path in schema_directory().glob("*.json")}

    assert files == {reference for reference in references(DOCUMENT) if not reference.startswith("#/")}


def test_there_is_a_channel_for_every_topic_and_no_other() -> None:
    topics = {*SETTINGS.all_topics, *PLAYER_TOPICS}

    assert len(DOCUMENT["channels"]) == len(topics)
    assert all(channel_of(topic) for topic in topics)


@pytest.mark.parametrize("spec", topic_specs(SETTINGS), ids=lambda spec: spec.name)
def test_a_channel_is_as_the_topic_is_created(spec: Any) -> None:
    binding = channel_of(spec.name)["bindings"]["kafka"]
    settings = binding["topicConfiguration"].items()

    assert (binding["partitions"], binding["replicas"]) == (spec.partitions, spec.replication)
    assert spec.config == {
        name: ",".join(value) if isinstance(value, list) else str(value) for name, value in settings
    }


def test_there_is_a_message_for_every_event_and_for_what_is_none() -> None:
    assert set(MESSAGES) == {*EVENTS, events.GAME_REJECTED, "row"}


def test_each_topic_has_its_messages() -> None:
    assert names_in(channel_of(SETTINGS.input_topic)) == INPUTS
    assert names_in(channel_of(events.PLAYER_ACTIVITY)) == set(events.PLAYER_EVENTS)
    for name in {*EVENTS, events.GAME_REJECTED} - INPUTS - set(events.PLAYER_EVENTS):
        assert names_in(channel_of(SETTINGS.topic(name))) == {name}


@pytest.mark.parametrize("operation", DOCUMENT["operations"].values(), ids=DOCUMENT["operations"])
def test_an_operation_has_messages_of_its_channel(operation: dict[str, Any]) -> None:
    channel = operation["channel"]["$ref"]

    assert operation["messages"]
    assert all(each["$ref"].startswith(f"{channel}/messages/") for each in operation["messages"])


@pytest.mark.parametrize("name", EVENTS)
def test_a_message_refers_to_its_schema_and_has_its_type(name: str) -> None:
    *_, own = resolved(MESSAGES[name]["headers"]["$ref"])["allOf"]

    assert MESSAGES[name]["payload"] == {"$ref": f"./{name}.{VERSION}.json"}
    assert own["properties"]["ce_type"]["const"] == f"{name}.{VERSION}"
    assert own["properties"]["ce_dataschema"]["const"] == f"urn:ladderlog:schema:{name}.{VERSION}"


@pytest.mark.parametrize("name", EVENTS)
def test_the_examples_of_a_message_are_those_of_its_schema(name: str) -> None:
    files = sorted((schema_directory() / "examples" / f"{name}.{VERSION}").glob("*.json"))

    assert MESSAGES[name]["examples"] == [
        {"name": file.stem, "payload": json.loads(file.read_bytes())} for file in files
    ]


@pytest.mark.parametrize("name", [*EVENTS, events.GAME_REJECTED])
def test_every_example_is_valid(name: str) -> None:
    payload, headers = judge(MESSAGES[name]["payload"]), judge(MESSAGES[name]["headers"])

    for example in MESSAGES[name]["examples"]:
        assert [str(error) for error in payload.iter_errors(example["payload"])] == []
        if "headers" in example:
            assert [str(error) for error in headers.iter_errors(example["headers"])] == []


def test_every_reason_to_reject_a_record_is_named() -> None:
    headers = DOCUMENT["components"]["schemas"]["gameRejectedHeaders"]

    assert headers["properties"]["__ladderlog.errors.reason"]["enum"] == list(REJECTIONS)


class Consumed:
    """A record of the input as a worker has it."""

    topic, partition, offset = events.GAME_FINISHED, 1, 7

    def __init__(self, record: Record) -> None:
        self.key, self.value, self.headers = record


def written() -> Iterator[tuple[str, Record]]:
    """Give what is written to topics: the name of each message, and the record."""
    driver = Driver(LADDER_FILE)
    for event in season_events(2_000):
        driver.send(event)
    driver.end_weeks(START + timedelta(days=7))
    driver.rebuild()
    for topic, *record in driver.published:
        yield topic, tuple(record)
    sent: list[events.Input] = [
        events.decode(file.read_bytes(), [("ce_type", file.parent.name.encode())])
        for name in INPUTS
        for file in schema_directory().glob(f"examples/{name}.{VERSION}/*.json")
    ]
    for event in sent:
        record = events.encode(event, source="site")
        yield events.name_of(event), record
        yield events.name_of(event), forwarded_copy(Consumed(record), event.ladder)
    yield from written_of_players()
    _, plain, _ = events.encode(finished("g-1", "ann", "bob"), source="site")
    yield events.GAME_FINISHED, (None, plain, [])
    due = DueWeek(events.WeekEnded("chess", "2026-W48", final=True), "chess/2026-W48/final")
    yield events.WEEK_ENDED, week_ended_record(due, SETTINGS.source)
    large = Consumed((b"k", b"x" * 2_000_000, [("mine", b"1")]))
    yield events.GAME_REJECTED, rejected_record(Rejected("too-large", "it is"), large)


def written_of_players() -> Iterator[tuple[str, Record]]:
    """Give what is written of players."""
    for name, kind in events.PLAYER_EVENTS.items():
        for file in schema_directory().glob(f"examples/{name}.{VERSION}/*.json"):
            record = events.encode(msgspec.json.decode(file.read_bytes(), type=kind), source="site")
            yield name, record
            yield name, forwarded_copy(Consumed(record), record[0].decode())
    for name in (events.PLAYER_STATUS, events.ACTIVITY_IGNORED):
        for file in schema_directory().glob(f"examples/{name}.{VERSION}/*.json"):
            event: Any = msgspec.json.decode(file.read_bytes(), type=events.TYPES[name])
            yield from encode_published([event], b"ladderlog/test", f"{events.PLAYER_ACTIVITY}/0/7")


def test_every_record_that_is_written_is_as_it_says() -> None:
    judges = {
        name: (judge(each["headers"]), judge(each["payload"]))
        for name, each in MESSAGES.items()
        if name != "row"
    }
    keys = {name: each["bindings"]["kafka"]["key"] for name, each in MESSAGES.items()}
    seen: dict[str, set[str]] = {}
    for name, (key, value, headers) in written():
        judge_headers, judge_value = judges[name]
        said = {header: content.decode() for header, content in headers}
        seen.setdefault(name, set()).update(said)

        assert [str(error) for error in judge_headers.iter_errors(said)] == []
        if name != events.GAME_REJECTED:
            body = json.loads(value)
            assert judge_value.is_valid(body)
            (field,) = KEY.findall(keys[name]["description"])
            assert key in {body[field].encode()} | ({None} if name in INPUTS else set())

    for name in EVENTS:
        assert seen[name] | TRACE_HEADERS == known_headers(name)
    # Behind those that the records came with.
    assert seen[events.GAME_REJECTED] - COMING_ALONG == known_headers(events.GAME_REJECTED)


def known_headers(name: str) -> set[str]:
    """Give the headers that the document names for a message."""
    headers = resolved(MESSAGES[name]["headers"]["$ref"])
    parts = [resolved(part["$ref"]) if "$ref" in part else part for part in headers.get("allOf", [headers])]
    return {header for part in parts for header in part["properties"]}
