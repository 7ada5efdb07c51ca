"""`ladderlog replay` of files: the events of `rate`, in every format, from and to anywhere, corrected."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from season import LADDER_FILE, Event, events

from streams.cli.replay import replay_command
from streams.core.manifest import Manifest
from streams.files.ladder_file import read_ladders
from streams.files.rate import RateFiles, rate_lines
from streams.replay.positions import parse_position
from streams.replay.snapshot import Header, read_offsets, read_partition, write_snapshot
from streams.runtime.changelog import PartitionState

NOBODY = SimpleNamespace(update=lambda _: None)
GAMES = 1_500


def write_lines(path: Path, lines: list[Event]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a season in one file and in two, and what `rate` makes of it."""
    folder = tmp_path_factory.mktemp("replay")
    (folder / "ladders.toml").write_text(LADDER_FILE)
    season = events(GAMES)
    write_lines(folder / "games.jsonl", season)
    write_lines(folder / "first.jsonl", season[:700])
    write_lines(folder / "second.jsonl", season[700:])
    with (folder / "rated.jsonl").open("wb") as changed, (folder / "rejected.jsonl").open("wb") as rejected:
        lines = (folder / "games.jsonl").read_bytes().splitlines(keepends=True)
        files = RateFiles(changed, rejected=rejected)
        rate_lines(lines, read_ladders(folder / "ladders.toml"), files, NOBODY)
    return folder


def replay(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(replay_command, ["--ladders", str(folder / "ladders.toml"), *arguments])


def rows(path: Path) -> dict[str, Any]:
    return {line["key"]: line["row"] for line in map(orjson.loads, path.read_bytes().splitlines())}


def test_a_file_gives_what_rate_gives_on_standard_output(folder: Path) -> None:
    result = replay(folder, str(folder / "games.jsonl"))

    assert result.exit_code == 0
    assert result.stdout_bytes == (folder / "rated.jsonl").read_bytes()


def test_several_files_are_one_log(folder: Path, tmp_path: Path) -> None:
    out, rejected = tmp_path / "out.jsonl", tmp_path / "rejected.jsonl"
    files = [str(folder / "first.jsonl"), str(folder / "second.jsonl")]
    result = replay(folder, "--out", str(out), "--rejected", str(rejected), *files)

    assert result.exit_code == 0
    assert out.read_bytes() == (folder / "rated.jsonl").read_bytes()
    assert rejected.read_bytes() == (folder / "rejected.jsonl").read_bytes()
    assert f"{GAMES} read:" in result.stderr


@pytest.mark.parametrize("ending", [".csv", ".jsonl.zst", ".parquet"])
def test_the_ending_of_the_file_decides_its_format(folder: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out{ending}"
    result = replay(folder, "--out", str(out), str(folder / "first.jsonl"))

    assert result.exit_code == 0
    assert out.stat().st_size > 1_000


def test_an_unknown_ending_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    tables = tmp_path / "tables.jsonl"
    result = replay(
        folder, "--out", str(tmp_path / "out.xml"), "--tables", str(tables), str(folder / "games.jsonl")
    )

    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_final_rows_are_those_of_the_whole_log_to_a_place(folder: Path, tmp_path: Path) -> None:
    short, cut = tmp_path / "short.jsonl", tmp_path / "cut.jsonl"
    replay(folder, "--tables", str(short), str(folder / "first.jsonl"))
    replay(folder, "--tables", str(cut), "--to", "700", str(folder / "games.jsonl"))

    assert len(rows(short)) > 300
    assert cut.read_bytes() == short.read_bytes()


def test_a_later_start_has_to_be_asked_for(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    refused = replay(folder, "--from", "700", str(folder / "games.jsonl"))
    fresh = replay(folder, "--from", "700", "--assume-empty", "--out", str(out), str(folder / "games.jsonl"))
    second = replay(folder, str(folder / "second.jsonl"))

    assert refused.exit_code == 1
    assert "needs the ratings of before" in refused.stderr
    assert fresh.exit_code == 0
    assert out.read_bytes() == second.stdout_bytes


@pytest.mark.parametrize(
    "arguments",
    [
        ["--from", "yesterday"],
        ["--from", "2024-01-02T00:00:00"],
        ["--from", "2024-01-02T00:00:00Z"],
        ["--from-snapshot", "snapshot.jsonl"],
        ["--partition", "1"],
    ],
)
def test_what_files_do_not_have_cannot_be_asked_for(folder: Path, arguments: list[str]) -> None:
    result = replay(folder, *arguments, str(folder / "games.jsonl"))

    assert result.exit_code == 2


def test_neither_broker_nor_files_is_a_mistake(folder: Path) -> None:
    result = replay(folder)

    assert result.exit_code == 2
    assert "--bootstrap-servers, or FILES" in result.stderr


def test_corrections_take_effect_at_their_marker(folder: Path, tmp_path: Path) -> None:
    season = events(600)
    voided = next(event for event in season if event["ladder"] == "tiles" and event.get("players"))
    void = {"type": "game-voided", "ladder": "tiles", "game_id": voided["game_id"], "reason": "test"}
    marker = {"type": "corrections-applied", "ladder": "tiles", "app_id": "ladderlog", "until": 601}
    log = write_lines(tmp_path / "log.jsonl", [*season, void, marker, *events(700)[600:]])
    tables, clean_tables = tmp_path / "tables.jsonl", tmp_path / "clean.jsonl"
    corrected = replay(folder, "--out", "-", "--tables", str(tables), str(log))
    clean_log = write_lines(tmp_path / "clean-log.jsonl", [e for e in events(700) if e != voided])
    replay(folder, "--tables", str(clean_tables), str(clean_log))
    changed = [orjson.loads(line) for line in corrected.stdout_bytes.splitlines()]
    before = replay(folder, "--to", "600", str(log)).stdout_bytes

    assert corrected.exit_code == 0
    assert corrected.stdout_bytes.startswith(before)
    assert {body["ladder"] for body in changed if body.get("reason") == "correction"} == {"tiles"}
    assert _ratings(rows(tables)) == _ratings(rows(clean_tables))


def _ratings(found: dict[str, Any]) -> dict[str, Any]:
    """Give rating and games of everyone on the ladder who has games: sequences count corrections too."""
    return {
        key: {system: figures[:2] for system, figures in row.items()}
        for key, row in found.items()
        if key.startswith("player/tiles/") and any(figures[1] for figures in row.values())
    }


def test_positions_are_offsets_or_moments_with_their_utc_offset() -> None:
    assert parse_position("12").offset == 12
    assert parse_position("1970-01-01T01:00:01+01:00").epoch_ms == 1_000
    with pytest.raises(ValueError, match="UTC offset"):
        parse_position("2026-11-02T20:00:00")


def test_a_snapshot_file_holds_rows_and_offsets_and_says_what_it_is_of(folder: Path, tmp_path: Path) -> None:
    rules = read_ladders(folder / "ladders.toml")
    header = Header("app", "games", Manifest.of(rules, 2, "1.0"))
    states = [
        PartitionState(3, {"b": b"[1,2]", "a": b'{"x":1.5}'}, {"read": 3}),
        PartitionState(7, {"c": b"1"}, {"read": 7}),
    ]
    path = str(tmp_path / "snapshot.jsonl.zst")

    assert write_snapshot(path, header, states) == 3
    assert read_offsets(path) == {0: 3, 1: 7}
    assert read_partition(path, 0) == states[0]
    assert read_partition(path, 1) == states[1]
