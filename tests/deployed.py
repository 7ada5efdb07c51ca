"""What stands in `deploy/`, read as those read it for whom it is written."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from project import PROJECT

from streams.cli.main import cli

DEPLOY = PROJECT / "deploy"
# Several times what any tool here needs.
TOOL_TIMEOUT = 120.0


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def load(name: str) -> Any:
    return yaml.safe_load(read(name))


def composed() -> dict[str, Any]:
    """Return compose.yaml with the defaults of its variables."""
    return dict(yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", read("compose.yaml"))))


def unit(name: str) -> dict[str, list[tuple[str, str]]]:
    """Return the settings of a unit's file by section; a name may stand there more than once."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in read(f"systemd/{name}").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            section.append((key, value))
    return sections


def known_options(command: str) -> set[str]:
    return {
        name for option in cli.commands[command].params for name in (*option.opts, *option.secondary_opts)
    }


def check_command(arguments: list[str]) -> None:
    """Check that the command line has a command and the options that it is given."""
    command, *rest = arguments
    assert command in cli.commands, arguments
    assert {word for word in rest if word.startswith("-")} <= known_options(command), arguments


def run_tool(*command: str | Path, cwd: Path = PROJECT) -> str:
    """Return what a tool prints; it must end well."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=TOOL_TIMEOUT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tool(name: str) -> str:
    """Return the path of a program; skip the test, saying what was not checked, where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name} here")
    return path
