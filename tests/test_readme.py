"""The commands of the README and the page behind it, as they stand there, in one shell from the top on."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from project import PROJECT

from streams.cli.settings_model import SETTINGS

README = (PROJECT / "README.md").read_text(encoding="utf-8")
OPERATING = (PROJECT / "docs" / "operating.md").read_text(encoding="utf-8")
# Kinds of blocks that are no commands; every other one is run.
SHOWN = {"text", "toml", "json"}
# Much longer than it takes on an idle machine.
PATIENCE = 900


def commands(page: str) -> list[str]:
    """Return the blocks of a page that are commands."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [text for kind, text in blocks if kind not in SHOWN]


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


def run_as_printed(folder: Path) -> tuple[int, str]:
    """Run every block of both pages in one shell, and return its status and all that it has said."""
    script = "\n".join(
        ["set -e", "trap 'kill $(jobs -p) 2>/dev/null' EXIT", *commands(README), *commands(OPERATING)]
    )
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
def test_the_readme_and_the_page_behind_it_run_as_printed(tmp_path: Path) -> None:
    folder = fresh_checkout(tmp_path)
    status, output = run_as_printed(folder)
    trial = folder / "trial"
    log = (trial / "worker.log").read_text(encoding="utf-8") if trial.is_dir() else ""

    assert status == 0, output[-20_000:]
    assert "2 on chess" in output
    assert "no differences" in output
    assert [line for line in log.splitlines() if "[ERROR]" in line or "Traceback" in line] == []
    for written in ("history.csv", "tables.jsonl", "what-if.html", "imported-history.csv"):
        assert (trial / written).stat().st_size > 0


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)", README))))
def test_every_make_target_of_the_readme_exists(target: str) -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")

    assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE) is not None


@pytest.mark.parametrize(
    ("folder", "link"),
    [
        *((PROJECT, link) for link in sorted(set(re.findall(r"\]\(([^)]+)\)", README)))),
        *((PROJECT / "docs", link) for link in sorted(set(re.findall(r"\]\(([^)]+)\)", OPERATING)))),
    ],
)
def test_every_link_leads_somewhere(folder: Path, link: str) -> None:
    assert (folder / link).exists()


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"LADDERLOG_[A-Z_]+", README + OPERATING))))
def test_every_variable_is_an_option(variable: str) -> None:
    assert variable in {setting.variable for setting in SETTINGS}
