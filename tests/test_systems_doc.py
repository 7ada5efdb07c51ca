"""docs/reference/systems.md: its examples are rated, its parameters and reasons are those of the code."""

import re
from collections.abc import Mapping
from datetime import timedelta

import pytest
from click.testing import CliRunner
from project import PROJECT

from streams.cli.main import cli
from streams.core.events import REASONS, Output, RatingChanged
from streams.core.ladders import Ladders
from streams.core.ratings import SYSTEMS
from streams.core.ratings.parameters import defaults, parse_duration
from streams.core.rules import DEFAULT_REMEMBER, parse_ladders
from streams.wire.decode import decode_line

TEXT = (PROJECT / "docs" / "reference" / "systems.md").read_text(encoding="utf-8")
SCHEMA = "schemas/game-finished.v1.json"
HEADINGS = ("game | player | before | after", "parameter | default | meaning", "reason | meaning")
GAMES, PARAMETERS, REASON = HEADINGS

every_system = pytest.mark.parametrize("system", SYSTEMS)


def section(heading: str) -> str:
    return TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def table(text: str, heading: str) -> list[list[str]]:
    lines = text.split(f"| {heading} |\n")[1].splitlines()[1:]
    rows = lines[: lines.index("")] if "" in lines else lines
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def rated(system: str) -> Mapping[tuple[str, str], tuple[float, float]]:
    fold = Ladders(parse_ladders({"ladders": {"club": {"systems": [system]}}}))
    out: list[Output] = []
    for line in section(system).split("```jsonl\n")[1].split("```")[0].encode().splitlines():
        fold.apply(decode_line(line), out)
    return {
        (change.game_id, change.player_id): (change.before, change.after)
        for change in out
        if isinstance(change, RatingChanged) and change.game_id is not None
    }


def as_written(figure: float, text: str) -> str:
    """Round a figure to as many digits as the document has."""
    return f"{figure:.{len(text.partition('.')[2])}f}"


@every_system
def test_the_example_is_what_the_fold_makes_of_its_games(system: str) -> None:
    rows = table(section(system), GAMES)
    found = rated(system)

    actual = [
        [game, player, *map(as_written, found[game, player], (before, after))]
        for game, player, before, after in rows
    ]

    assert rows == actual


@every_system
def test_the_example_shows_every_change(system: str) -> None:
    assert [(game, player) for game, player, *_ in table(section(system), GAMES)] == list(rated(system))


@every_system
def test_every_parameter_is_listed_with_its_default(system: str) -> None:
    listed = {name.strip("`"): default for name, default, _ in table(section(system), PARAMETERS)}

    for name, default in defaults(SYSTEMS[system].parameters_type).items():
        text = listed.pop(name)
        if isinstance(default, str):
            assert text == default
        elif isinstance(default, timedelta):
            assert parse_duration(text, name) == default
        else:
            assert float(text) == default
    assert listed == {}


def test_every_reason_is_listed_with_its_meaning() -> None:
    listed = {name.strip("`"): meaning for name, meaning in table(TEXT, REASON)}

    assert listed == REASONS


def test_every_reason_the_page_names_exists() -> None:
    named = set(re.findall(r"\(`([a-z-]+)`\)", TEXT)) - set(SYSTEMS)

    assert named <= set(REASONS)


@pytest.mark.parametrize(
    "file", ["docs/guides/operate.md", "docs/reference/systems.md", "streams/ladders.toml", SCHEMA]
)
def test_how_long_games_are_remembered_is_said_where_one_looks_for_it(file: str) -> None:
    text = (PROJECT / file).read_text(encoding="utf-8")
    days = DEFAULT_REMEMBER.days

    assert "remember" in text
    assert f"{days} days" in text or f"{days}d" in text


@pytest.mark.parametrize("span", sorted(set(re.findall(r"`(\d+[dw])`", TEXT))))
def test_every_span_that_the_page_names_is_one(span: str) -> None:
    assert parse_duration(span, "remember") > timedelta(days=7)


def test_the_preview_is_what_the_command_prints() -> None:
    command, *printed = section("What all have in common").split("    $ ladderlog ")[1].splitlines()

    result = CliRunner().invoke(cli, command.split(), env={})

    assert result.output.splitlines() == [line[4:] for line in printed[:3]]
