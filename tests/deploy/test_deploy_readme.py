"""What deploy/README.md and the files beside it say of commands, variables and exit statuses is so."""

import re
from pathlib import Path

import pytest
from deployed import DEPLOY, check_command, read

from streams.cli.main import cli
from streams.runtime.clock import CLOCK_FILE
from streams.runtime.exit_statuses import EXIT_FAILED, EXIT_REFUSED, EXIT_UNREACHABLE

FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())


def known_variables() -> set[str]:
    names = {option.envvar for command in cli.commands.values() for option in command.params}
    return {name for name in names if isinstance(name, str)} | {CLOCK_FILE}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_variable_is_one_that_the_command_line_knows(path: Path) -> None:
    mentioned = set(re.findall(r"LADDERLOG_[A-Z_]+", path.read_text(encoding="utf-8")))

    assert mentioned <= known_variables()


def test_the_readme_names_the_statuses_that_there_are() -> None:
    statuses = re.findall(r"^\| (\d+) \| (\w+)", read("README.md"), flags=re.MULTILINE)

    assert statuses == [
        ("0", "stopped"),
        (str(EXIT_UNREACHABLE), "no"),
        (str(EXIT_FAILED), "failed"),
        (str(EXIT_REFUSED), "refused"),
    ]


def test_the_readme_runs_commands_that_there_are() -> None:
    lines = re.findall(r"(?:bin/ladderlog|run --rm(?: -T)? worker) ([^#\n|<]+)", read("README.md"))

    assert len(lines) >= 3
    for line in lines:
        check_command([word for word in line.split() if word != "-"])


def test_every_file_that_the_readme_names_is_there() -> None:
    named = set(re.findall(r"deploy/([\w@./-]+\w)", read("README.md")))

    assert len(named) > 5
    assert [name for name in sorted(named) if not (DEPLOY / name).exists()] == []
