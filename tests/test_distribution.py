"""The wheel and the sdist: what is in them, and that they work where nothing of this checkout is."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from clocks import standing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project import PROJECT

from streams.runtime.clock import CLOCK_FILE

TIMEOUT = 600.0
GAMES = 50
# What a checkout has, and nobody needs who builds from an sdist.
STAYS = {".ci"}


def run(*command: str | Path, cwd: Path, given: bytes = b"", **environment: str) -> bytes:
    """Return what a command prints, in an environment that says nothing of this checkout but the clock."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == CLOCK_FILE or not name.startswith(("LADDERLOG_", "PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        command,
        cwd=cwd,
        input=given,
        env=kept | environment,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def build(folder: Path, *options: str) -> None:
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, *options, PROJECT, cwd=folder)


def project() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked() -> dict[str, str]:
    lines = (PROJECT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the sdist, and the wheel that was made from it, as `make dist` leaves them."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    (file,) = built.glob("ladderlog-*.tar.gz")
    return file


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (file,) = built.glob("ladderlog-*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give an environment into which the wheel alone was installed; it borrows the libraries of this one."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", wheel, cwd=folder)
    return folder


def sdist_files(sdist: Path) -> dict[str, bytes]:
    """Return the files of an sdist by their path in a checkout."""
    with tarfile.open(sdist) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {
            (0, 0, "", "")
        }
        return {
            member.name.partition("/")[2]: content.read()
            for member in members
            if (content := archive.extractfile(member)) is not None
        }


def test_the_wheel_has_the_schemas_the_example_ladders_and_the_marker_of_types(wheel: Path) -> None:
    schemas = {
        f"streams/{path.relative_to(PROJECT).as_posix()}"
        for path in (PROJECT / "schemas").rglob("*")
        if path.is_file()
    }
    modules = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "streams").rglob("*.py")}

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    presets = {
        path.relative_to(PROJECT).as_posix()
        for path in (PROJECT / "streams" / "imports" / "presets").glob("*.toml")
    }
    assert presets
    assert presets - names == set()
    assert {"streams/ladders.toml", "streams/py.typed"} | schemas | modules <= names
    assert [name for name in names if not name.startswith(("streams/", "ladderlog-"))] == []
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


def test_the_wheel_from_the_sdist_is_that_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    build(tmp_path, "--wheel")

    assert wheel.read_bytes() == (tmp_path / wheel.name).read_bytes()


def test_the_sdist_has_what_the_project_keeps_and_nothing_else(sdist: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no checkout: nothing says what the project keeps")
    kept = {name for name in listed.stdout.splitlines() if (PROJECT / name).is_file()}
    expected = {name for name in kept if name.split("/")[0] not in STAYS}

    assert sdist_files(sdist).keys() - {"PKG-INFO"} == expected


def test_what_is_in_the_sdist_is_as_in_the_checkout(sdist: Path) -> None:
    differing = [
        name
        for name, content in sdist_files(sdist).items()
        if name != "PKG-INFO" and content != (PROJECT / name).read_bytes()
    ]

    assert differing == []


def test_what_the_build_adds_does_not_name_this_machine(sdist: Path, wheel: Path) -> None:
    here = (str(PROJECT).encode(), sys.prefix.encode(), os.uname().nodename.encode() + b":")
    with zipfile.ZipFile(wheel) as archive:
        added = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" in name}
    added["PKG-INFO"] = sdist_files(sdist)["PKG-INFO"]

    assert {Path(name).name for name in added} >= {"PKG-INFO", "METADATA", "RECORD", "WHEEL"}
    assert [name for name, content in added.items() if any(path in content for path in here)] == []


def test_the_version_stands_in_one_place(sdist: Path, wheel: Path, installed: Path, tmp_path: Path) -> None:
    version = project()["version"]
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"ladderlog-{version}.dist-info/METADATA").decode()
    libraries = sysconfig.get_path("purelib")

    printed = run(installed / "bin" / "ladderlog", "--version", cwd=tmp_path, PYTHONPATH=libraries).decode()

    assert printed == f"ladderlog, version {version}\n"
    assert Parser().parsestr(metadata)["Version"] == version
    assert sdist.name == f"ladderlog-{version}.tar.gz"
    written = re.compile(rf"(?<![\d.]){re.escape(str(version))}(?![\d.])")
    assert [
        path for path in (PROJECT / "streams").rglob("*.py") if written.search(path.read_text("utf-8"))
    ] == []


def test_the_lock_has_a_version_of_all_that_the_project_asks_for() -> None:
    declared = project()
    asked = [*declared["dependencies"], *chain(*declared["optional-dependencies"].values())]
    versions = locked()

    missing = [
        text
        for text in asked
        if versions.get(canonicalize_name(Requirement(text).name), "0") not in Requirement(text).specifier
    ]

    assert missing == []


def test_the_installed_package_has_its_schemas_inside(installed: Path, tmp_path: Path) -> None:
    program = (
        "import streams.wire.decode, streams.wire.schemas; print(streams.wire.schemas.schema_directory())"
    )
    libraries = sysconfig.get_path("purelib")

    printed = run(installed / "bin" / "python", "-c", program, cwd=tmp_path, PYTHONPATH=libraries)

    assert Path(printed.decode().strip()).is_relative_to(installed)


def test_the_installed_command_rates_games(installed: Path, tmp_path: Path) -> None:
    ladderlog = installed / "bin" / "ladderlog"
    libraries = sysconfig.get_path("purelib")

    games = run(ladderlog, "simulate", "--games", str(GAMES), cwd=tmp_path, PYTHONPATH=libraries)
    changes = run(ladderlog, "rate", "-", cwd=tmp_path, given=games, PYTHONPATH=libraries)

    assert len(games.splitlines()) == GAMES
    assert len(changes.splitlines()) > GAMES


@pytest.mark.soak
@pytest.mark.kafka
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_in_an_empty_environment_everything_is_shown_at_work(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    pip = (environment / "bin" / "pip", "install", "--quiet", "--constraint", PROJECT / "requirements.lock")
    run(*pip, f"{request.getfixturevalue(kind)}[broker]", cwd=tmp_path)

    # A Monday in the grace time of the week before.
    clock = {CLOCK_FILE: str(standing(tmp_path, "2026-11-30T10:00:00Z"))}

    shown = run(environment / "bin" / "ladderlog", "run", "--once", cwd=tmp_path, **clock).decode()

    assert "chess, fundox" in shown
    assert "belote, week 2026-W48 (closed, revision 1)" in shown
    assert " 0 rejected, " in shown
