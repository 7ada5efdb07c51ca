"""`ladderlog rate` over long files: processes of their own decode and write, and nothing else changes."""

import gzip
import io
import os
import resource
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson
import pytest
from sites import NoBar

from streams.core.outcomes import OutcomeCounts
from streams.core.rules import parse_ladders
from streams.files import pipeline, rate
from streams.files.rate import RateFiles, rate_lines

LADDERS = """\
[ladders.classic]
systems = ["fundox"]
[ladders.everything]
systems = ["weekly", "fundox", "points", "closeness", "bga"]
timezone = "Europe/Paris"
"""
RULES = parse_ladders(tomllib.loads(LADDERS))
ALONE = 500
# So many lines of output come of more games than one process rates alone.
LINES_TOGETHER = 150_000
TIMEOUT = 120


def game(number: int, **fields: Any) -> bytes:
    loser, day, hour = number % 7, 1 + number // 1_000, number // 50 % 24
    players = [
        {"player_id": f"p{number % 5}", "rank": 1, "points": 10},
        {"player_id": f"q{loser}", "rank": 2, "points": 5},
    ]
    return orjson.dumps(
        {
            "game_id": f"g{number}",
            "ladder": "everything" if number % 3 else "classic",
            "ended_at": f"2026-11-{day:02}T{hour:02}:{number % 60:02}:30Z",
            "players": players,
            **fields,
        }
    )


def content(count: int) -> bytes:
    """Give lines of every kind: games, known ones, corrected ones, other events, blank ones and nonsense."""
    lines = []
    for number in range(count):
        lines.append(game(number))
        if number % 40 == 7:
            lines += [
                b"",
                b"  \r",
                b"nonsense",
                b'{"game_id": 1}',
                game(number),
                game(number, rated=False),
                game(number, version=2, rated=False),
                game(-number, table="unknown field"),
                orjson.dumps(
                    {"type": "week-ended", "ladder": "everything", "week": "2026-W45", "final": False}
                ),
                orjson.dumps(
                    {
                        "type": "rating-imported",
                        "ladder": "classic",
                        "system": "fundox",
                        "player_id": f"new{number}",
                        "rating": 1700,
                        "games": 3,
                    }
                ),
            ]
    return b"\n".join(lines)


class Outcome:
    """What rating gave: every file, and the account."""

    def __init__(self, lines: Any) -> None:
        names = ("changed", "closed", "ignored", "rejected")
        files = {name: io.BytesIO() for name in names}
        self.counts = rate_lines(lines, RULES, RateFiles(**files), NoBar())
        self.written = {name: file.getvalue() for name, file in files.items()}


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes begin after a few lines."""
    monkeypatch.setattr(rate, "_LINES_ALONE", ALONE)


@pytest.fixture(scope="module")
def alone() -> Outcome:
    """Give what one process makes of the lines."""
    return Outcome(io.BytesIO(content(2_000)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write the lines to a file."""
    path = tmp_path / "games.jsonl"
    path.write_bytes(content(2_000))
    return path


def same(one: Outcome, other: Outcome) -> bool:
    return one.counts == other.counts and one.written == other.written


def test_every_kind_of_outcome_occurs(alone: Outcome) -> None:
    assert alone.counts.read > 2_000
    # In a file a ladder has no home that a line could be away from.
    assert [name for name, count in vars(alone.counts).items() if not count] == ["forwarded"]
    assert all(alone.written.values())


@pytest.mark.usefixtures("soon")
def test_a_file_that_another_process_reads_gives_the_same_bytes(alone: Outcome, path: Path) -> None:
    with path.open("rb") as lines:
        assert same(Outcome(lines), alone)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process")
@pytest.mark.usefixtures("soon")
def test_on_one_processor_one_process_does_it_all(
    alone: Outcome, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "Decoder", None)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with path.open("rb") as lines:
            assert same(Outcome(lines), alone)
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.usefixtures("soon")
def test_lines_that_another_process_is_fed_give_the_same_bytes(alone: Outcome) -> None:
    assert same(Outcome(io.BytesIO(content(2_000))), alone)


@pytest.mark.usefixtures("soon")
def test_a_packed_file_that_is_cut_short_is_an_error_after_what_could_be_read(path: Path) -> None:
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) - len(packed) // 4])
    with gzip.open(path) as lines, pytest.raises(EOFError):
        Outcome(io.BufferedReader(lines))


@pytest.mark.usefixtures("soon")
def test_an_error_of_the_fold_ends_the_processes(path: Path) -> None:
    class Full(io.BytesIO):
        def write(self, content: Any) -> int:
            if self.tell() > 20_000:
                raise OSError(28, os.strerror(28))
            return super().write(content)

    with path.open("rb") as lines, pytest.raises(OSError, match="No space left"):
        rate_lines(lines, RULES, RateFiles(rejected=Full()), NoBar())

    assert not pipeline.multiprocessing.active_children()


def lines_for_ever() -> Iterator[bytes]:
    while True:
        yield game(1)


def take_and_kill(lines: Iterator[bytes]) -> None:
    with pipeline.Decoder(lines) as decoder:
        for _ in decoder:
            for process in pipeline.multiprocessing.active_children():
                process.kill()


def test_a_killed_decoding_process_is_an_error() -> None:
    with pytest.raises(pipeline.StageError, match="decoding process"):
        take_and_kill(lines_for_ever())


@pytest.fixture
def ladders(tmp_path: Path) -> Path:
    """Write the ladder file."""
    found = tmp_path / "ladders.toml"
    found.write_text(LADDERS, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write more lines than one process deals with alone."""
    path = tmp_path_factory.mktemp("long") / "games.jsonl"
    path.write_bytes(content(25_000))
    return path


def rating(ladders: Path, file: str, **streams: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "streams", "rate", "--ladders", str(ladders), file]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **streams)


def said(process: subprocess.Popen[bytes]) -> str:
    _, errors = process.communicate(timeout=TIMEOUT)
    return errors.decode()


def account(counts: OutcomeCounts) -> str:
    return (
        f"{counts.read} read: {counts.rated} rated, {counts.ignored} ignored, {counts.rejected} rejected, "
        f"{counts.noted} noted"
    )


def test_the_command_writes_the_same_bytes_wherever_the_lines_come_from(
    ladders: Path, long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "_LINES_ALONE", sys.maxsize)
    with long.open("rb") as lines:
        expected = Outcome(lines)

    def check(file: str, **streams: Any) -> None:
        written = tmp_path / "changed.jsonl"
        with written.open("wb") as output:
            process = rating(ladders, file, stdout=output, **streams)
            told = said(process)
        assert process.returncode == 1, told  # some of them are no events
        assert written.read_bytes() == expected.written["changed"]
        assert account(expected.counts) in told

    check(str(long))
    with long.open("rb") as standard_input:
        check("-", stdin=standard_input)
    with subprocess.Popen(["cat", str(long)], stdout=subprocess.PIPE) as cat:
        check("-", stdin=cat.stdout)


@pytest.mark.parametrize("lines", [1, LINES_TOGETHER])
def test_a_full_disk_is_told_in_a_line(lines: int, ladders: Path, long: Path, tmp_path: Path) -> None:
    def limit() -> None:
        # Some bytes a line less than there are, so that the disk is full in that line or before.
        resource.setrlimit(resource.RLIMIT_FSIZE, (200 * lines, 200 * lines))

    with (tmp_path / "changed.jsonl").open("wb") as output:
        process = rating(ladders, str(long), stdout=output, preexec_fn=limit)
        told = said(process)

    assert process.returncode == 1
    assert "File too large" in told
    assert "Traceback" not in told


def test_a_reader_who_has_seen_enough_ends_it_without_complaint(ladders: Path, long: Path) -> None:
    with rating(ladders, str(long), stdout=subprocess.PIPE) as process:
        output: IO[bytes] | None = process.stdout
        assert output is not None
        output.readline()
        output.close()
        assert process.stderr is not None
        told = process.stderr.read().decode()

    assert process.returncode == 1
    assert "Traceback" not in told


def children_of(process: int) -> Path:
    return Path(f"/proc/{process}/task/{process}/children")


def once_together(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    """Read more than one process writes alone, so that the others are there; give the rest."""
    output: IO[bytes] | None = process.stdout
    assert output is not None
    for _ in range(LINES_TOGETHER):
        assert output.readline()
    return output


@pytest.mark.skipif(not children_of(os.getpid()).exists(), reason="nobody tells the children here")
def test_a_process_that_was_killed_is_told_in_a_line(ladders: Path, long: Path) -> None:
    with rating(ladders, str(long), stdout=subprocess.PIPE) as process:
        output = once_together(process)
        for child in children_of(process.pid).read_text().split():
            os.kill(int(child), signal.SIGKILL)
        output.read()
        assert process.stderr is not None
        told = process.stderr.read().decode()

    assert process.returncode == 1
    assert "process has ended" in told
    assert "Traceback" not in told


def soon_gone(group: int) -> bool:
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_an_interrupt_ends_all_processes(ladders: Path, long: Path) -> None:
    with rating(ladders, str(long), stdout=subprocess.PIPE, start_new_session=True) as process:
        output = once_together(process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        told = process.stderr.read().decode()
        # Not before: a reader that has left would be another end.
        output.close()

    assert process.returncode == 1
    assert "Aborted!" in told
    assert "Traceback" not in told
    assert soon_gone(process.pid)
