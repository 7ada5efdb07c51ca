"""The commands of the README, and those of the first hour and the guides behind it, run as printed."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
from project import PROJECT

from streams.cli.main import cli
from streams.runtime.clock import CLOCK_FILE
from streams.testing.plugin import BOOTSTRAP_SERVERS as TEST_BROKER

README = (PROJECT / "README.md").read_text(encoding="utf-8")
DOCS = PROJECT / "docs"
FIRST_HOUR = "first-hour.md"
# Those whose commands go on in the shell of the first hour, in the order of its links. The last one takes the
# ladder file out of the environment.
GUIDES = ("correct.md", "recover.md", "what-if.md", "upgrade.md", "history.md")
# Kinds of blocks that are no commands; every other one is run.
SHOWN = {"text", "toml", "json"}
# Much longer than it takes on an idle machine.
PATIENCE = 900


def first_hour() -> list[str]:
    """Return the pages that are one script, from the first hour on."""
    return [
        (DOCS / name).read_text(encoding="utf-8")
        for name in (FIRST_HOUR, *(f"guides/{guide}" for guide in GUIDES))
    ]


def commands(page: str) -> list[str]:
    """Return the blocks of a page that are commands."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [text for kind, text in blocks if kind not in SHOWN]


def shown() -> list[str]:
    """Return the lines that these pages show as printed, but those with a moment or an offset."""
    blocks = re.findall(r"^```text\n(.*?)^```$", "\n".join(first_hour()), re.MULTILINE | re.DOTALL)
    return [
        line
        for line in "".join(blocks).splitlines()
        if not line.startswith("game-finished/") and " offset " not in line
    ]


def variables_named() -> list[str]:
    """Return the variables that the pages name, without those of tests."""
    pages = (path.read_text(encoding="utf-8") for path in [PROJECT / "README.md", *DOCS.rglob("*.md")])
    named = set(chain.from_iterable(re.findall(r"LADDERLOG_[A-Z_]+", page) for page in pages))
    return sorted(named - {TEST_BROKER, CLOCK_FILE})


def fresh_checkout(folder: Path) -> Path:
    """Return a copy of the project as its repository has it, in which `make setup` has nothing to do."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        source, target = PROJECT / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
    venv = folder / ".venv"
    venv.mkdir()
    for child in Path(sys.prefix).iterdir():
        if not child.name.startswith(".ready"):
            (venv / child.name).symlink_to(child)
    version = ".".join(map(str, sys.version_info[:3]))
    (venv / f".ready-{version}").touch()
    return folder


def run_as_printed(folder: Path, pages: Sequence[str]) -> tuple[int, str]:
    """Run every block of the pages in one shell, and return its status and all that it has said."""
    blocks = chain.from_iterable(map(commands, pages))
    script = "\n".join(["set -e", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", *blocks])
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")},
        # For the copy; what is installed is this project's own.
        "PYTHONPATH": str(folder),
        "PYTHON": sys.executable,
        # `make run` goes on until Ctrl-C; so it ends after its report.
        "ONCE": "1",
    }
    process = subprocess.Popen(
        ["bash", "-xc", script],
        cwd=folder,
        env=environment,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        output = "it took too long"
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait(), output


@pytest.mark.kafka
def test_the_readme_runs_as_printed(tmp_path: Path) -> None:
    status, output = run_as_printed(fresh_checkout(tmp_path), [README])

    assert status == 0, output[-20_000:]
    assert '"before":1600.0,"after":1608.0' in output


@pytest.mark.kafka
def test_the_first_hour_and_the_guides_behind_it_run_as_printed(tmp_path: Path) -> None:
    folder = fresh_checkout(tmp_path)
    status, output = run_as_printed(folder, first_hour())
    written = folder / "first-hour"
    log = (written / "worker.log").read_text(encoding="utf-8") if written.is_dir() else ""

    assert status == 0, output[-20_000:]
    assert "2 on chess" in output
    assert "no differences" in output
    assert [line for line in shown() if line not in output.splitlines()] == []
    assert [line for line in log.splitlines() if "[ERROR]" in line or "Traceback" in line] == []
    for name in ("history.csv", "tables.jsonl", "what-if.html", "imported-history.csv"):
        assert (written / name).stat().st_size > 0


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)", README))))
def test_every_make_target_of_the_readme_exists(target: str) -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")

    assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE) is not None


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)]+)\)", README))))
def test_every_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (PROJECT / link).exists()


@pytest.mark.parametrize("variable", variables_named())
def test_every_variable_is_an_option(variable: str) -> None:
    options = chain.from_iterable(command.params for command in cli.commands.values())

    assert variable in {option.envvar for option in options}
