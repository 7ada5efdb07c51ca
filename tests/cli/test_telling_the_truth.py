"""Exit statuses, messages and output files of commands without a broker: they say what happened."""

import gzip
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import orjson
import pytest
import zstandard
from click.testing import CliRunner, Result
from project import PROJECT

from streams.cli.main import cli

LADDERS = '[ladders.chess]\nsystems = ["fundox", "bga"]\n'
GAME = (
    b'{"game_id": "%d", "ladder": "chess", "ended_at": "2026-11-24T20:00:00z", '
    b'"players": [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}]}\n'
)
SERVERS = ("--bootstrap-servers", "127.0.0.1:1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a ladder file."""
    (tmp_path / "ladders.toml").write_text(LADDERS)
    return tmp_path


def ladderlog(folder: Path, *arguments: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, list(arguments), env={"LADDERLOG_LADDERS": str(folder / "ladders.toml")})


def rate(folder: Path, content: bytes, *options: str) -> Result:
    (folder / "games.jsonl").write_bytes(content)
    return ladderlog(folder, "rate", *options, str(folder / "games.jsonl"))


def test_rate_ends_with_status_1_and_names_the_lines_that_were_rejected(folder: Path) -> None:
    bad = rate(folder, GAME % 1 + b"oops\n" + GAME % 2)

    assert bad.exit_code == 1
    assert "line 2: the value is not JSON" in bad.stderr
    assert "2 rated, 0 ignored, 1 rejected" in bad.stderr


def test_rate_names_the_first_twenty_lines_and_where_all_can_be_had(folder: Path) -> None:
    bad = rate(folder, b"oops\n" * 25)

    assert len(re.findall(r"^line \d+:", bad.stderr, re.MULTILINE)) == 20
    assert "and 5 more; --rejected FILE has them all" in bad.stderr


def test_rate_keeps_going_when_it_is_told_to(folder: Path) -> None:
    kept = rate(folder, b"oops\n" + GAME % 1, "--keep-going")

    assert kept.exit_code == 0
    assert "line 1" in kept.stderr


def test_rate_ends_with_status_0_when_nothing_was_rejected(folder: Path) -> None:
    assert rate(folder, GAME % 1).exit_code == 0


def test_outputs_that_are_asked_for_are_written_anew_though_empty(folder: Path) -> None:
    names = ("closed", "ignored", "rejected")
    for name in names:
        (folder / name).write_text("of another run\n")
    rate(folder, GAME % 1, *(option for name in names for option in (f"--{name}", str(folder / name))))

    assert [(folder / name).read_bytes() for name in names] == [b"", b"", b""]


def test_outputs_of_a_replay_and_an_import_are_written_anew_though_empty(folder: Path) -> None:
    for name in ("closed", "tables", "out.jsonl", "left"):
        (folder / name).write_text("of another run\n")
    (folder / "none.jsonl").write_bytes(b"")
    (folder / "none.csv").write_text("game_id,ended_at,player1,player2,result\n")
    files = [f"--closed={folder / 'closed'}", f"--tables={folder / 'tables'}"]
    replayed = ladderlog(folder, "replay", *files, str(folder / "none.jsonl"))
    outputs = [f"--out={folder / 'out.jsonl'}", f"--left-out={folder / 'left'}", "--ladder=chess"]
    imported = ladderlog(folder, "import", *outputs, str(folder / "none.csv"))

    assert (replayed.exit_code, imported.exit_code) == (0, 0), replayed.output + imported.output
    assert [(folder / name).read_bytes() for name in ("closed", "tables", "out.jsonl", "left")] == [b""] * 4


def test_an_unknown_system_is_an_error_that_names_those_there_are(folder: Path) -> None:
    result = ladderlog(folder, "preview", "--ladder", "chess", "--system", "elo", "--players", "ann,bob")

    assert result.exit_code == 2
    assert "'elo' is not a system of chess; there are fundox, bga" in result.stderr


def test_an_import_for_an_unknown_system_names_those_there_are(folder: Path) -> None:
    (folder / "figures.csv").write_text("player,rating,games\nann,1500,3\n")
    result = ladderlog(folder, "import", "--ratings", "--system", "elo", str(folder / "figures.csv"))

    assert result.exit_code == 2
    assert "'fundox'" in result.stderr


@pytest.mark.parametrize("asked", ["status", "worker", "topics", "audit", "rebuild"])
def test_a_missing_option_names_its_variable(folder: Path, asked: str) -> None:
    result = ladderlog(folder, asked)

    assert result.exit_code == 2
    assert "LADDERLOG_BOOTSTRAP_SERVERS" in result.stderr


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """Run a command whose standard error is a terminal, and return what it shows there."""
    shown, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 120))
    process = subprocess.Popen(
        [sys.executable, "-m", "streams", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "LADDERLOG_LADDERS": str(folder / "ladders.toml")},
        stdout=subprocess.DEVNULL,
        stderr=terminal,
    )
    os.close(terminal)
    text = b""
    while True:
        try:
            piece = os.read(shown, 65536)
        except OSError:  # how a terminal ends when nobody has it open any more
            break
        if not piece:
            break
        text += piece
    os.close(shown)

    assert process.wait() == 0, text

    return text.decode(errors="replace")


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("games", [300, 21_000])
def test_rate_shows_how_much_of_the_file_is_read_on_a_terminal(folder: Path, ending: str, games: int) -> None:
    content = b"".join(GAME % number for number in range(games))
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[ending]
    (folder / f"games.jsonl{ending}").write_bytes(pack(content))
    shown = on_a_terminal(folder, "rate", f"games.jsonl{ending}")

    assert re.search(r"100%\|", shown) is not None
    assert f"{games:,} games" in shown


def test_import_shows_how_much_of_the_file_is_read_on_a_terminal(folder: Path) -> None:
    rows = "".join(f"{number},2026-11-24T20:00:00Z,ann,bob,1-0\n" for number in range(2_500))
    (folder / "club.csv").write_text("game_id,ended_at,player1,player2,result\n" + rows)
    shown = on_a_terminal(folder, "import", "--ladder", "chess", "--out", "games.jsonl", "club.csv")

    assert re.search(r"100%\|", shown) is not None
    assert "2,500 records" in shown


def test_a_preview_as_json_has_the_documented_shape(folder: Path) -> None:
    result = ladderlog(folder, "preview", "--ladder", "chess", "--players", "ann,bob", "--json")
    document = orjson.loads(result.stdout)

    assert result.exit_code == 0
    assert list(document) == ["ladder", "rated", "prospects"]
    assert [prospect["system"] for prospect in document["prospects"]] == ["fundox"] * 2 + ["bga"] * 2
