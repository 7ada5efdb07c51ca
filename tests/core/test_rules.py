"""A mistake in the ladder file stops the start with a message that names the key."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streams.core.ratings import SYSTEMS
from streams.core.ratings.parameters import LadderFileError
from streams.core.rules import parse_ladders
from streams.files.ladder_file import example_ladder_file, read_ladders


def parsed(**ladder: Any) -> Any:
    return parse_ladders({"ladders": {"belote": {"systems": ["fundox"], **ladder}}})["belote"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "ladders: the file names no ladder"),
        ({"ladder": {}}, "ladder: no such table"),
        ({"ladders": {"belote": 5}}, "ladders.belote: expected a table, not 5"),
        ({"ladders": {"a/b": {"systems": ["fundox"]}}}, "ladders.a/b: a ladder's name"),
        ({"ladders": {"belote": {}}}, "ladders.belote.systems: expected a list of systems, not None"),
        ({"ladders": {"belote": {"systems": ["elo"]}}}, "ladders.belote.systems: 'elo' is none of fundox"),
        (
            {"ladders": {"belote": {"systems": [["elo"]]}}},
            "ladders.belote.systems: ['elo'] is none of fundox",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox", "fundox"]}}},
            "ladders.belote.systems: 'fundox' stands twice",
        ),
        ({"ladders": {"belote": {"systems": ["fundox"], "zone": 1}}}, "ladders.belote.zone: no such key"),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "timezone": "Paris"}}},
            "ladders.belote.timezone: 'Paris' is not a time zone",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "remember": 7}}},
            "ladders.belote.remember: expected a span of time",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "remember": "999999999999w"}}},
            "ladders.belote.remember: at most 52142w (1,000 years), not '999999999999w'",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "fundox": {"start": 10**400}}}},
            "ladders.belote.fundox.start: must be at most 1,000,000,000,000 either way, not 1000",
        ),
        (
            {"ladders": {"belote": {"systems": ["bga"], "bga": {"newcomer_games": 10**400}}}},
            "ladders.belote.bga.newcomer_games: must be at most 1,000,000,000,000 either way, not 1000",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "advised_players": {"x": 1}}}},
            "ladders.belote.advised_players.x: expected a whole number from 2 on, not 1",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "fundox": {"scales": 1}}}},
            "ladders.belote.fundox.scales: no such parameter; there are start, stake, scale",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "fundox": {"scale": 0}}}},
            "ladders.belote.fundox.scale: must be more than 0, not 0",
        ),
        (
            {"ladders": {"belote": {"systems": ["fundox"], "fundox": {"start": "high"}}}},
            "ladders.belote.fundox.start: expected a finite number, not 'high'",
        ),
        (
            {"ladders": {"belote": {"systems": ["bga"], "bga": {"quit_policy": "forgive"}}}},
            "ladders.belote.bga.quit_policy: 'forgive' is none of quitter-only, exclude, last-place",
        ),
    ],
)
def test_a_mistake_is_named_by_its_key(document: dict[str, Any], message: str) -> None:
    with pytest.raises(LadderFileError) as caught:
        parse_ladders(document)

    assert str(caught.value).startswith(message)


def test_everything_has_a_default() -> None:
    ladder = parsed()

    assert ladder.timezone == "UTC"
    assert ladder.remember == timedelta(days=7)
    assert ladder.systems["fundox"].start == 1600


def test_spans_of_time_are_written_with_a_unit() -> None:
    assert parsed(remember="36h").remember == timedelta(hours=36)


def test_equal_rules_have_an_equal_description() -> None:
    assert parsed(remember="24h").described() == parsed(remember="1d").described()
    assert parsed(fundox={"stake": 20}).described() != parsed().described()


def test_the_example_has_every_system() -> None:
    ladders = read_ladders(example_ladder_file())

    assert {system for ladder in ladders.values() for system in ladder.systems} == set(SYSTEMS)


def test_a_mistake_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[ladders.x]\nsystems = []\n")

    with pytest.raises(LadderFileError) as caught:
        read_ladders(path)

    assert str(caught.value) == f"{path}: ladders.x.systems: expected a list of systems, not []"


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "notepad.toml"
    path.write_text('[ladders.belote]\r\nsystems = ["fundox"]\r\n', encoding="utf-8-sig")

    assert list(read_ladders(path)) == ["belote"]


def test_a_file_with_a_number_of_thousands_of_digits_is_named(tmp_path: Path) -> None:
    path = tmp_path / "digits.toml"
    path.write_text(f"[ladders.belote]\nsystems = [{'9' * 5000}]\n")

    with pytest.raises(LadderFileError) as caught:
        read_ladders(path)

    assert str(caught.value).startswith(f"{path}: ")


def test_a_file_that_is_no_toml_is_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[ladders.x\n")

    with pytest.raises(LadderFileError) as caught:
        read_ladders(path)

    assert str(path) in str(caught.value)
    assert "line 1" in str(caught.value)
