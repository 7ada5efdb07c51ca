"""What is told of a file that nobody has said how to read."""

import re
import shlex
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from streams.cli.imports import import_command
from streams.imports.field_names import fields_of, fields_of_paths
from streams.imports.time_guess import TimeGuess, guess_times

CHESS = "Nr;Datum;Weiß;Schwarz;Ergebnis\n1;24.11.2026 20:15;Ann;Bob;1-0\n2;25.11.2026 19:00;Bob;Ann;½-½\n"
TALL = (
    "game,date,player,place\n1,2026-11-25,ann,1\n1,2026-11-25,bob,2\n2,2026-11-26,ann,2\n2,2026-11-26,bob,1\n"
)
BARE = "03/04/2026,ann,bob,1-0\n05/04/2026,bob,ann,0-1\n"
SCORES = "Kickoff,Date,Home,Away,Home Goals,Away Goals\n20:00,2026-11-25,Reds,Blues,2,1\n"
WORDS = "date,white,black,result\n2026-11-25,ann,bob,White\n2026-11-26,bob,ann,draw\n"
JSON = '[{"at": 1764100800, "white": {"name": "ann"}, "black": {"name": "bob"}, "result": "1-0"}]'
NESTED = """[{"date": "2026-11-25", "score": {"home": 1, "away": 2}, "home": {"name": "ann"},
 "away": {"name": "bob"}}]"""
FLAGS = """[{"date": "2026-11-25", "players": [{"name": "ann", "score": 5, "winner": false},
 {"name": "bob", "score": 3, "winner": true}]}]"""
PGN = '[Event "x"]\n[White "ann"]\n[Black "bob"]\n[Result "1-0"]\n[Date "2026.11.25"]\n\n1-0\n'


def asked(*arguments: str) -> Result:
    return CliRunner().invoke(import_command, list(arguments))


def suggested(said: str) -> list[str]:
    """Return the arguments of the command that is suggested."""
    (text,) = re.findall(r"would import it:\n\n((?:  .*\n)+)", said)
    words = shlex.split(text.replace("\\\n", " "))
    assert words[:2] == ["ladderlog", "import"]
    return words[2:]


@pytest.mark.parametrize(
    ("name", "text", "games"),
    [
        ("league.csv", CHESS, 2),
        ("tall.csv", TALL, 2),
        ("bare.csv", BARE, 2),
        ("scores.csv", SCORES, 1),
        ("words.csv", WORDS, 2),
        ("games.json", JSON, 1),
        ("flags.json", FLAGS, 1),
        ("nested.json", NESTED, 1),
        ("games.txt", PGN, 1),
        ("games.dat", JSON, 1),
        ("games.pgn", PGN, 1),
    ],
)
def test_the_suggested_command_imports_the_file(
    name: str, text: str, games: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    first = asked(name)
    then = asked(*suggested(first.stderr))

    assert (first.exit_code, first.stdout) == (1, "")
    assert then.exit_code == 0, then.stderr
    assert len(then.stdout.splitlines()) == games


def test_what_is_given_stays_in_the_suggestion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a b.csv").write_text(CHESS, encoding="utf-8")
    words = suggested(asked("--ladder", "chess", "--timezone", "Europe/Berlin", "a b.csv").stderr)

    assert words[0] == "a b.csv"
    assert words[words.index("--ladder") + 1] == "chess"
    assert words[words.index("--timezone") + 1] == "Europe/Berlin"


def test_days_that_could_be_months_are_named(tmp_path: Path) -> None:
    file = tmp_path / "bare.csv"
    file.write_text(BARE, encoding="utf-8")
    said = asked(str(file)).stderr

    assert "the dates could be %d/%m/%Y or %m/%d/%Y, for no day in them is beyond 12" in said
    assert "the first line is taken for a game" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("date,white,black,result\n", "there are no games in it"),
        ("[]", "there are no games in it"),
        ("colour,size\nred,5\n", "no columns are recognised as the players"),
        ("white,black,result\nann,bob,1-0\n", "no column is recognised as a date"),
        ("date,white,black,result\n2026-11-25,ann,bob,purple\n", "none could be read"),
    ],
)
def test_a_file_of_which_nothing_can_be_told_is_said_to_be_one(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text, encoding="utf-8")
    result = asked(str(file))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "How it could be read cannot be told from the file: " in result.stderr
    assert message in result.stderr


def test_who_has_said_how_is_told_what_is_wrong_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text(CHESS, encoding="utf-8")

    assert "would import it" not in asked("--map", "player1=White", str(file)).stderr


@pytest.mark.parametrize(
    ("texts", "guess"),
    [
        (["2026-11-25 20:15", "2026-11-26"], TimeGuess("iso")),
        (["1764100800", "1764100801.5"], TimeGuess("unix")),
        (["1764100800000"], TimeGuess("unix-ms")),
        (["25/11/2026", "01/02/2026"], TimeGuess("%d/%m/%Y")),
        (["11/25/2026", "01/02/2026"], TimeGuess("%m/%d/%Y")),
        (["01/02/2026"], TimeGuess("%d/%m/%Y", "%m/%d/%Y")),
        (["1.2.26 9:05"], TimeGuess("%d.%m.%y %H:%M", "%m.%d.%y %H:%M")),
        (["25 Nov 2026"], TimeGuess("%d %b %Y")),
        (["20261125"], TimeGuess("iso")),
        (["2026-11-25"] * 9 + ["soon"], TimeGuess("iso")),
        (["soon", "later"], None),
        ([], None),
        (["7", "8"], None),
    ],
)
def test_formats_of_times_are_told_from_them(texts: list[str], guess: TimeGuess | None) -> None:
    assert guess_times(texts) == guess


@given(
    st.dates(date(1800, 1, 1), date(2100, 12, 31)),
    st.sampled_from(("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d")),
)
def test_a_date_is_read_back_as_what_it_was_or_the_other_way_is_named(day: date, form: str) -> None:
    guess = guess_times([day.strftime(form)])

    assert guess is not None
    assert form in {guess.form, guess.other}


def test_columns_are_told_by_their_names_in_several_tongues() -> None:
    assert fields_of(["Nr.", "Datum", "Weiß", "Schwarz", "Ergebnis"]) == {
        "game_id": "Nr.",
        "ended_at": "Datum",
        "player1": "Weiß",
        "player2": "Schwarz",
        "result": "Ergebnis",
    }
    assert fields_of(["Date", "Home Team", "Away Team", "Home Goals", "Away Goals"]).keys() == {
        *("ended_at", "player1", "player2", "points1", "points2")
    }


def test_paths_are_told_by_their_ends() -> None:
    assert fields_of_paths(["id", "date", "sides[].player.name", "sides[].score"]) == {
        "game_id": "id",
        "ended_at": "date",
        "player": "sides[].player.name",
        "result": "sides[].score",
    }
