"""What every command says, compared with golden files: what a user sees does not change unawares.

The golden files are made anew, by all golden tests or by some of them, with

    LADDERLOG_WRITE_GOLDEN=1 python -m pytest tests/golden

Look at `git diff` before committing them (`zstd -dc` shows the packed ones): each difference is one that
users will see. The program is reached through its command line and its topics alone, so that these tests
hold whatever happens inside it.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from club import SIMULATE, club, lines
from transcripts import INPUTS, Command, check, command, run, transcripts

REAL_GAMES = Path(__file__).parents[3] / "shared" / "data"
NO_REAL_GAMES = "the real games are not here: there is no shared/data beside the repository"
REAL_NAMES = ("scrabble", "18xx", "football")
LADDERS = {"LADDERLOG_LADDERS": "ladders.toml"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the inputs, and the club's log as a file."""
    shutil.copytree(INPUTS, tmp_path, dirs_exist_ok=True)
    simulated = run(command(SIMULATE), tmp_path).stdout
    games = [json.loads(line) for line in simulated.splitlines()]
    (tmp_path / "simulated.jsonl").write_bytes(simulated)
    (tmp_path / "club.jsonl").write_bytes(lines(club(games)))
    return tmp_path


def test_the_help_of_every_command(tmp_path: Path) -> None:
    overview = run(command("--help"), tmp_path).stdout.decode()
    names = re.findall(r"^  ([a-z]+)  ", overview.partition("Commands:")[2], re.MULTILINE)

    check("help", transcripts(map(command, ["--help", *(f"{name} --help" for name in names)]), tmp_path))


def test_the_games_of_the_made_up_club(tmp_path: Path) -> None:
    asked = [
        command(SIMULATE),
        command("simulate --games 3000 --seed 7", digest=True),
        command("simulate --games 50 --players 5 --start 2024-03-30T12:00:00+01:00", digest=True),
    ]

    check("simulate", transcripts(asked, tmp_path))


def test_ratings_of_a_file(folder: Path) -> None:
    outputs = "--closed closed.jsonl --ignored ignored.jsonl --rejected rejected.jsonl"
    writes = ("closed.jsonl", "ignored.jsonl", "rejected.jsonl")
    asked = [
        command(f"rate --ladders ladders.toml {outputs} club.jsonl", writes=writes),
        command("rate --ladders ladders.toml --tally club.jsonl"),
        command("rate --ladders other.toml --tally simulated.jsonl"),
        command("rate simulated.jsonl", digest=True),
        command("rate -", stdin=b'\n{"game_id": 1}\nnot json\n'),
    ]

    check("rate", transcripts(asked, folder))


def test_ratings_of_a_file_that_several_processes_share(tmp_path: Path) -> None:
    """More than 20,000 games: decoding and writing have processes of their own."""
    simulated = run(command("simulate --games 22000 --seed 7"), tmp_path).stdout
    (tmp_path / "many.jsonl").write_bytes(simulated)
    asked = [
        command("rate --closed c --ignored i many.jsonl", writes=("c", "i"), digest=True),
        command("replay --tables t.jsonl many.jsonl", writes=("t.jsonl",), digest=True),
    ]

    check("rate-many", transcripts(asked, tmp_path))


def test_what_a_table_stands_to_win(folder: Path) -> None:
    at = "--at 2024-01-21T20:00:00+01:00"
    lines = [
        f"--ladder chess --players ann,bob {at}",
        f"--ladder chess --system bga --players ann,bob --rating ann=1800 --games ann=100 {at}",
        f"--ladder tiles --players ann,bob,eve,joe,kim {at}",
        f"--ladder words --system points --players ann,bob --rating ann=1200 --games ann=4 {at}",
        f"--ladder belote --system weekly --team ann,bob --team eve,joe --rating ann=55 {at}",
        f"--ladder rummy --team ann,bob --team eve,joe {at}",
        f"--ladder rummy --players ann,bob,eve,joe {at}",
        "--ladder chess --players ann",
        "--ladder nowhere --players ann,bob",
        "--ladder chess --system points --players ann,bob",
        "--ladder chess --players ann,bob --rating ann=1800",
        "--ladder chess --system bga --players ann,bob --rating eve=1800",
        "--ladder chess --system bga --players ann,bob --rating ann=high",
        "--ladder words --system closeness --players ann,bob --rating ann=1",
        "--ladder chess --players ann,bob --at tomorrow",
    ]

    check("preview", transcripts([command(f"preview {line}", settings=LADDERS) for line in lines], folder))


def test_why_a_rating_moved(folder: Path) -> None:
    """Two games of every ladder, one with many players, and what cannot be explained."""
    games = [json.loads(line) for line in (folder / "simulated.jsonl").read_text().splitlines()]
    lines = [
        f"--ladder {ladder} --game-id {game_id} --player {player}"
        for ladder, game_id, player in some_of(games)
    ]
    files = "--games simulated.jsonl"
    lines = [f"{files} {line}" for line in lines] + [
        f"{files} {lines[0]} --json",
        f"--games club.jsonl {lines[-1]}",
        f"{files} {lines[0]} --system elo",
        f"{files} --ladder nowhere --game-id 1 --player ann",
        f"{files} --ladder chess --game-id 1 --player ann",
        f"{files} {lines[0].rpartition(' ')[0]} nobody",
        lines[0],
    ]

    check("explain", transcripts([command(f"explain {line}", settings=LADDERS) for line in lines], folder))


def some_of(games: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield ladder, game and first player of the last two rated games of every ladder."""
    for ladder in sorted({game["ladder"] for game in games}):
        for game in [game for game in games if game["ladder"] == ladder and game["rated"]][-2:]:
            yield ladder, game["game_id"], game["players"][0]["player_id"]


def test_replay_and_comparison_of_files(folder: Path) -> None:
    outputs = "--closed closed.jsonl --ignored ignored.jsonl --rejected rejected.jsonl"
    writes = ("closed.jsonl", "ignored.jsonl", "rejected.jsonl")
    asked = [
        Command(("replay", "club.jsonl")),
        command(f"replay --out out.csv.gz {outputs} club.jsonl", writes=("out.csv.gz", *writes)),
        command("replay --tables tables.jsonl club.jsonl", writes=("tables.jsonl",)),
        command("replay --out out.parquet --to 100 club.jsonl", writes=("out.parquet",)),
        command("replay --from 600 --to 640 --assume-empty club.jsonl simulated.jsonl"),
        command("replay --from 600 club.jsonl"),
        command("replay --partition 1 club.jsonl"),
        command("replay --from 2024-01-21T12:00:00Z club.jsonl"),
        command("replay --from noon club.jsonl"),
        command("replay --out out.xls club.jsonl"),
        command("replay"),
        command("compare --with other.toml --top 4 --html page.html club.jsonl", writes=("page.html",)),
        command("compare --with other.toml -", stdin=b"{}"),
    ]

    check("replay-files", transcripts([replace(one, settings=LADDERS) for one in asked], folder))


def test_tables_of_a_history(folder: Path) -> None:
    history = run(command("rate simulated.jsonl"), folder).stdout.splitlines(keepends=True)[:300]
    (folder / "history.jsonl").write_bytes(b"".join(history))
    (folder / "odd.jsonl").write_bytes(
        b"".join([*history[:2], b"{\n", b'{"ladder": "chess"}\n', b"\n", history[3]])
    )
    asked = [
        command("export history.jsonl --out out.csv", writes=("out.csv",)),
        command("export history.jsonl --out out.csv.zst", writes=("out.csv.zst",), digest=True),
        command("export history.jsonl --out out.parquet", writes=("out.parquet",)),
        command("export --out - --format csv -", stdin=history[0]),
        command("export odd.jsonl --out odd.csv", writes=("odd.csv",)),
        command("export history.jsonl --out out.xls"),
        command("export history.jsonl --out nowhere/out.csv"),
        command("export missing.jsonl --out out.csv"),
    ]

    check("export", transcripts(asked, folder))


def test_games_and_figures_of_others(folder: Path) -> None:
    mapping = (
        "--map game_id=ID --map ended_at=Date --map player1=White --map player2=Black --map result=Result"
    )
    club = f"import club.csv --ladder chess --timezone Europe/Paris --time-format '%d/%m/%Y %H:%M' {mapping}"
    asked = [
        command(
            f"{club} --sort --out sorted.jsonl --left-out left.jsonl", writes=("sorted.jsonl", "left.jsonl")
        ),
        command(f"{club} --keep-going"),
        command("import points.csv"),
        command("import points.csv --decimal , --time-format iso --time-format unix"),
        command("import club.pgn --ladder chess --sort --game-type blitz --keep-going"),
        command("import --ratings figures.csv --ladder chess --system fundox"),
        command("import club.csv"),
        command("import club.csv --map ID"),
        command("import club.csv --map colour=ID"),
        command("import missing.csv"),
    ]

    check("import", transcripts(asked, folder))


def test_mistakes_and_what_is_said_of_them(folder: Path) -> None:
    bad_ladders = {
        "not-toml": "[ladders",
        "empty": "",
        "unknown-system": '[ladders.chess]\nsystems = ["elo"]\n',
        "unknown-key": '[ladders.chess]\nsystems = ["fundox"]\ncolour = 1\n',
        "unknown-parameter": '[ladders.chess]\nsystems = ["fundox"]\nfundox = { speed = 1 }\n',
        "wrong-number": '[ladders.chess]\nsystems = ["fundox"]\nfundox = { scale = 0 }\n',
        "wrong-span": '[ladders.chess]\nsystems = ["weekly"]\nweekly = { grace = "1 day" }\n',
        "wrong-zone": '[ladders.chess]\nsystems = ["weekly"]\ntimezone = "Europe/Atlantis"\n',
        "wrong-name": '[ladders."a/b"]\nsystems = ["weekly"]\n',
    }
    for name, text in bad_ladders.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    (folder / "cut.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfdnothing")
    (folder / "cut.jsonl.gz").write_bytes(b"nothing")
    lines = [
        *(f"rate --ladders {name}.toml club.jsonl" for name in bad_ladders),
        *("rate --ladders missing.toml club.jsonl", "rate missing.jsonl", "rate", "rate --speed x"),
        *("rate cut.jsonl.gz", "rate cut.jsonl.zst", "dance"),
        *("simulate --games -1", "simulate --start noon"),
        *("status", "topics --partitions 0", "produce"),
        *("void --bootstrap-servers x:1 --ladder chess --reason r", "run --games missing"),
        *("worker --loglevel loud --bootstrap-servers x:1", "audit --limit -1", "replay --processes 0"),
        "week --bootstrap-servers x:1 --ladders ladders.toml --ladder chess",
        "week --bootstrap-servers x:1 --ladders ladders.toml --ladder belote --week now",
        "ranking --bootstrap-servers x:1 --ladders ladders.toml --ladder nowhere",
    ]

    check("mistakes", transcripts(map(command, lines), folder))


@pytest.mark.skipif(not REAL_GAMES.is_dir(), reason=NO_REAL_GAMES)
@pytest.mark.parametrize("name", REAL_NAMES)
def test_ratings_of_real_games(name: str, tmp_path: Path) -> None:
    shutil.copy(REAL_GAMES / f"{name}.jsonl", tmp_path)
    (tmp_path / "ladders.toml").write_text(real_ladders(name), encoding="utf-8")
    (tmp_path / "other.toml").write_text(
        real_ladders(name) + f'\n[ladders."{name}".fundox]\nstake = 40\n', encoding="utf-8"
    )
    outputs = "--closed closed.jsonl --ignored ignored.jsonl --rejected rejected.jsonl"
    writes = ("closed.jsonl", "ignored.jsonl", "rejected.jsonl")
    lines = [
        (f"rate {outputs} {name}.jsonl", writes),
        (f"rate --tally {name}.jsonl", ()),
        (f"replay --out out.csv --tables tables.jsonl {name}.jsonl", ("out.csv", "tables.jsonl")),
        (f"compare --with other.toml {name}.jsonl", ()),
    ]
    asked = [command(line, writes=names, digest=True, settings=LADDERS) for line, names in lines]

    check(f"real-{name}", transcripts(asked, tmp_path))


def real_ladders(*names: str) -> str:
    """Return a ladder file in which every ladder has every system."""
    systems = '["fundox", "points", "closeness", "bga", "weekly"]'
    return "\n".join(f'[ladders."{name}"]\nsystems = {systems}\ntimezone = "Europe/Paris"' for name in names)
