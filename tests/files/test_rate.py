"""`ladderlog rate`: a file in, every line with exactly one outcome."""

import io
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from sites import NoBar

from streams.cli.main import cli
from streams.core.outcomes import OutcomeCounts
from streams.core.rules import parse_ladders
from streams.files import rate
from streams.files.rate import RateFiles, rate_lines
from streams.files.unapplied import Unapplied

RULES = parse_ladders({"ladders": {"chess": {"systems": ["fundox"]}}})
GAME = (
    b'{"game_id": "1", "ladder": "chess", "ended_at": "2026-11-24T20:00:00Z", '
    b'"players": [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}]}\n'
)


def rated(*lines: bytes) -> tuple[OutcomeCounts, list[dict[str, object]], list[dict[str, object]]]:
    changed, rejected = io.BytesIO(), io.BytesIO()
    counts = rate_lines(lines, RULES, RateFiles(changed, rejected=rejected), NoBar())
    read = [[orjson.loads(line) for line in file.getvalue().splitlines()] for file in (changed, rejected)]
    return counts, read[0], read[1]


def test_a_game_gives_a_change_for_every_player() -> None:
    counts, changed, _ = rated(GAME)

    assert counts == OutcomeCounts(read=1, rated=1)
    assert [body["after"] for body in changed] == [1608.0, 1592.0]


def test_a_bad_line_is_rejected_with_its_number_and_text_and_the_others_go_on() -> None:
    counts, _, rejected = rated(b"\n", b"oops\n", GAME, GAME)

    assert counts == OutcomeCounts(read=3, rated=1, ignored=1, rejected=1)
    assert rejected == [
        {"line": 2, "reason": "not-json", "message": rejected[0]["message"], "value": "oops"},
    ]


def test_rating_a_file_twice_gives_the_same_bytes() -> None:
    assert rated(GAME, GAME) == rated(GAME, GAME)


def game(game_id: str, day: int = 24, **fields: object) -> bytes:
    return orjson.dumps(
        {**orjson.loads(GAME), "game_id": game_id, "ended_at": f"2026-11-{day:02}T20:00:00Z", **fields}
    )


def void(game_id: str) -> bytes:
    return orjson.dumps({"type": "game-voided", "ladder": "chess", "game_id": game_id, "reason": "cheat"})


def unapplied(*lines: bytes) -> str:
    words = Unapplied()
    rate_lines([line + b"\n" for line in lines], RULES, RateFiles(), NoBar(), unapplied=words)
    return words.text().partition(". ")[0]


@pytest.mark.parametrize(
    "lines",
    [
        [game("1"), game("2")],
        [void("1"), game("1"), game("1")],
        [game("1", version=2), game("1")],
        [void("1"), game("1", version=2)],
        [void("1"), game("1", 3), game("2", 20)],
        [void("1"), game("2", 20), void("1"), game("1", 3), game("1", 20)],
        [void("1"), game("2"), void("1"), game("1"), *[game(str(number)) for number in range(3, 200)]],
    ],
)
def test_what_is_said_before_a_game_is_applied_and_not_named(lines: list[bytes]) -> None:
    assert unapplied(*lines) == ""


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ([game("1"), void("1")], "void of '1' on chess (line 2)"),
        ([game("1"), void("1"), game("1")], "void of '1' on chess (line 2)"),
        ([b"", game("1"), game("1", version=3)], "version 3 of '1' on chess (line 3)"),
        ([game("1"), game("1", version=2), void("1")], "void of '1' on chess (line 3)"),
        ([game("1", 1), game("2", 20), void("1"), game("1", 1)], "void of '1' on chess (line 3)"),
        ([game("1", 1), game("2", 20), game("1", 1, version=2)], "version 2 of '1' on chess (line 3)"),
        ([void("nobody's")], 'void of "nobody\'s" on chess (line 1)'),
    ],
)
def test_what_is_said_behind_a_game_is_noted_and_named(lines: list[bytes], named: str) -> None:
    assert unapplied(*lines) == f"noted and not applied: {named}"


def test_of_many_the_first_are_named_and_the_others_counted() -> None:
    numbers = list(map(str, range(9)))

    said = unapplied(*map(game, numbers), *map(void, numbers))

    assert said.endswith("void of '4' on chess (line 14) and 4 more")


def test_it_is_said_too_when_another_process_decodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "_LINES_ALONE", 100)
    ladders, games = tmp_path / "ladders.toml", tmp_path / "games.jsonl"
    ladders.write_text('[ladders.chess]\nsystems = ["fundox"]\n')
    lines = [void("early"), *(game(str(number)) for number in range(500)), game("early"), void("7")]
    games.write_bytes(b"\n".join([*lines, game("8", version=2)]))

    result = CliRunner().invoke(cli, ["rate", f"--ladders={ladders}", str(games)])

    assert result.exit_code == 0
    assert "504 read: 500 rated, 1 ignored, 0 rejected, 3 noted" in result.stderr
    assert (
        "not applied: void of '7' on chess (line 503), version 2 of '8' on chess (line 504). "
        in result.stderr
    )
    assert "`ladderlog rebuild` applies the rest" in result.stderr
