"""What stands in `deploy/` agrees with the command line and the worker."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path

import pytest
from project import PROJECT

from streams.cli.main import cli
from streams.embedded.container import IMAGE
from streams.runtime.clock import CLOCK_FILE
from streams.runtime.exit_statuses import EXIT_FAILED, EXIT_REFUSED
from streams.runtime.transaction import TRANSACTION_TIMEOUT_MS

ROOT = PROJECT
DEPLOY = ROOT / "deploy"
TIMEOUT = 120.0


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def leaves(text: str) -> Iterator[tuple[str, str]]:
    """Give the scalars of a file with their dotted paths: as much of YAML as compose.yaml has."""
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        item = bare.removeprefix("- ")
        indent = len(line) - len(line.lstrip()) + len(bare) - len(item)
        key, _, value = item.partition(":")
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, key))
        yield ".".join(name for _, name in above), value.strip().strip('"')


def composed() -> dict[str, str]:
    return dict(leaves(read("compose.yaml")))


def services(found: dict[str, str]) -> set[str]:
    return {path.split(".")[1] for path in found if re.fullmatch(r"services\.\w+", path)}


def known_variables() -> set[str]:
    names = {option.envvar for command in cli.commands.values() for option in command.params}
    return {name for name in names if isinstance(name, str)} | {CLOCK_FILE}


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def instructions(name: str) -> list[list[str]]:
    lines = (line.split(maxsplit=1) for line in read("Dockerfile").splitlines())
    return [words[1].split() for words in lines if words and words[0] == name]


def unit() -> RawConfigParser:
    parser = RawConfigParser()
    parser.optionxform = str
    parser.read_string(read("ladderlog-worker@.service"))
    return parser


def test_compose_runs_commands_that_there_are() -> None:
    found = composed()

    commands = {
        path.split(".")[1]: json.loads(text) for path, text in found.items() if path.endswith(".command")
    }

    assert commands.keys() == services(found) - {"kafka"}
    assert {command[0] for command in commands.values()} == {"topics", "worker"}
    assert {command[0] for command in commands.values()} <= cli.commands.keys()


def test_compose_waits_for_what_a_service_needs() -> None:
    found = composed()

    waits = {
        tuple(path.split(".")[1::2][:2]): text for path, text in found.items() if path.endswith(".condition")
    }

    assert waits == {
        ("topics", "kafka"): "service_healthy",
        ("worker", "kafka"): "service_healthy",
        ("worker", "topics"): "service_completed_successfully",
    }
    assert "services.kafka.healthcheck.test" in found
    assert found["services.worker.restart"] == "on-failure"
    assert found["services.worker.deploy.replicas"] == "2"


def test_compose_runs_the_image_that_the_broker_command_knows() -> None:
    assert composed()["services.kafka.image"] == IMAGE


@pytest.mark.parametrize(
    "path", sorted(path for path in DEPLOY.rglob("*") if path.is_file()), ids=lambda path: path.name
)
def test_every_variable_is_one_that_the_command_line_knows(path: Path) -> None:
    mentioned = set(re.findall(r"LADDERLOG_[A-Z_]+", path.read_text(encoding="utf-8")))

    assert mentioned <= known_variables()


def test_the_ladder_file_is_mounted_where_the_workers_look() -> None:
    found = composed()
    ladders = found["x-ladderlog.environment.LADDERLOG_LADDERS"]
    source = found["x-ladderlog.volumes.source"]

    example = re.fullmatch(r"\$\{LADDERLOG_LADDERS:-(.+)\}", source)

    assert found["x-ladderlog.volumes.target"] == ladders
    assert example is not None
    assert (DEPLOY / example[1]).is_file()
    assert unit()["Service"]["Environment"] == f"LADDERLOG_LADDERS={ladders}"


def test_a_worker_has_longer_to_stop_than_the_broker_keeps_its_transaction() -> None:
    grace = seconds(composed()["services.worker.stop_grace_period"])

    assert grace > TRANSACTION_TIMEOUT_MS / 1000
    assert float(unit()["Service"]["TimeoutStopSec"]) == grace


def test_the_unit_restarts_a_failed_worker_and_leaves_a_refused_one() -> None:
    service = unit()["Service"]

    program, command = service["ExecStart"].split()

    assert Path(program).name == "ladderlog"
    assert command in cli.commands
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == str(EXIT_REFUSED)


def test_the_readme_names_the_statuses_that_there_are() -> None:
    statuses = re.findall(r"^\| (\d+) \| (\w+)", read("README.md"), flags=re.MULTILINE)

    assert statuses == [("0", "stopped"), (str(EXIT_FAILED), "failed"), (str(EXIT_REFUSED), "refused")]


def test_the_readme_runs_commands_that_there_are() -> None:
    found = re.findall(r"(?:bin/ladderlog|run --rm(?: -T)? worker) ([a-z]+)", read("README.md"))

    assert len(found) == 3
    assert set(found) <= cli.commands.keys()


def test_what_the_dockerfile_copies_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [words[:-1] for words in instructions("COPY") if not words[0].startswith("--from")]

    sources = [source for words in copied for source in words]

    assert {"pyproject.toml", "requirements.lock", "schemas", "streams"} <= set(sources)
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert ignored[1] == "*"
    assert sorted(line[1:] for line in ignored if line.startswith("!")) == sorted(sources)


def test_the_image_runs_the_command_as_somebody_who_is_not_root() -> None:
    created = re.search(r"useradd .*--uid (\d+)", read("Dockerfile"))

    assert created is not None
    assert instructions("USER") == [[created[1]]]
    assert int(created[1]) > 0
    assert instructions("ENTRYPOINT") == [['["ladderlog"]']]


def test_docker_compose_takes_the_file() -> None:
    candidates = (["docker", "compose"], ["docker-compose"])
    compose = next((command for command in candidates if answers([*command, "version"])), None)
    if compose is None:
        pytest.skip("there is no docker compose here")

    command = [*compose, "-f", DEPLOY / "compose.yaml", "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)

    assert done.returncode == 0, done.stderr.decode()


def answers(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False).returncode == 0
