"""Games as people write them: byes, forfeits, casual games, unknown dates, winners, teams, comments."""

from typing import Any

import pytest
from click.testing import CliRunner
from imported import Imported, imported_by

from streams.cli.imports import import_command
from streams.imports import import_csv, import_pgn

HEAD = "game_id,ended_at,player1,player2,result\n"
ROW = "g,2026-11-25T20:00Z,{},{},{}\n"
PGN = """[Event "{event}"]
[Date "2026.11.25"]
[White "{white}"]
[Black "{black}"]
[Result "{result}"]
{more}

{end}
"""


def pgn(more: str = "", end: str = "1-0", mapping: dict[str, Any] | None = None, **tags: str) -> Imported:
    said = {"event": "Club evening", "white": "ann", "black": "bob", "result": "1-0", **tags}
    return imported_by(import_pgn, PGN.format(**said, more=more, end=end), "club", mapping or {})


def one(first: str = "ann", second: str = "bob", result: str = "1-0", **mapping: Any) -> Imported:
    return imported_by(import_csv, HEAD + ROW.format(first, second, result), "club", mapping)


def rows(text: str, **mapping: Any) -> Imported:
    return imported_by(import_csv, text, "club", mapping)


def passed_over(imported: Imported) -> dict[str, int]:
    assert imported.report.left_out == {}
    return imported.report.passed_over


@pytest.mark.parametrize("name", ["BYE", "bye", "(bye)", "-", " Bye "])
def test_a_bye_is_no_game(name: str) -> None:
    assert passed_over(pgn(black=name)) == {"bye": 1}
    assert passed_over(one(second=name)) == {"bye": 1}


def test_a_player_alone_in_a_row_of_two_has_a_bye() -> None:
    assert passed_over(one(second="")) == {"bye": 1}
    assert passed_over(pgn(black="")) == {"bye": 1}


def test_a_game_that_was_not_played_is_none() -> None:
    assert passed_over(pgn('[Termination "unplayed"]')) == {"unplayed": 1}
    assert passed_over(one(result="postponed")) == {"unplayed": 1}
    assert passed_over(pgn(result="0-0")) == {"unplayed": 1}


@pytest.mark.parametrize(
    ("forfeits", "rated", "written"), [("unrated", False, 1), ("rated", None, 1), ("skip", None, 0)]
)
def test_forfeits_are_taken_as_one_says(forfeits: str, *, rated: bool | None, written: int) -> None:
    for found in (
        pgn('[Termination "forfeit"]', mapping={"forfeits": forfeits}),
        pgn(result="+/-", mapping={"forfeits": forfeits}),
        one(result="+/-", forfeits=forfeits),
    ):
        assert found.report.written == written
        assert [game.get("rated") for game in found.events] == [rated] * written
        assert found.report.passed_over == ({} if written else {"forfeit": 1})
        assert any("forfeit" in note for note in found.report.notes) == bool(written)


def test_a_loss_on_time_is_no_forfeit() -> None:
    assert "rated" not in pgn('[Termination "time forfeit"]').events[0]


@pytest.mark.parametrize(
    ("event", "rated"),
    [
        ("Casual game", False),
        ("Unrated game", False),
        ("FICS unrated blitz game", False),
        ("FICS rated standard game", True),
        ("Rated Chess960 tournament x", True),
        ("Open, unrated section", False),
        ("Casual Chess Club Championship", None),
        ("Club evening", None),
    ],
)
def test_an_event_says_whether_it_is_rated(event: str, *, rated: bool | None) -> None:
    assert pgn(event=event).events[0].get("rated") == rated


@pytest.mark.parametrize(
    ("tag", "rated"), [('[Rated "no"]', False), ('[Mode "casual"]', False), ('[Mode "OTB"]', None)]
)
def test_a_tag_says_whether_it_is_rated(tag: str, *, rated: bool | None) -> None:
    assert pgn(tag).events[0].get("rated") == rated


@pytest.mark.parametrize(
    ("word", "rated"), [("friendly", False), ("Ranked", True), ("exhibition", False), ("y", True)]
)
def test_a_column_says_whether_it_is_rated(word: str, *, rated: bool) -> None:
    found = rows(f"{HEAD[:-1]},rated\n{ROW[:-1].format('ann', 'bob', '1-0')},{word}\n")

    assert found.events[0]["rated"] is rated


def test_who_imports_may_say_otherwise() -> None:
    assert pgn(event="Casual game", mapping={"rated": True}).events[0]["rated"] is True
    assert one(rated=False).events[0]["rated"] is False


def test_the_moves_end_with_the_result_where_no_tag_says_it() -> None:
    text = PGN.replace('[Result "{result}"]\n', "").format(
        event="x", white="ann", black="bob", more="", end="1. e4 e5 1/2-1/2"
    )
    found = imported_by(import_pgn, text, "club", {})

    assert [player["points"] for player in found.events[0]["players"]] == [0.5, 0.5]
    assert found.notes["games without a Result tag"] == (1, 1)


def test_what_a_result_means_can_be_said_for_both_formats() -> None:
    values = {"result": {"W": "1-0"}}

    assert pgn(result="W", mapping={"values": values}).events == pgn().events
    assert one(result="W", values=values).events == one().events


@pytest.mark.parametrize(
    ("which", "ended_at"),
    [
        ("start", ["1997-05-01T00:00:00Z", "1997-05-01T00:00:01Z"]),
        ("end", ["1997-05-31T00:00:00Z", "1997-05-31T00:00:01Z"]),
    ],
)
def test_dates_with_unknown_parts_are_taken_as_one_says_in_the_order_of_the_file(
    which: str, ended_at: list[str]
) -> None:
    game = PGN.replace("2026.11.25", "1997.05.??").format(
        event="x", white="ann", black="bob", result="1-0", more="", end="1-0"
    )
    chess = imported_by(import_pgn, game * 2, "club", {"partial_dates": which})
    table = rows(
        HEAD
        + ROW.replace("2026-11-25T20:00Z", "1997-05").format("ann", "bob", "1-0")
        + "h,1997-05-??,ann,bob,1-0\n",
        partial_dates=which,
    )

    assert [game["ended_at"] for game in chess.events] == ended_at
    assert [game["ended_at"] for game in table.events] == ended_at


def test_dates_with_unknown_parts_are_left_out_and_named_unless_one_says_so() -> None:
    found = rows(HEAD + "g,1997,ann,bob,1-0\n")

    assert found.lines == [(2, "partial-date")]
    assert "from 1997-01-01 to 1997-12-31; --partial-dates" in found.left_out[0].message


@pytest.mark.parametrize(
    ("event_date", "ended_at"), [("1997.05.12", "1997-05-12T00:00:00Z"), ("1998.05.12", None)]
)
def test_the_date_of_the_event_tells_the_unknown_parts_when_it_lies_within(
    event_date: str, ended_at: str | None
) -> None:
    text = PGN.replace("2026.11.25", "1997.05.??").format(
        event="x", white="ann", black="bob", result="1-0", more=f'[EventDate "{event_date}"]', end="1-0"
    )
    found = imported_by(import_pgn, text, "club", {})

    assert [game["ended_at"] for game in found.events] == ([] if ended_at is None else [ended_at])


def test_a_winner_and_a_loser_are_two_players() -> None:
    found = rows("ended_at,winner,loser,result\n2026-11-25,ann,bob,6-4 7-5\n2026-11-25,bob,ann,W/O\n")

    assert [game["players"] for game in found.events] == [
        [{"player_id": "ann", "points": 2, "rank": 1}, {"player_id": "bob", "points": 0, "rank": 2}],
        [{"player_id": "bob", "rank": 1}, {"player_id": "ann", "rank": 2}],
    ]
    assert [game.get("rated") for game in found.events] == [None, False]


def test_a_winner_with_fewer_points_is_a_mistake() -> None:
    columns = {"winner": "W", "loser": "L", "result": "S"}
    found = rows("ended_at,W,L,S\n2026-11-25,ann,bob,3-6 4-6\n", columns=columns)

    assert found.lines == [(2, "result")]


def test_a_column_names_the_winner_of_two() -> None:
    found = rows("ended_at,player1,player2,winner\n1997-05-01,ann,bob,bob\n1997-05-02,ann,bob,draw\n")

    assert [[player.get("rank") for player in game["players"]] for game in found.events] == [
        [2, 1],
        [None, None],
    ]
    assert [player["points"] for player in found.events[1]["players"]] == [0.5, 0.5]


def test_one_result_is_that_of_two_teams() -> None:
    columns = {"player1": "A", "player2": "B", "player3": "C", "player4": "D", "result": "S"}
    found = rows("ended_at,A,B,C,D,S\n2026-11-25,Ann,Bob,Cyd,Dan,10-8\n", columns=columns)

    assert [(p["player_id"], p["team"], p["points"]) for p in found.events[0]["players"]] == [
        ("Ann", "1", 10),
        ("Bob", "1", 10),
        ("Cyd", "2", 8),
        ("Dan", "2", 8),
    ]
    assert found.notes["games of two teams"] == (1, 2)


def test_rows_between_the_players_can_be_left_aside() -> None:
    text = (
        "game_id,ended_at,player,points,kind\ng,2026-11-25,Red,3,team\ng,2026-11-25,ann,2,player\n"
        "g,2026-11-25,bob,1,player\n"
    )

    for mapping in ({"skip": {"kind": "team"}}, {"only": {"kind": "player"}}):
        found = rows(text, **mapping)
        assert [player["player_id"] for player in found.events[0]["players"]] == ["ann", "bob"]
        assert passed_over(found) == {"skipped": 1}


def test_games_of_pgn_are_chosen_by_their_tags() -> None:
    assert passed_over(pgn(mapping={"skip": {"Event": "Club evening"}})) == {"skipped": 1}
    assert pgn(mapping={"only": {"Event": "Club evening"}}).report.written == 1


def test_what_a_cell_means_may_depend_on_the_seat() -> None:
    text = "ended_at,player1,rank1,player2,rank2\n2026-11-25,ann,x,bob,x\n"
    found = rows(text, values={"rank1": {"x": "1"}, "rank2": {"x": "2"}})

    assert [player["rank"] for player in found.events[0]["players"]] == [1, 2]


def test_lines_of_comment_are_none_of_the_table() -> None:
    text = (
        "# our club\nended_at,player1,player2,result\n# round 1\n2026-11-25,ann,bob,1-0\n"
        "2026-11-25,#bob,ann,oops\n"
    )
    found = rows(text, comment="#")

    assert [game["game_id"] for game in found.events] == ["club-4"]
    assert found.lines == [(5, "result")]


def test_what_no_column_says_can_be_set() -> None:
    found = rows("player1,player2,result\nann,bob,1-0\n", set={"ended_at": "2026-11-25", "ladder": "go"})

    assert (found.events[0]["ended_at"], found.events[0]["ladder"]) == ("2026-11-25T00:00:00Z", "go")


def test_a_column_called_like_a_field_breaks_no_mapping_that_names_others() -> None:
    columns = {"player1": "home", "player2": "away", "points1": "hg", "points2": "ag", "ended_at": "date"}
    found = rows(
        "date,home,away,hg,ag,result,rank,winner\n2026-11-25,ann,bob,3,1,H,7,home\n", columns=columns
    )

    assert found.events[0]["players"] == [
        {"player_id": "ann", "points": 3},
        {"player_id": "bob", "points": 1},
    ]


def test_a_game_without_a_result_is_written_when_it_is_asked_for() -> None:
    text = "ended_at,player1,player2\n2026-11-25,ann,bob\n"

    assert rows(text).lines == [(2, "no-result")]
    assert rows(text, without_result="keep").report.written == 1


def test_notes_count_what_was_written() -> None:
    found = rows(HEAD + "g,2026-11-25 20:00,ann,bob,1-0\nh,2026-11-25 21:00,ann,bob,oops\n")

    assert found.notes["times without a UTC offset"] == (1, 2)


def test_people_who_are_written_in_several_ways_are_named() -> None:
    zoe = ("Zo\u00e9", "Zoe\u0301")
    text = HEAD + "".join(
        f"g{number},2026-11-25,{first},{second},1-0\n"
        for number, (first, second) in enumerate([("Ann", "ann"), zoe, ("1012", "1012.0"), ("bob", "cyd")])
    )

    notes = list(rows(text).report.notes)

    assert any(note.startswith("people who seem to be written in several ways: 3;") for note in notes)
    assert "  'Ann' and 'ann'" in notes
    assert "  'Zoé' and 'Zoe\\u0301'" in notes
    assert "  '1012' and '1012.0'" in notes


def test_names_are_changed_as_one_says() -> None:
    found = rows(
        HEAD + ROW.format("Zoe\u0301  X", "BOB", "1-0"),
        trim=True,
        nfc=True,
        casefold=True,
        aliases={"Bob": "robert"},
    )

    assert [player["player_id"] for player in found.events[0]["players"]] == ["zoé x", "robert"]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"columns": {"player1": "White"}}, "columns.player1: PGN has tags"),
        ({"values": {"rank": {"a": "1"}}}, "values.rank: in PGN only result and rated"),
        ({"set": {"rated": "no"}}, "set.rated: in PGN only ladder and game_type"),
        ({"comment": "#"}, "comment: PGN has comments"),
    ],
)
def test_what_pgn_cannot_follow_is_refused(mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        pgn(mapping=mapping)


def test_the_options_of_the_command(tmp_path: Any) -> None:
    aliases = tmp_path / "aliases.csv"
    aliases.write_text("Bobby,bob\n")
    games = tmp_path / "games.csv"
    games.write_text(
        "# x\nDay,A,B,R,Kind\n1997,Ann,Bobby,+/-,game\n1997,Ann,bye,1-0,game\n1997,x,y,1-0,team\n"
    )
    options = (
        "--map ended_at=Day --map player1=A --map player2=B --map result=R --set ladder=go --comment # "
        "--skip Kind=team --forfeits rated --partial-dates end --casefold --rated yes"
    )

    run = CliRunner().invoke(import_command, [*options.split(), "--aliases", str(aliases), str(games)])

    assert run.exit_code == 0, run.output
    assert run.stdout == (
        '{"game_id":"games-3","ladder":"go","ended_at":"1997-12-31T00:00:00Z","rated":true,"players":['
        '{"player_id":"ann","points":1.0},{"player_id":"bob","points":0.0}]}\n'
    )
    assert "3 read: 1 written, 2 passed over, 0 left out" in run.stderr


def test_times_that_cannot_be_are_warned_of(tmp_path: Any) -> None:
    games = tmp_path / "games.csv"
    games.write_text(f"{HEAD}g,1764100000,ann,bob,1-0\n")

    wrong = CliRunner().invoke(import_command, ["--ladder", "go", "--time-format", "unix-ms", str(games)])

    assert "games of the year 1970; is the format of the times right" in wrong.stderr
