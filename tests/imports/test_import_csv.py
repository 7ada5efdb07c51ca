"""CSV into games: their shapes, and every mistake named by its line."""

from typing import Any

import pytest
from imported import Imported, imported_by

from streams.imports import MappingError, import_csv


def imported(text: str | bytes, *, name: str = "games", **mapping: Any) -> Imported:
    return imported_by(import_csv, text, name, mapping)


def test_one_row_per_game_with_columns_of_the_fields_names() -> None:
    found = imported(
        "game_id,started_at,ended_at,game_type,rated,player1,rank1,points1,left1,player2,rank2,points2,player3\n"
        "g1,2026-11-25T20:00:00Z,2026-11-25T21:00:00+01:00,blitz,yes,ann,1,10.5,,bob,2,-3,\n"
    )

    assert found.left_out == []
    assert found.events == [
        {
            "game_id": "g1",
            "ladder": "chess",
            "game_type": "blitz",
            "started_at": "2026-11-25T20:00:00Z",
            "ended_at": "2026-11-25T20:00:00Z",
            "rated": True,
            "players": [
                {"player_id": "ann", "rank": 1, "points": 10.5},
                {"player_id": "bob", "rank": 2, "points": -3.0},
            ],
        }
    ]


def test_columns_of_other_names_are_mapped_and_the_report_says_which() -> None:
    found = imported(
        "ID;Day;Hour;White;Black;Winner\n7;25/11/2026;20:30;ann;bob;white\n",
        timezone="Europe/Paris",
        time_format="%d/%m/%Y %H:%M",
        columns={
            "game_id": "ID",
            "ended_at": ["Day", "Hour"],
            "player1": "White",
            "player2": "#5",
            "result": "Winner",
        },
        values={"result": {"white": "1-0"}},
    )

    assert found.events[0]["ended_at"] == "2026-11-25T19:30:00Z"
    assert [seat["points"] for seat in found.events[0]["players"]] == [1, 0]
    assert "ended_at from 'Day' and 'Hour'" in found.report.summary()


def test_one_row_per_player_groups_rows_that_stand_together() -> None:
    found = imported(
        "game_id,ended_at,player,team,points,left,left_at\n"
        "g1,2026-11-25T20:00Z,ann,n,7,,\ng1,2026-11-25T20:00Z,bob,s,5,abandoned,2026-11-25T19:00Z\n"
        "g1,2026-11-25T20:00Z,cid,n,3,,\ng2,2026-11-25T21:00Z,ann,,1,,\ng2,2026-11-25T21:00Z,bob,,2,,\n"
    )

    assert [[seat["player_id"] for seat in game["players"]] for game in found.events] == [
        ["ann", "bob", "cid"],
        ["ann", "bob"],
    ]
    assert found.events[0]["players"][1] == {
        "player_id": "bob",
        "team": "s",
        "points": 5.0,
        "left": "abandoned",
        "left_at": "2026-11-25T19:00:00Z",
    }


def test_a_table_of_three_may_have_a_free_seat() -> None:
    found = imported(
        "game_id,ended_at,player1,rank1,player2,rank2,player3,rank3\n"
        "g1,2026-11-25T20:00Z,ann,1,bob,2,,\ng2,2026-11-25T20:00Z,ann,1,,,,\ng3,2026-11-25T20:00Z,ann,1,bob,2,,3\n"
    )

    assert len(found.events) == 1
    assert found.lines == [(3, "players"), (4, "missing")]
    assert "column 'player3'" in found.left_out[1].message


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("1-0", (1, 0)),
        ("0-1", (0, 1)),
        ("½-½", (0.5, 0.5)),
        ("1/2-1/2", (0.5, 0.5)),
        ("0.5-0.5", (0.5, 0.5)),
        ("3½ : 2½", (3.5, 2.5)),
        ("3\u20132", (3, 2)),
    ],
)
def test_results(text: str, points: tuple[float, float]) -> None:
    found = imported(f"ended_at,player1,player2,result\n2026-11-25T20:00Z,ann,bob,{text}\n")

    assert tuple(seat["points"] for seat in found.events[0]["players"]) == points


def test_results_that_are_none() -> None:
    found = imported(
        "ended_at,player1,player2,result\n" + "".join(f"2026-11-25,a,b,{r}\n" for r in ("*", "", "won"))
    )

    assert found.lines == [(2, "unfinished"), (3, "unfinished"), (4, "result")]
    assert "column 'result': 'won'" in found.left_out[2].message


def test_every_mistake_is_named_by_line_and_column_and_the_others_are_written() -> None:
    rows = {
        2: "g2,2026-11-25T20:00Z,yes,ann,1,5,,bob,2,3,",
        3: "g3,2026-11-25T20:00Z,perhaps,ann,1,5,,bob,2,3,",
        4: "g4,2026-11-25T20:00Z,no,ann,first,5,,bob,2,3,",
        5: "g5,2026-11-25T20:00Z,no,ann,1.5,5,,bob,2,3,",
        6: 'g6,2026-11-25T20:00Z,no,ann,1,"5,5",,bob,2,3,',
        7: "g7,2026-11-25T20:00Z,no,ann,1,nan,,bob,2,3,",
        8: "g8,2026-11-25T20:00Z,no,ann,1,5,quit,bob,2,3,",
        9: "g9,2026-11-25T20:00Z,no,ann,1",
        10: "g10,2026-11-25T20:00Z,no,ann,1,5,,bob,2,3,,extra",
        11: "g11,,no,ann,1,5,,bob,2,3,",
        12: "g12,2026-11-25T20:00Z,no,ann,1,5,,ann,2,3,",
        13: "g2,2026-11-25T20:00Z,yes,ann,1,5,,bob,2,3,",
        14: f"{'x' * 129},2026-11-25T20:00Z,yes,ann,1,5,,bob,2,3,",
        15: "g15,2026-11-25T20:00Z,yes,ann,0,5,,bob,2,3,",
        16: 'g16,2026-11-25T20:00Z,yes,"ann"x,1,5,,bob,2,3,',
        17: "g17,2026-11-25T20:00Z,yes,ann,1.0,5,,bob,2,3,,,",
    }
    header = "game_id,ended_at,rated,player1,rank1,points1,left1,player2,rank2,points2,left2"
    found = imported("\n".join([header, *rows.values()]))

    assert [event["game_id"] for event in found.events] == ["g2", "g17"]
    assert found.lines == [
        (3, "value"),
        (4, "number"),
        (5, "number"),
        (6, "number"),
        (7, "number"),
        (8, "value"),
        (9, "csv"),
        (10, "csv"),
        (11, "missing"),
        (12, "same-player-twice"),
        (13, "twice"),
        (14, "id"),
        (15, "schema"),
        (16, "csv"),
    ]
    messages = {left_out.line: left_out.message for left_out in found.left_out}
    assert messages[4] == "column 'rank1': 'first' is not a number"
    assert "--decimal" in messages[6]
    assert messages[13] == "game 'g2' was on line 2 already"


def test_a_group_is_left_out_whole() -> None:
    rows = [
        "g1,2026-11-25,ann,1",
        "g1,2026-11-26,bob,2",  # another end
        "g2,2026-11-25,ann,one",  # not a number
        "g2,2026-11-25,bob,2",
        "g3,2026-11-25,ann,1",  # alone
        "g4,2026-11-25,ann,1",
        "g4,2026-11-25,,2",  # nobody
        "g5,2026-11-25,ann,1",
        "g5,2026-11-25,bob,2",
        "g3,2026-11-25,bob,2",
    ]
    found = imported("\n".join(["game_id,ended_at,player,rank", *rows]))

    assert [event["game_id"] for event in found.events] == ["g5"]
    assert found.lines == [(3, "mixed"), (4, "number"), (6, "players"), (8, "missing"), (11, "players")]
    assert "'2026-11-26' is not '2026-11-25', as on line 2" in found.left_out[0].message


def test_a_line_that_cannot_be_read_spoils_the_games_beside_it() -> None:
    rows = ["g1,2026-11-25,ann,1", "g1,2026-11-25,bob,2", "g1,2026-11-25", "g2,2026-11-25,ann,1"]
    rows += ["g2,2026-11-25,bob,2", ",2026-11-25,cid,2", "g3,2026-11-25,ann,1", "g3,2026-11-25,bob,2"]
    rows += ["g4,2026-11-25,ann,1", "g4,2026-11-25,bob,2"]
    found = imported("\n".join(["game_id,ended_at,player,rank", *rows]))

    assert [event["game_id"] for event in found.events] == ["g4"]
    assert sorted(found.lines) == [(2, "mixed"), (4, "csv"), (5, "mixed"), (7, "missing"), (8, "mixed")]


def test_too_many_rows_of_one_game() -> None:
    found = imported("game_id,ended_at,player\n" + "".join(f"g,2026-11-25,p{n}\n" for n in range(40)))

    assert found.lines == [(2, "players")]
    assert "40 rows with 'g'" in found.left_out[0].message


def test_lines_are_counted_through_quoted_line_ends_and_blank_lines() -> None:
    found = imported(
        'note,ended_at,player1,player2,result\r\n"two\r\nlines",2026-11-25,ann,bob,1-0\r\n\r\nx,never,ann,bob,1-0\r\n'
        '"a\nb\nc",2026-11-25,ann,bob,won\r\nx,2026-11-26,ann,bob,0-1'
    )

    assert found.lines == [(5, "time"), (6, "result")]
    assert [event["game_id"] for event in found.events] == ["games-2", "games-9"]


def test_a_quote_that_is_not_closed_says_what_is_lost_with_it() -> None:
    found = imported('ended_at,player1,player2,result\n2026-11-25,"ann,bob,1-0\n2026-11-26,ann,bob,1-0\n')

    assert found.lines == [(2, "csv")]
    assert "lines 2 to 3 are lost" in found.left_out[0].message


def test_a_quote_that_is_not_closed_in_a_long_file_does_not_take_all_of_it() -> None:
    rows = "".join(f"2026-11-25,ann{n},bob,1-0\n" for n in range(10_000))
    found = imported('ended_at,player1,player2,result\n2026-11-25,"ann,bob,1-0\n' + rows)

    assert found.lines[0] == (2, "csv")
    assert "are lost with it" in found.left_out[0].message
    assert found.report.written > 3_000


def test_without_a_header_columns_go_by_number() -> None:
    columns = {"ended_at": "#1", "player1": "#2", "player2": "#3", "result": "#4"}
    found = imported(
        "2026-11-25,ann,bob,1-0\n2026-11-26,ann,bob,1-0,more\n2026\n", header=False, columns=columns
    )

    assert [event["game_id"] for event in found.events] == ["games-1", "games-2"]
    assert found.lines == [(3, "csv")]


HEADER = "game_id,ended_at,player1,player2,result\n"


@pytest.mark.parametrize(
    ("text", "mapping", "message"),
    [
        ("", {}, "the file is empty"),
        ("\n", {}, "line 1: the header line is empty"),
        ("a,b\n", {}, "no column for player1"),
        ("player1,player2\n", {}, "no column for ended_at"),
        ("player,ended_at\n", {}, "no column for game_id"),
        ("player1,ended_at\n", {}, "no column for player2"),
        ("player1,player2,rank3,ended_at\n", {}, "no column for player3"),
        (HEADER, {"ladder": None}, "ladder: neither given"),
        (HEADER, {"columns": {"game_id": "game"}}, "no column 'game'; is it 'game_id'?"),
        (HEADER, {"columns": {"gameid": "game_id"}}, "columns.gameid: no such field"),
        (HEADER, {"columns": {"player33": "game_id"}}, "columns.player33: no such field"),
        (HEADER, {"columns": {"player": "player1", "player1": "player1"}}, "one row per game"),
        (HEADER, {"columns": {"points1": "result", "result": "result"}}, "it gives the points"),
        ("game_id,player,ended_at,result\n", {}, "columns.result"),
        (HEADER, {"values": {"victor": {"a": "b"}}}, "values.victor: no such field"),
        (HEADER, {"set": {"victor": "a"}}, "set.victor: no such field"),
        (HEADER, {"skip": {"Kind": "team"}}, "columns.skip: the file has no column 'Kind'"),
        (HEADER, {"forfeits": "maybe"}, "forfeits: expected rated or unrated or skip, not 'maybe'"),
        (HEADER, {"rated": "yes"}, "rated: expected true or false, not 'yes'"),
        (HEADER, {"comment": " "}, "comment: expected what such lines begin with"),
        (HEADER, {"columns": {"game_id": "#9"}}, "no column '#9'"),
        ("ID,ID,ended_at,player1,player2\n", {"columns": {"game_id": "ID"}}, "2 times; .* #1 or #2"),
        ("ended_at,ended_at,player1,player2\n", {}, "'ended_at', read as ended_at, is there 2 times"),
        ('"ended_at,player1\n', {}, "the header is not CSV"),
        (HEADER, {"timezone": "Paris"}, "timezone: 'Paris'"),
        (HEADER, {"encoding": "utf-9"}, "encoding: 'utf-9'"),
        (HEADER, {"delimiter": "::"}, "delimiter: expected one character"),
        (HEADER, {"decimal": "'"}, "decimal: expected"),
        (HEADER, {"time_format": "%Y %Z"}, "time_format: '%Y %Z'"),
        (HEADER, {"header": "no"}, "header: expected true or false"),
        (HEADER, {"colums": {}}, "colums: no such key"),
        (HEADER, {"columns": {"game_id": 1}}, "columns.game_id: expected a text, not 1"),
        (HEADER, {"columns": []}, "columns: expected a table"),
        (HEADER, {"ladder": 5}, "ladder: expected a text, not 5"),
    ],
)
def test_mistakes_of_the_mapping(text: str, mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        imported(text, **mapping)


def test_duplicated_headers_that_nobody_reads_are_no_mistake() -> None:
    text = "x,ended_at,x,player1,player2,result\n1,2026-11-25,2,ann,bob,1-0\n"

    assert imported(text, columns={"game_id": "#3"}).events[0]["game_id"] == "2"


def test_a_column_of_a_fields_name_can_be_left_alone() -> None:
    text = "ended_at,rated,player1,player2,result\n2026-11-25,1650,ann,bob,1-0\n"

    assert imported(text, columns={"rated": ""}).report.written == 1
    assert imported(text).lines == [(2, "value")]


def test_a_header_alone_has_no_games() -> None:
    assert imported(HEADER).report.read == 0


def test_ids_made_here_are_the_same_again_and_noted() -> None:
    text = "ended_at,player1,player2,result\n2026-11-25,ann,bob,1-0\n2026-11-25,ann,bob,1-0\n"
    first, second = imported(text), imported(text)

    assert first.events == second.events
    assert [event["game_id"] for event in first.events] == ["games-2", "games-3"]
    assert first.notes["games without an id; theirs is the file's name and their line"] == (2, 2)
