"""The README's commands, run as they stand there, in order, against a real broker."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from project import PROJECT

from streams.files.ladder_file import example_ladder_file

README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def script() -> str:
    """Give every `sh` block as one script that stops at the first mistake and leaves no process behind."""
    blocks = "\n".join(text for kind, text in BLOCKS if kind == "sh")
    return f"set -eux -o pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n{blocks}"


@pytest.mark.kafka
def test_every_command_of_the_readme_works(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "ladderlog"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m streams "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
        "LADDERLOG_LADDERS": str(example_ladder_file()),
    }
    process = subprocess.Popen(
        ["bash", "-c", script()],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()

    assert process.returncode == 0, output
    assert "0 behind" in output
    assert "1 on chess" in output or "2 on chess" in output


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)", README))))
def test_every_make_target_of_the_readme_exists(target: str) -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")

    assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE) is not None


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)]+)\)", README))))
def test_every_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (PROJECT / link).exists()


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"LADDERLOG_[A-Z_]+", README))))
def test_every_variable_of_the_readme_is_an_option(variable: str) -> None:
    source = (PROJECT / "streams" / "cli" / "options.py").read_text(encoding="utf-8")

    assert variable in source
