"""`ladderlog import` on CSV: what it writes is rated, sorted when asked, and reported."""

import gzip
import io
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from imported import imported_by

from streams.cli.imports import import_command
from streams.core.rules import parse_ladders
from streams.files.jsonl import open_lines
from streams.files.progress import progress
from streams.files.rate import RateFiles, rate_lines
from streams.imports import import_csv, import_ratings

HEADER = "game_id,ended_at,player1,player2,result\n"
RULES = parse_ladders({"ladders": {"chess": {"systems": ["fundox"]}}})


def command(*arguments: str | Path, source: bytes | None = None) -> Result:
    return CliRunner().invoke(import_command, [str(argument) for argument in arguments], input=source)


def rated(content: bytes) -> tuple[Any, list[Any]]:
    out = io.BytesIO()
    with progress("rate") as bar:
        report = rate_lines(io.BytesIO(content), RULES, RateFiles(out), bar)
    return report, [orjson.loads(line) for line in out.getvalue().splitlines()]


def test_every_written_line_is_rated() -> None:
    figures = imported_by(
        import_ratings, "player,rating,games\nann,1700,10\n", "figures", {"system": "fundox"}
    )
    games = imported_by(
        import_csv, HEADER + "g1,2026-11-25,ann,bob,1-0\ng2,2026-11-26,ann,bob,½-½\nbad,,,,\n", "games", {}
    )
    report, changes = rated(figures.out.getvalue() + games.out.getvalue())

    assert (report.read, report.rated, report.noted) == (3, 2, 1)
    assert changes[1]["before"] == 1700
    assert [change["game_id"] for change in changes[1:]] == ["g1", "g1", "g2", "g2"]


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
    assert f"{file}, line 3: time: column 'Date': 'never'" in result.output
    assert "3 read: 2 written, 1 left out" in result.output
    with open_lines(str(out)) as lines:
        assert [orjson.loads(line)["game_id"] for line in lines] == ["club-4", "club-2"]
    left = orjson.loads(left_out.read_bytes())
    assert (left["file"], left["line"], left["reason"]) == (str(file), 3, "time")
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
