"""Commands as a user types them, what they said and wrote as text, and golden files to compare it with.

Nothing here imports the program: modules may move, the command line may not. See `test_golden_commands` for
how golden files are made anew.
"""

import gzip
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest
from pathlib import Path

import pyarrow.parquet
import zstandard

REPOSITORY = Path(__file__).parents[2]
INPUTS = Path(__file__).parent / "inputs"
FILES = Path(__file__).parent / "files"
# The one place that says how the program is started.
PROGRAM = (sys.executable, "-m", "streams")
WRITE = "LADDERLOG_WRITE_GOLDEN"

# Larger ones are packed; `zstd -dc` shows them.
_LARGE_TEXT = 24_000
# Of an output of which only the digest is kept: the first lines show what it is.
_LINES_BESIDE_DIGEST = 3
_LONG_OUTPUT = 40
_SHOWN_CHARACTERS = 240
_AT_ONCE = 2
# Much longer than anything here takes, in seconds.
_TIMEOUT = 600

_PROGRESS = re.compile(r"^[\w ]+: .*\[\d+:\d\d.*\]$")
_OFFSET = re.compile(rb"(\.rating-changed/\d+)/\d+")
# How long it took, and how many a second.
_PACE = re.compile(r"; [\d.]+ s, [\d,]+ a second$")


@dataclass(frozen=True)
class Command:
    """A command line, without the program; `writes` names the files it leaves that are to be compared.

    With `digest`, of long outputs the first lines, their number and their SHA-256 are kept. `unordered`
    names files whose lines, but for the first, may come in any order; with `sorted_output`, so may those of
    the output, and offsets in rating-changed, which go with that order, are left out.
    """

    arguments: tuple[str, ...]
    stdin: bytes = b""
    writes: tuple[str, ...] = ()
    digest: bool = False
    unordered: tuple[str, ...] = ()
    sorted_output: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def command(line: str, **options: object) -> Command:
    """Return the command of a line as in a shell."""
    return Command(tuple(shlex.split(line)), **options)  # type: ignore[arg-type]


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the program: this one's, without settings of Ladderlog but these."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")}
    return {**inherited, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "80", **settings}


def run(asked: Command, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    """Run a command in a folder and return its outputs and exit status."""
    return subprocess.run(
        [*PROGRAM, *asked.arguments],
        input=asked.stdin,
        capture_output=True,
        check=False,
        cwd=folder,
        env=environment(asked.settings),
        timeout=_TIMEOUT,
    )


def transcript(asked: Command, folder: Path) -> list[str]:
    """Run a command in a folder and return, line by line, how it ended, what it said and what it wrote."""
    done = run(asked, folder)
    # What several partitions write to one of rating-changed interleaves by chance.
    output = _OFFSET.sub(rb"\1/OFFSET", done.stdout) if asked.sorted_output else done.stdout
    if asked.sorted_output:
        output = b"".join(sorted(output.splitlines(keepends=True)))
    shown = [
        f"$ ladderlog {shlex.join(asked.arguments)}",
        f"--- exit status {done.returncode}",
        *_section("standard output", output, digest=asked.digest),
        *_section("standard error", _without_progress(done.stderr), digest=False),
    ]
    for name in asked.writes:
        if not (folder / name).exists():
            shown.append(f"--- file {name} is not there")
            continue
        content = _content(folder / name)
        if name in asked.unordered:
            first, *others = content.splitlines(keepends=True)
            content = b"".join([first, *sorted(others)])
        shown += _section(f"file {name}", content, digest=asked.digest)
    return shown


def transcripts(asked: Iterable[Command], folder: Path) -> list[str]:
    """Run commands that do not depend on each other, two at once, and return their transcripts in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda one: transcript(one, folder), asked))
    return [line for lines in found for line in [*lines, ""]]


def digest(lines: Sequence[str]) -> list[str]:
    """Return what is kept of many lines: the first, how many there are, and their SHA-256."""
    text = "\n".join(lines)
    return [
        *lines[:_LINES_BESIDE_DIGEST],
        f"{len(lines)} lines, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}",
    ]


def check(name: str, lines: Sequence[str]) -> None:
    """Compare lines with a golden file, or write it. Raises AssertionError that shows the difference."""
    if os.environ.get(WRITE):
        _write(name, "\n".join(lines))
        return
    difference = first_difference(_read(name).split("\n"), lines)

    assert difference is None, f"{name} is not as it was: {difference}"


def first_difference(golden: Sequence[str], now: Sequence[str]) -> str | None:
    """Return where two texts begin to differ, below which command and heading; None when they are equal."""
    headings = {"$": "", "-": ""}
    for number, (was, is_now) in enumerate(zip_longest(golden, now), start=1):
        if was != is_now:
            where = "\n".join(filter(None, ["", *headings.values()]))
            return f"line {number}, below{where}\n{_beside(was, is_now)}"
        if was.startswith("$ "):
            headings = {"$": was, "-": ""}
        elif was.startswith("--- "):
            headings["-"] = was
    return None


def _beside(was: str | None, is_now: str | None) -> str:
    begin = 0
    if was is not None and is_now is not None:
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, is_now, strict=False)))
        begin = max(0, common - _SHOWN_CHARACTERS // 2)
    shown = [
        "(the end)" if text is None else ("…" if begin else "") + text[begin : begin + _SHOWN_CHARACTERS]
        for text in (was, is_now)
    ]
    return f"  golden: {shown[0]}\n  now:    {shown[1]}"


def _section(title: str, content: bytes, *, digest: bool) -> list[str]:
    if not content:
        return []
    lines = content.decode(errors="backslashreplace").replace(str(REPOSITORY), "REPOSITORY").split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        title += ", without a line's end"
    if digest and len(lines) > _LONG_OUTPUT:
        lines = _digest(lines)
    return [f"--- {title}", *lines]


_digest = digest


def _without_progress(stderr: bytes) -> bytes:
    lines = stderr.decode(errors="backslashreplace").splitlines(keepends=True)
    return "".join(
        _PACE.sub("; at its pace", line) for line in lines if not _PROGRESS.match(line.rstrip("\n"))
    ).encode()


def _content(file: Path) -> bytes:
    """Return what is in a file, unpacked; of Parquet the schema and the rows as JSON lines."""
    if file.suffix == ".parquet":
        table = pyarrow.parquet.read_table(file)
        rows = (json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist())
        return "\n".join([*str(table.schema).split("\n"), *rows, ""]).encode()
    content = file.read_bytes()
    if file.suffix == ".gz":
        return gzip.decompress(content)
    if file.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompressobj().decompress(content)
    return content


def _read(name: str) -> str:
    plain, packed = FILES / f"{name}.txt", FILES / f"{name}.txt.zst"
    if plain.exists():
        return plain.read_text(encoding="utf-8")
    if packed.exists():
        return zstandard.ZstdDecompressor().decompress(packed.read_bytes()).decode()
    raise AssertionError(f"there is no golden file {name}; {WRITE}=1 writes it")


def _write(name: str, text: str) -> None:
    plain, packed = FILES / f"{name}.txt", FILES / f"{name}.txt.zst"
    for old in (plain, packed):
        old.unlink(missing_ok=True)
    if len(text) <= _LARGE_TEXT:
        plain.write_text(text, encoding="utf-8")
    else:
        packed.write_bytes(zstandard.ZstdCompressor(level=19).compress(text.encode()))
