"""CSV into events: shapes, times, results, and every mistake named by its line."""

import gzip
import io
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli.imports import import_command
from streams.core.rules import parse_ladders
from streams.files.jsonl import open_lines
from streams.files.progress import progress
from streams.files.rate import RateFiles, rate_lines
from streams.imports import (
    FileReport,
    LeftOut,
    MappingError,
    SortedLines,
    import_csv,
    import_ratings,
    parse_mapping,
)

RULES = parse_ladders({"ladders": {"chess": {"systems": ["fundox"]}}})


class Imported:
    """What came out of an import: events, what was left out, and the notes."""

    def __init__(self) -> None:
        self.out = io.BytesIO()
        self.left_out: list[LeftOut] = []
        self.report = FileReport(self.left_out.append)

    @property
    def events(self) -> list[Any]:
        """Give what was written."""
        return [orjson.loads(line) for line in self.out.getvalue().splitlines()]

    @property
    def lines(self) -> list[tuple[int, str]]:
        """Give line and reason of what was left out."""
        return [(left_out.line, left_out.reason) for left_out in self.left_out]

    @property
    def notes(self) -> dict[str, tuple[int, int | None]]:
        """Give how often something was noted, and where first."""
        return {text.split(",")[0]: (note.count, note.line) for text, note in self.report.notes.items()}


class _NoProgress:
    def update(self, count: int) -> None:
        """Show nothing."""


def imported(text: str | bytes, *, ratings: bool = False, name: str = "games", **mapping: Any) -> Imported:
    """Import a file's text; the ladder need not be given."""
    content = text.encode() if isinstance(text, str) else text
    found = Imported()
    document = parse_mapping({"ladder": "chess", **mapping})
    if ratings:
        import_ratings(io.BytesIO(content), document, found.out, _NoProgress(), found.report)
    else:
        import_csv(io.BytesIO(content), document, found.out, _NoProgress(), found.report, name=name)
    assert found.report.read == found.report.written + found.report.left_out_total
    assert found.report.left_out_total == len(found.left_out)
    return found


def two(ended_at: str, **mapping: Any) -> Imported:
    """Import one game of ann and bob that ended then."""
    return imported(f"game_id,ended_at,player1,player2,result\ng,{ended_at},ann,bob,1-0\n", **mapping)


def command(*arguments: str | Path, source: bytes | None = None) -> Result:
    return CliRunner().invoke(import_command, [str(argument) for argument in arguments], input=source)


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


@pytest.mark.parametrize(
    ("local", "utc", "note"),
    [
        # Paris, spring: 02:00 to 03:00 of 29 March does not exist.
        ("2026-03-29 01:59:59", "2026-03-29T00:59:59Z", None),
        ("2026-03-29 02:00", "2026-03-29T01:00:00Z", "skips"),
        ("2026-03-29 02:30", "2026-03-29T01:30:00Z", "skips"),
        ("2026-03-29 03:00", "2026-03-29T01:00:00Z", None),
        # Paris, autumn: 02:00 to 03:00 of 25 October is there twice.
        ("2026-10-25 01:59", "2026-10-24T23:59:00Z", None),
        ("2026-10-25 02:00", "2026-10-25T00:00:00Z", "repeats"),
        ("2026-10-25 02:59", "2026-10-25T00:59:00Z", "repeats"),
        ("2026-10-25 03:00", "2026-10-25T02:00:00Z", None),
        # With an offset nothing is ambiguous.
        ("2026-10-25 02:30+01:00", "2026-10-25T01:30:00Z", None),
        ("2026-11-25", "2026-11-24T23:00:00Z", "dates"),
        ("1890-01-01 00:00", "1889-12-31T23:50:39Z", None),
    ],
)
def test_local_times(local: str, utc: str, note: str | None) -> None:
    found = two(local, timezone="Europe/Paris")

    assert found.events[0]["ended_at"] == utc
    remarks = [text for text in found.report.notes if "change of clocks" in text or "dates" in text]
    assert len(remarks) == (note is not None)
    assert note is None or note in remarks[0]


def test_a_clock_change_of_half_an_hour() -> None:
    assert (
        two("2026-04-05 01:45", timezone="Australia/Lord_Howe").events[0]["ended_at"]
        == "2026-04-04T14:45:00Z"
    )
    assert (
        two("2026-10-04 02:15", timezone="Australia/Lord_Howe").events[0]["ended_at"]
        == "2026-10-03T15:45:00Z"
    )


@pytest.mark.parametrize(
    ("text", "formats", "utc"),
    [
        ("1764100800", "unix", "2025-11-25T20:00:00Z"),
        ("1.7641008E+12", "unix-ms", "2025-11-25T20:00:00Z"),
        ("25.11.2025", ["iso", "%d.%m.%Y"], "2025-11-25T00:00:00Z"),
        ("2025-11-25T20:00Z", ["iso", "%d.%m.%Y"], "2025-11-25T20:00:00Z"),
        ("Nov 25 2025 8:00PM -0500", "%b %d %Y %I:%M%p %z", "2025-11-26T01:00:00Z"),
    ],
)
def test_formats_of_times(text: str, formats: Any, utc: str) -> None:
    assert two(text, time_format=formats).events[0]["ended_at"] == utc


@pytest.mark.parametrize(
    "text", ["25/11/2026", "tomorrow", "2026-02-30", "2026-11-25T20:00:60Z", "0001-01-01"]
)
def test_what_is_no_time_names_line_column_and_value(text: str) -> None:
    found = two(text, timezone="Asia/Tokyo")

    assert found.lines == [(2, "time")]
    assert found.left_out[0].message.startswith(f"column 'ended_at': {text!r}")


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


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("utf-8", "\ufeffended_at,player1,player2,result\n2026-11-25,Zoé,bob,1-0\n".encode()),
        ("cp1252", "ended_at,player1,player2,result\n2026-11-25,Zoé,bob,1-0\n".encode("cp1252")),
        ("utf-16", "ended_at,player1,player2,result\n2026-11-25,Zoé,bob,1-0\n".encode("utf-16")),
    ],
)
def test_encodings(encoding: str, content: bytes) -> None:
    assert imported(content, encoding=encoding).events[0]["players"][0]["player_id"] == "Zoé"


def test_bytes_that_are_not_in_the_encoding_are_the_mistake_of_their_line() -> None:
    found = imported(
        "ended_at,player1,player2,x\n2026-11-25,Zoé,bob,\n2026-11-25,ann,bob,é\n".encode("latin-1")
    )

    assert found.lines == [(2, "encoding")]
    assert "column 'player1'" in found.left_out[0].message
    assert "--encoding" in found.left_out[0].message
    assert found.report.written == 1


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_told_from_the_first_line(delimiter: str) -> None:
    text = "ended_at,player1,points1,player2,points2\n2026-11-25,ann,3,bob,2\n".replace(",", delimiter)

    assert imported(text).report.written == 1
    assert imported(f"sep={delimiter}\n{text}", name="s").events[0]["game_id"] == "s-3"


def test_decimal_commas() -> None:
    text = "ended_at;player1;points1;player2;points2\n2026-11-25;ann;3,5;bob;2\n2026-11-25;ann;1.000;bob;2\n"
    found = imported(text, decimal=",")

    assert found.events[0]["players"][0]["points"] == 3.5
    assert found.lines == [(3, "number")]


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
        (HEADER, {"columns": {"points1": "result"}}, "it gives the points"),
        (HEADER, {"columns": {"player3": "game_id"}}, "columns.result"),
        (HEADER, {"values": {"winner": {"a": "b"}}}, "values.winner: no such field"),
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


def test_starting_figures() -> None:
    text = "Name,Elo,games,week\nann,1650.5,20,\nbob,1700,12.0,2026-W48\n"
    text += "cid,,3,\ndan,1,x,\neve,1,1,48\nann,1,1,\nfay,9e9,1,\n"
    found = imported(text, ratings=True, system="fundox", columns={"player": "Name", "rating": "Elo"})

    assert found.events == [
        {
            "type": "rating-imported",
            "ladder": "chess",
            "system": "fundox",
            "player_id": "ann",
            "rating": 1650.5,
            "games": 20,
        },
        {
            "type": "rating-imported",
            "ladder": "chess",
            "system": "fundox",
            "player_id": "bob",
            "rating": 1700.0,
            "games": 12,
            "week": "2026-W48",
        },
    ]
    assert found.lines == [(4, "missing"), (5, "number"), (6, "schema"), (7, "twice"), (8, "schema")]


def test_starting_figures_need_a_system() -> None:
    with pytest.raises(MappingError, match="system: neither given"):
        imported("player,rating,games\n", ratings=True)


def rated(content: bytes) -> tuple[Any, list[Any]]:
    out = io.BytesIO()
    with progress("rate") as bar:
        report = rate_lines(io.BytesIO(content), RULES, RateFiles(out), bar)
    return report, [orjson.loads(line) for line in out.getvalue().splitlines()]


def test_every_written_line_is_rated() -> None:
    figures = imported("player,rating,games\nann,1700,10\n", ratings=True, system="fundox")
    games = imported(HEADER + "g1,2026-11-25,ann,bob,1-0\ng2,2026-11-26,ann,bob,½-½\nbad,,,,\n")
    report, changes = rated(figures.out.getvalue() + games.out.getvalue())

    assert (report.read, report.rated, report.noted) == (3, 2, 1)
    assert changes[1]["before"] == 1700
    assert [change["game_id"] for change in changes[1:]] == ["g1", "g1", "g2", "g2"]


def test_sorted_games_come_by_their_end_and_equal_ones_as_they_came() -> None:
    text = HEADER + "c,2026-11-27,a,b,1-0\na,2026-11-25T00:00:00.5,a,b,1-0\nb,2026-11-26,a,b,1-0\n"
    text += "z,2026-11-25,a,b,1-0\ny,2026-11-25,a,b,1-0\n"
    unsorted, out = imported(text), io.BytesIO()
    lines = SortedLines(out)
    for line in unsorted.out.getvalue().splitlines(keepends=True):
        lines.write(line)
    lines.finish()

    assert [orjson.loads(line)["game_id"] for line in out.getvalue().splitlines()] == [
        "z",
        "y",
        "a",
        "b",
        "c",
    ]
    assert unsorted.notes[
        "games that ended before the game above them; ratings depend on the order (--sort)"
    ] == (2, 3)


def test_the_command_writes_reports_and_fails_when_something_was_left_out(tmp_path: Path) -> None:
    file = tmp_path / "club.csv.gz"
    out = tmp_path / "games.jsonl"
    left_out = tmp_path / "left-out.jsonl"
    with gzip.open(file, "wb") as packed:
        packed.write(
            b"Date,W,B,R\n2026-11-26 20:00,ann,bob,1-0\nnever,ann,bob,1-0\n2026-11-25 20:00,ann,bob,draw\n"
        )
    mapping = tmp_path / "club.toml"
    mapping.write_text(
        'ladder = "go"\n[columns]\nended_at = "Date"\nplayer1 = "X"\n[values.result]\ndraw = "x"\n'
    )
    options = ["--mapping", mapping, "--ladder", "chess", "--map", "player1=W", "--map", "player2=B", "--map"]
    options += ["result=R", "--value", "result:draw=½-½", "--timezone", "Europe/Paris", "--out", out]
    options += ["--left-out", left_out, "--sort", file]
    result = command(*options)

    assert result.exit_code == 1, result.output
    assert "line 3: column 'Date': 'never'" in result.output
    assert "3 read: 2 written, 1 left out" in result.output
    with open_lines(str(out)) as lines:
        assert [orjson.loads(line)["game_id"] for line in lines] == ["club-4", "club-2"]
    assert orjson.loads(left_out.read_bytes())["line"] == 3
    assert command("--keep-going", *options).exit_code == 0


def test_the_command_reads_standard_input() -> None:
    result = command(
        "--ladder", "chess", "-", source=b"ended_at,player1,player2,result\n2026-11-25,a,b,1-0\n"
    )

    assert result.exit_code == 0, result.output
    assert orjson.loads(result.stdout)["game_id"] == "import-2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--map", "player1"], "is not FIELD=COLUMN"),
        (["--value", "result=x"], "is not FIELD:TEXT=MEANING"),
        (["--timezone", "Paris"], "timezone: 'Paris'"),
        ([], "no column for player1"),
    ],
)
def test_mistakes_of_options_are_said_in_a_sentence(tmp_path: Path, options: list[str], message: str) -> None:
    file = tmp_path / "games.csv"
    file.write_text("a,b\n1,2\n")
    result = command(*options, file)

    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


def test_a_damaged_packed_file_is_said_in_a_sentence(tmp_path: Path) -> None:
    damaged = {"cut.csv.gz": gzip.compress(HEADER.encode())[:-20], "a.csv.gz": b"a", "a.csv.zst": b"aaaa"}
    for name, content in damaged.items():
        file = tmp_path / name
        file.write_bytes(content)
        result = command("--ladder", "chess", file)

        assert result.exit_code == 1
        assert "the packed file is damaged" in result.output
