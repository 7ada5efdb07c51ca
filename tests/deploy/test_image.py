"""The Dockerfile: in agreement with the project, and its steps make a command that works."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from deployed import read
from project import PROJECT

USER = 10001
TIMEOUT = 600.0


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with what follows them."""
    text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", read("Dockerfile"), flags=re.MULTILINE))
    lines = (line.split(maxsplit=1) for line in text.splitlines() if line.strip())
    return [(name, rest) for name, rest in lines]


def given(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def copied() -> list[list[str]]:
    """Return what is copied from the project, each with its destination."""
    return [words.split() for words in given("COPY") if not words.startswith("--from")]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    sources = [source for words in copied() for source in words[:-1]]

    assert {"pyproject.toml", "requirements.lock", "schemas", "streams"} <= set(sources)
    assert [source for source in sources if not (PROJECT / source).exists()] == []
    assert ignored[1] == "*"
    assert sorted(line[1:] for line in ignored if line.startswith("!")) == sorted(sources)


def test_the_command_is_run_without_a_shell_by_somebody_who_is_not_root() -> None:
    (user,) = given("USER")

    assert user == f"{USER}:{USER}"
    assert f"useradd --system --uid {USER} --gid {USER}" in " ".join(given("RUN"))
    assert given("ENTRYPOINT") == ['["ladderlog"]']


def test_every_stage_begins_with_one_version_of_python() -> None:
    (version,) = given("ARG")

    assert re.fullmatch(r"PYTHON=3\.\d+\.\d+-slim-\w+", version)
    assert {words.split()[0] for words in given("FROM")} == {"python:${PYTHON}"}


def image_user() -> dict[str, Any]:
    """Return how a process becomes the image's user; only root can make one."""
    return {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}


def public_python() -> Path:
    """Return a Python that the image's user may run: root's own may lie where nobody else can look."""
    check = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
    for python in (Path(sys.executable).resolve(), Path("/usr/bin/python3")):
        try:
            done = subprocess.run([python, "-c", check], capture_output=True, check=False, **image_user())
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip(f"no Python here can be run by user {USER}")


@pytest.mark.soak
def test_its_steps_make_a_command_that_works_for_a_user_without_rights() -> None:
    # Not in pytest's folder, which is root's alone.
    with TemporaryDirectory(prefix="ladderlog-image-") as folder:
        Path(folder).chmod(0o755)
        program = follow_steps(Path(folder), public_python())

        done = [
            subprocess.run(
                [program, *command],
                cwd="/",
                env={"PATH": str(program.parent), "USER": "ladderlog", "PYTHONUNBUFFERED": "1"},
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
                **image_user(),
            )
            for command in (["--help"], ["simulate", "--games", "5"], ["settings"])
        ]

    assert [each.returncode for each in done] == [0, 0, 0], [each.stderr for each in done]
    assert "worker" in done[0].stdout
    assert len(done[1].stdout.splitlines()) == 5


def follow_steps(folder: Path, python: Path) -> Path:
    """Do in a folder what the Dockerfile does to install the command, and return the command's path."""
    source, target = folder / "src", folder / "opt" / "ladderlog"
    for *names, destination in copied():
        for name in names:
            copy(PROJECT / name, source / destination / ("" if destination == name else name))
    clean = {name: value for name, value in os.environ.items() if name.startswith(("PATH", "PIP_"))}
    create, install, _users = given("RUN")
    assert create == "python -m venv /opt/ladderlog"
    for step in (create, install):
        words = shlex.split(step.replace("/opt/ladderlog", str(target)))
        program = python if words[0] == "python" else words[0]
        subprocess.run([program, *words[1:]], cwd=source, env=clean, check=True, timeout=TIMEOUT)
    return target / "bin" / "ladderlog"


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder as the image's build would: without what .dockerignore names last."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
