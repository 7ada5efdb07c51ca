"""JSON into games: where records stand, what a path leads to, and how presets and mappings go together."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from imported import Imported, imported_by

from streams.cli.imports import import_command
from streams.imports import MappingError, import_csv, import_json
from streams.imports.presets import merged, preset, presets

GAME = {"id": "g1", "at": "2026-11-25T20:00:00Z", "seats": [{"who": "ann", "n": 3}, {"who": "bob", "n": 1}]}
SEATS = {"game_id": "id", "ended_at": "at", "player": "seats[].who", "points": "seats[].n"}
PAIR = {"game_id": "id", "ended_at": "at", "player1": "a.name", "player2": "b[0]", "result": "score"}


def imported(document: Any, columns: dict[str, Any] | None = None, **mapping: Any) -> Imported:
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    return imported_by(import_json, text, "club", {"columns": columns or SEATS, **mapping})


def command(*options: str | Path, source: str = "") -> Result:
    return CliRunner().invoke(import_command, [*map(str, options), "-"], input=source)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (json.dumps(GAME), [1]),
        (json.dumps([GAME]), [1]),
        ("\n\n" + json.dumps(GAME, indent=1), [3]),
        (f"{json.dumps(GAME)}\n\n{json.dumps({**GAME, 'id': 'g2'})}\n", [1, 3]),
        (f"[\n{json.dumps(GAME)}\n,\n\n{json.dumps({**GAME, 'id': 'g2'})}]", [2, 5]),
        ('{"n": [1], "other": {"seats": []},\n "games" :[\n' + json.dumps(GAME) + "]}", [3]),
    ],
)
def test_records_are_found_and_named_by_their_line(text: str, lines: list[int]) -> None:
    broken = text.replace("2026-11-25", "yesterday")

    assert imported(text).report.written == len(lines)
    assert imported(broken).lines == [(line, "time") for line in lines]


def test_a_mark_before_the_first_byte_is_no_text() -> None:
    assert imported(json.dumps([GAME]).encode("utf-8-sig")).report.written == 1


@pytest.mark.parametrize(
    ("document", "records"),
    [
        ({"games": [GAME]}, "games"),
        ({"data": {"x": [[], [GAME]]}}, "data.x[1]"),
        ([GAME], "[]"),
        ({"n": 1, "data": {"games": [GAME], "n": [1]}}, None),
    ],
)
def test_the_list_of_records_is_named_or_the_only_one(document: Any, records: str | None) -> None:
    assert imported(document, records=records).report.written == 1


def test_a_pair_has_paths_of_its_own() -> None:
    game = {"id": 7, "at": "2026-11-25T20:00:00Z", "a": {"name": "ann"}, "b": ["bob"], "score": "1-0"}

    assert imported([game], PAIR).events == [
        {
            "game_id": "7",
            "ladder": "chess",
            "ended_at": "2026-11-25T20:00:00Z",
            "players": [{"player_id": "ann", "points": 1.0}, {"player_id": "bob", "points": 0.0}],
        }
    ]


def test_members_of_a_fields_name_need_no_mapping() -> None:
    game = {"game_id": "x", "ended_at": "2026-11-25T20:00:00Z", "player1": "ann", "player2": "bob"}

    assert imported([{**game, "result": "½-½"}], {"rank": ""}).events[0]["game_id"] == "x"


def test_games_without_an_id_have_their_number() -> None:
    columns = {name: path for name, path in SEATS.items() if name != "game_id"}
    found = imported([GAME, GAME], columns)

    assert [event["game_id"] for event in found.events] == ["club-1", "club-2"]
    assert "games without an id" in found.report.summary()


def test_two_games_of_one_id_in_a_row_stay_two() -> None:
    assert imported([GAME, GAME]).lines == [(1, "twice")]


def test_a_link_to_a_game_is_its_id_as_it_is_in_pgn() -> None:
    game = {**GAME, "id": "https://www.chess.com/game/live/123"}

    assert imported([game]).events[0]["game_id"] == "123"


def test_a_reference_is_looked_up_and_one_that_leads_nowhere_is_named() -> None:
    games = [GAME, {**GAME, "id": "g2", "seats": [{"who": 1, "n": 1}, {"who": 9, "n": 0}]}]
    games[0] = {**GAME, "seats": [{"who": 1, "n": 1}, {"who": 2, "n": 0}]}
    people = [{"id": 1, "name": {"nick": "ann"}}, {"id": 2, "name": {"nick": "bob"}}]
    columns = {**SEATS, "player": "seats[].who -> people[id].name.nick"}
    found = imported({"people": people, "games": games}, columns, records="games")

    assert [seat["player_id"] for seat in found.events[0]["players"]] == ["ann", "bob"]
    assert found.lines == [(1, "value")]
    assert "there is none with id 9" in found.left_out[0].message


def test_bytes_that_are_no_text_lose_the_game_that_needs_them_only() -> None:
    content = json.dumps([{**GAME, "note": "x"}, {**GAME, "id": "g2"}]).encode().replace(b'"x"', b'"\xe9"')
    other = content.replace(b"ann", b"\xe9", 1)

    assert imported(content).report.written == 2
    assert imported(other).lines == [(1, "encoding")]


@pytest.mark.parametrize(
    ("document", "mapping", "message"),
    [
        ("[1, 2", {}, "line 1: not JSON: "),
        ('[\n{"a": NaN}]', {}, "not JSON: NaN is no number"),
        ("", {}, "line 1: not JSON: "),
        ({"a": [{}], "b": [{}]}, {}, "which of a, b is the list of games"),
        ({"a": [{}]}, {"records": "b"}, "has no list 'b'; it has a"),
        ({"x": {"a": [{}], "b": [{}]}}, {}, "which of x.a, x.b is the list of games"),
        ({"a": 1}, {"records": "b"}, "it has none"),
        ({"a": 1}, {"records": "a[].b"}, "expected one list"),
        ([GAME], {"columns": {**SEATS, "points": "others[].n"}}, "go through different lists"),
        ([GAME], {"columns": {**SEATS, "player": "seats[."}}, "is no path"),
        ([GAME], {"columns": {**SEATS, "player": "seats[].who -> people"}}, "there is a list and its key"),
        ([GAME], {"columns": {**SEATS, "player": "seats[].who -> p[id].x[]"}}, "has its place before"),
        ([GAME], {"columns": {**SEATS, "player": "seats[].who -> p[id].x"}}, "the file has no list 'p'"),
        ([GAME], {"columns": {**SEATS, "colour": "id"}}, "columns.colour: no such field"),
        ([GAME], {"columns": {"player": "seats[].who"}}, "no column for ended_at"),
        ([GAME], {"columns": {**SEATS, "player1": "id"}}, "one row per game"),
    ],
)
def test_mistakes_of_the_mapping(document: Any, mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        imported(document, mapping.get("columns"), records=mapping.get("records"))


@pytest.mark.parametrize("key", ["comment", "delimiter", "header"])
def test_what_only_tables_have_is_refused(key: str) -> None:
    with pytest.raises(MappingError, match=f"{key}: JSON has none"):
        imported([GAME], **{key: False if key == "header" else "#"})


def test_who_won_is_asked_of_lists_of_players_only() -> None:
    with pytest.raises(MappingError, match="they are for lists of players"):
        imported([GAME], {**PAIR, "won": "a.won"})


def test_fewer_points_may_be_better_where_nobody_is_said_to_have_won() -> None:
    found = imported([{**GAME, "high": False}], {**SEATS, "highest_wins": "high"})

    assert found.events[0]["players"] == [{"player_id": "ann", "rank": 2}, {"player_id": "bob", "rank": 1}]


def test_the_same_games_are_the_same_events_from_a_table_and_from_json() -> None:
    rows = [
        {"game_id": "g1", "ended_at": "2026-11-25", "player1": "ann", "player2": "bob", "result": "6-4 7-5"},
        {"game_id": "g2", "ended_at": "1997-05", "player1": "ann", "player2": "bob", "result": "1-0"},
        {"game_id": "g3", "ended_at": "2026-11-26", "player1": "ann", "player2": "bye", "result": "+:-"},
        {"game_id": "g4", "ended_at": "2026-11-27", "player1": "ann", "player2": "bob", "result": "W/O 1-0"},
        {"game_id": "g5", "ended_at": "2026-11-28", "player1": "Zoë ", "player2": "bob", "result": "½"},
    ]
    table = "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)])
    from_table = imported_by(import_csv, table, "club", {})
    from_json = imported_by(import_json, json.dumps(rows), "club", {})

    assert from_json.events == from_table.events
    assert [item.reason for item in from_json.left_out] == [item.reason for item in from_table.left_out]
    assert from_json.report.passed_over == from_table.report.passed_over


def test_a_path_to_a_list_or_to_nothing_is_named() -> None:
    found = imported([{**GAME, "id": [1]}, {**GAME, "seats": 5}, 5], {**SEATS, "team": "seats[].club"})

    assert found.lines == [(1, "value"), (1, "value"), (1, "players")]
    assert "[0]: id: a list, where a text or a number is expected" in found.left_out[0].message
    assert "nothing stands at seats[].club in any record" in found.report.summary()


def test_every_preset_is_a_mapping_that_says_what_it_is_for() -> None:
    documents = {name: preset(name) for name in presets()}

    assert {"bgstats", "chesscom", "lichess"} <= documents.keys()
    assert [name for name, document in documents.items() if not document["about"]] == []


def test_a_folder_of_ones_own_adds_presets(tmp_path: Path) -> None:
    (tmp_path / "office.toml").write_text('ladder = "office"\n[columns]\nplayer1 = "a"\n', encoding="utf-8")
    source = "ended_at,a,player2,result\n2026-11-25,ann,bob,1-0\n"
    result = command("--presets", tmp_path, "--preset", "office", source=source)
    unknown = command("--presets", tmp_path, "--preset", "club", source=source)

    assert orjson.loads(result.stdout)["ladder"] == "office"
    assert unknown.exit_code == 1
    assert "preset: 'club' is none of bgstats," in unknown.stderr
    assert "office" in unknown.stderr


def test_options_go_over_a_mapping_and_that_over_a_preset() -> None:
    below = {"ladder": "a", "columns": {"player1": "x", "player2": "y"}, "values": {"result": {"w": "1-0"}}}
    above = {"ladder": "b", "columns": {"player2": "z"}, "values": {"result": {"l": "0-1"}}}

    assert merged(below, above) == {
        "ladder": "b",
        "columns": {"player1": "x", "player2": "z"},
        "values": {"result": {"w": "1-0", "l": "0-1"}},
    }


def test_a_preset_says_the_format_and_an_option_says_otherwise() -> None:
    as_csv = command("--preset", "lichess", "--ladder", "chess", "--format", "csv", source="a,b\n")

    assert "the file has no column 'id'" in as_csv.stderr
