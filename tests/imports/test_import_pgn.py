"""PGN into events: players, results and times from the tags, whatever the moves and comments hold."""

import io
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from click.testing import CliRunner
from imported import Imported, imported_by

from streams.cli.imports import import_command
from streams.core.rules import parse_ladders
from streams.files.progress import progress
from streams.files.rate import RateFiles, rate_lines
from streams.imports import MappingError, import_pgn
from streams.imports.pgn_reader import read_tag_sections

LICHESS = """[Event "Rated Blitz game"]
[Site "https://lichess.org/abcd1234"]
[Date "2026.11.25"]
[Round "-"]
[White "ann"]
[Black "bob"]
[Result "1-0"]
[UTCDate "2026.11.25"]
[UTCTime "20:00:07"]
[Variant "Standard"]

1. e4 { [%eval 0.17] [%clk 0:00:30] } 1... c5 { [%eval 0.19]
[%clk 0:00:30] } 2. Nf3 1-0

[Event "Casual Chess960 tournament https://lichess.org/tournament/xyz"]
[Site "https://lichess.org/efgh5678"]
[White "bob"]
[Black "ann"]
[Result "1/2-1/2"]
[UTCDate "2026.11.26"]
[UTCTime "20:00:07"]
[Variant "Chess960"]

1/2-1/2
"""
CHESS_COM = """[Event "Live Chess"]
[Site "Chess.com"]
[Date "2026.11.25"]
[White "ann"]
[Black "bob"]
[Result "0-1"]
[UTCDate "2026.11.25"]
[UTCTime "23:55:00"]
[EndDate "2026.11.26"]
[EndTime "00:02:10"]
[Link "https://www.chess.com/game/live/77985696703"]
1. d4 {[%clk 0:00:59.4]} 1... d5 0-1
"""
CLUB = """[Event "Club evening"]
[Date "2026.10.25"]
[White "Zo\\"é"]
[Black "bob"]
[Result "1-0"]
{}

1-0
"""


def imported(text: str | bytes, **mapping: Any) -> Imported:
    return imported_by(import_pgn, text, "club", mapping)


def club(*tags: str, **mapping: Any) -> Imported:
    return imported(CLUB.format("\n".join(tags)), **mapping)


def test_games_of_lichess() -> None:
    found = imported(LICHESS)

    assert found.left_out == []
    assert found.events == [
        {
            "game_id": "abcd1234",
            "ladder": "chess",
            "ended_at": "2026-11-25T20:00:07Z",
            "rated": True,
            "players": [{"player_id": "ann", "points": 1.0}, {"player_id": "bob", "points": 0.0}],
        },
        {
            "game_id": "efgh5678",
            "ladder": "chess",
            "game_type": "Chess960",
            "ended_at": "2026-11-26T20:00:07Z",
            "rated": False,
            "players": [{"player_id": "bob", "points": 0.5}, {"player_id": "ann", "points": 0.5}],
        },
    ]
    assert (
        "games that tell only when they began, taken as their end: 2, first on line 1"
        in found.report.summary()
    )


def test_a_game_of_chess_com() -> None:
    found = imported(CHESS_COM, timezone="America/New_York")

    assert found.events == [
        {
            "game_id": "77985696703",
            "ladder": "chess",
            "started_at": "2026-11-25T23:55:00Z",
            "ended_at": "2026-11-26T00:02:10Z",
            "players": [{"player_id": "ann", "points": 0.0}, {"player_id": "bob", "points": 1.0}],
        }
    ]
    assert "games that do not say whether they are rated" in found.report.summary()


@pytest.mark.parametrize(
    ("tags", "ended_at"),
    [
        ([], "2026-10-24T22:00:00Z"),
        (['[Time "01:30:00"]'], "2026-10-24T23:30:00Z"),
        (['[Time "02:30:00"]'], "2026-10-25T00:30:00Z"),
        (['[Time "??:??:??"]'], "2026-10-24T22:00:00Z"),
        (['[EndTime "12:38:55 PDT"]'], "2026-10-25T19:38:55Z"),
        (['[EndTime "8:54:46 GMT+0000"]'], "2026-10-25T08:54:46Z"),
        (['[EndTime "8:54:46 GMT-0130"]'], "2026-10-25T10:24:46Z"),
        (['[EndTime "8:54:46"]'], "2026-10-25T07:54:46Z"),
        (['[EndDate "2026.10.26"]'], "2026-10-25T23:00:00Z"),
        (['[UTCDate "2026.10.25"]'], "2026-10-25T00:00:00Z"),
        (['[UTCDate "????.??.??"]', '[UTCTime "20:00:00"]'], "2026-10-24T22:00:00Z"),
        (['[EndDate "2026.03.29"]', '[EndTime "02:30:00"]'], "2026-03-29T01:30:00Z"),
    ],
)
def test_when_a_game_ended(tags: list[str], ended_at: str) -> None:
    assert club(*tags, timezone="Europe/Paris").events[0]["ended_at"] == ended_at


@pytest.mark.parametrize(
    ("tags", "line", "reason", "message"),
    [
        (['[Date "2026.??.??"]'], 6, "partial-date", "may be any day from 2026-01-01 to 2026-12-31"),
        (['[Date "2026.02.30"]'], 6, "time", "[Date '2026.02.30']: not a full date"),
        (['[Date "0001.01.01"]'], 1, "time", "is no moment"),
        (["", '[Date "2026.10.25"]'], 7, "players", "[White]: no player"),
        (['[Time "25:00:00"]'], 6, "time", "[Time '25:00:00']"),
        (['[EndTime "8:00:00 IST"]'], 6, "time", "'IST' is not a zone"),
        (['[White "?"]'], 6, "players", "[White '?']: no player"),
        (['[Black ""]'], 6, "bye", "[Black]: '' is nobody"),
        (['[Result "*"]'], 6, "unfinished", "the game is not over"),
        (['[Result "2-0"]'], 6, "result", "[Result]: '2-0' is none of a game: 1-0"),
        (["[White ann]"], 6, "pgn", "'[White ann]' is not a tag"),
        (['[Black "Zo\\"é"]'], 1, "same-player-twice", "appears twice"),
        (['[GameId "' + "x" * 129 + '"]'], 1, "schema", "game_id: "),
        (
            ['[UTCDate "2026.10.25"]', '[UTCTime "9:00:00"]', '[EndTime "8:00:00"]'],
            1,
            "started-after-ended",
            "later",
        ),
    ],
)
def test_a_game_left_out_is_named_by_the_line_of_its_tag(
    tags: list[str], line: int, reason: str, message: str
) -> None:
    found = club(*tags, timezone="Asia/Tokyo")

    assert found.lines[-1] == (line, reason)
    assert message in found.left_out[-1].message


def test_ids_made_here_name_file_and_line() -> None:
    text = CLUB.format('[Round "1"]') + "\n" + CLUB.format('[Site "https://lichess.org/study/abc"]')

    assert [event["game_id"] for event in imported(text).events] == ["club-1", "club-10"]


def test_the_same_game_twice_is_left_out_once() -> None:
    assert imported(LICHESS + "\n" + LICHESS).lines == [(26, "twice"), (40, "twice")]


@pytest.mark.parametrize(
    ("event", "rated"),
    [
        ("Rated Rapid game", True),
        ("rated king of the hill tournament https://lichess.org/tournament/x", True),
        ("Unrated Blitz match", False),
        ("Casual correspondence game", False),
        ("Casual Friday tournament", None),
        ("Rated open of the Blitz game club", None),
    ],
)
def test_rated_is_told_from_unambiguous_events_only(event: str, *, rated: bool | None) -> None:
    found = imported(CLUB.format('[Round "1"]').replace("Club evening", event))

    assert found.events[0].get("rated") is rated


def sections(text: str) -> list[tuple[int, dict[str, str]]]:
    found = read_tag_sections([text.encode()], "utf-8")
    return [(section.line, {name: tag.value for name, tag in section.tags.items()}) for section in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("\n\n% escaped\n", []),
        ('[A "1"]\n[B "2"]', [(1, {"A": "1", "B": "2"})]),
        ('[A "1"] [B "2"]\n\n*\n', [(1, {"A": "1", "B": "2"})]),
        ('[A "1"]\n\n[A "2"]\n\n*\n', [(1, {"A": "1"}), (3, {"A": "2"})]),
        ('[A "1"]\n\n[B "2"]\n\n*\n', [(1, {"A": "1", "B": "2"})]),
        ('[Event "1"]\n[Event "2"]\n', [(1, {"Event": "1"}), (2, {"Event": "2"})]),
        ('[A "1"]\n1. e4 *\n[A "2"]\n', [(1, {"A": "1"}), (3, {"A": "2"})]),
        ('[A "1"]\n\n1. e4 {\n[A "no"]\n} *\n\n[A "2"]\n', [(1, {"A": "1"}), (7, {"A": "2"})]),
        ('[A "1"]\n\n1. e4 {x} {y\n\n[A "no"]\n} *\n', [(1, {"A": "1"})]),
        ('[A "1"]\n\n1. e4 ; {\n*\n[A "2"]\n', [(1, {"A": "1"}), (5, {"A": "2"})]),
        ('[A "1"]\n\n1. e4 { never closed\n\n[Event "2"]\n', [(1, {"A": "1"}), (5, {"Event": "2"})]),
        ('[A "1"]\n% [A "no"] {\n[B "2"]\n', [(1, {"A": "1", "B": "2"})]),
        ('[A "a "b" c"]\n[B "\\\\ \\""]\n', [(1, {"A": 'a "b" c', "B": '\\ "'})]),
        ('\ufeff[A "1"]\r\n[B "2"]\r\n\r\n*\r\n', [(1, {"A": "1", "B": "2"})]),
        ('1. e4 *\n[A "2"]\n', [(1, {}), (2, {"A": "2"})]),
    ],
)
def test_where_games_begin(text: str, found: list[tuple[int, dict[str, str]]]) -> None:
    assert sections(text) == found


def test_encodings() -> None:
    text = CLUB.format('[Round "1"]').encode("latin-1")

    assert imported(text).lines == [(3, "encoding")]
    assert imported(text.decode("latin-1").encode("utf-16"), encoding="utf-16").report.written == 1
    assert imported(text, encoding="latin-1").events[0]["players"][0]["player_id"] == 'Zo"é'


def test_mistakes_of_the_mapping() -> None:
    with pytest.raises(MappingError, match="PGN does not say which ladder"):
        imported(LICHESS, ladder=None)


def test_every_written_line_is_rated() -> None:
    rules = parse_ladders({"ladders": {"chess": {"systems": ["fundox"], "remember": "520w"}}})
    written = imported(LICHESS + "\n" + CHESS_COM + "\n" + CLUB.format('[Round "1"]')).out.getvalue()
    out = io.BytesIO()
    with progress("rate") as bar:
        report = rate_lines(io.BytesIO(written), rules, RateFiles(out), bar)

    assert (report.read, report.rated, report.ignored, report.rejected) == (4, 3, 1, 0)


def test_the_command_tells_pgn_by_its_ending_and_sorts(tmp_path: Path) -> None:
    file = tmp_path / "club.pgn.zst"
    first, second = LICHESS.split("\n[Event", 1)
    file.write_bytes(
        zstandard.compress(b"[Event" + second.encode() + b"\n") + zstandard.compress(first.encode())
    )
    result = CliRunner().invoke(import_command, ["--ladder", "chess", "--sort", str(file)])

    assert result.exit_code == 0, result.output
    assert [orjson.loads(line)["game_id"] for line in result.stdout.splitlines()] == ["abcd1234", "efgh5678"]
