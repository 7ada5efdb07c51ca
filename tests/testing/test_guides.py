"""What the guides show in Python runs, and what they send as an example is a game."""

import json
import re

import orjson
import pytest
from project import PROJECT

from streams import events
from streams.testing import Driver, finished
from streams.wire.schemas import validator

GUIDES = PROJECT / "docs" / "guides"


def blocks(guide: str, language: str) -> list[str]:
    text = (GUIDES / guide).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_game_of_the_guide_is_valid() -> None:
    (game,) = blocks("produce.md", "json")

    assert validator(events.GAME_FINISHED).is_valid(json.loads(game))


def test_what_the_guide_encodes_is_that_game() -> None:
    names: dict[str, object] = {}

    exec("\n".join(blocks("produce.md", "python")), names)  # noqa: S102 - the guide's own code

    assert names["key"] == b"chess"
    assert [orjson.loads(names["value"])] == list(map(json.loads, blocks("produce.md", "json")))  # type: ignore[arg-type]


def test_the_subscriber_of_the_guide_shows_changes(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}

    exec("\n".join(blocks("subscribe.md", "python")), names)  # noqa: S102 - the guide's own code
    for published in Driver('[ladders.chess]\nsystems = ["fundox"]').send(finished("g-1", "ann", "bob")):
        names["show"](published)  # type: ignore[operator]

    assert capsys.readouterr().out.splitlines() == ["ann 1600.0 1608.0", "bob 1600.0 1592.0"]


@pytest.mark.parametrize("guide", ["produce.md", "subscribe.md", "testing.md"])
def test_what_a_guide_refers_to_is_there(guide: str) -> None:
    text = (GUIDES / guide).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)

    assert [link for link in links if not (GUIDES / link).exists()] == []
