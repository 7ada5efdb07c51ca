"""Every command runs with exactly the rights that are named, and names each that it has not."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from project import PROJECT
from secured import MECHANISMS, PASSWORD, USER, Certificates, SecuredBroker, ladderlog, secured_broker, token

from streams.cli.main import cli
from streams.runtime.connection import Secret, Security
from streams.runtime.exit_statuses import EXIT_NO_RIGHTS, EXIT_UNREACHABLE
from streams.runtime.rights import RIGHTS, UNASKED, Right, missing_rights, rights_of
from streams.runtime.settings import Settings
from streams.runtime.status import await_done
from streams.runtime.topics import ensure_topics

PATIENCE = 120.0
WRONG = "not the password"
GAME = (
    '{"game_id": "g-1", "ladder": "chess", "ended_at": "2026-11-30T10:00:00Z", '
    '"players": [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}]}\n'
)
LADDERS = '[ladders.chess]\nsystems = ["fundox", "weekly"]\n'


@dataclass(frozen=True)
class Secured:
    """A secured broker with a deployment on it, and a user's way to it."""

    broker: SecuredBroker
    folder: Path
    settings: Settings

    def run(self, command: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as the user."""
        config = self.broker.properties(self.folder)
        servers = self.broker.servers("SASL_SSL")
        given = ("--bootstrap-servers", servers, "--command-config", str(config))
        return ladderlog(command, *given, *arguments)

    def worker(self) -> "subprocess.Popen[str]":
        """Start a worker as the user."""
        config = self.broker.properties(self.folder)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")}
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "streams", "worker", "--command-config", str(config)),
                *("--bootstrap-servers", self.broker.servers("SASL_SSL")),
                *("--ladders", str(self.folder / "ladders.toml")),
            ],
            env={**inherited, "PYTHONPATH": str(PROJECT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    (folder / "game.jsonl").write_text(GAME)
    (folder / "another.jsonl").write_text(GAME.replace("g-1", "g-2"))
    (folder / "ladders.toml").write_text(LADDERS)
    with secured_broker(folder) as broker:
        asyncio.run(ensure_topics(Settings(broker.open_servers)))
        security = Security(
            "SASL_SSL", "SCRAM-SHA-512", USER, Secret(PASSWORD), ssl_ca_location=broker.certificates.ca
        )
        yield Secured(broker, folder, Settings(broker.servers("SASL_SSL"), security=security))


def test_the_rights_of_every_command_that_reaches_a_broker_are_named() -> None:
    reaching = {
        name
        for name, command in cli.commands.items()
        if any("--bootstrap-servers" in parameter.opts for parameter in command.params)
    }

    assert reaching == RIGHTS.keys() | UNASKED.keys()


# In this order, each with its own rights alone; behind `produce` a worker rates what was sent.
LIFE = {
    "topics": [],
    "produce": ["game.jsonl"],
    "status": [],
    "game": ["--ladder", "chess", "--game-id", "g-1"],
    "explain": ["--ladder", "chess", "--game-id", "g-1", "--player", "ann"],
    "audit": [],
    "void": ["--ladder", "chess", "--game-id", "g-1", "--reason", "a test"],
    "rebuild": [],
}
MORE = {
    "simulate": ["--games", "1"],
    "ranking": ["--ladder", "chess", "--system", "fundox"],
    "week": ["--ladder", "chess"],
    "preview": ["--ladder", "chess", "--players", "ann,bob"],
    "replay": [],
    "compare": ["--with", "ladders.toml"],
    "snapshot": ["--out", "snapshot"],
    "restore": [],
}
FILES = ("game.jsonl", "another.jsonl", "ladders.toml", "snapshot")


def run_with_its_rights(secured: Secured, command: str, arguments: list[str]) -> None:
    secured.broker.grant(rights_of(secured.settings, command))

    run = secured.run(command, *(str(secured.folder / a) if a in FILES else a for a in arguments))

    assert run.returncode == 0, (command, run.stdout, run.stderr)


def rate_with_its_rights(secured: Secured) -> None:
    secured.broker.grant(rights_of(secured.settings, "worker"))
    worker = secured.worker()
    try:
        partitions = asyncio.run(await_done(Settings(secured.broker.open_servers), PATIENCE))
    finally:
        worker.terminate()
        printed, _ = worker.communicate(timeout=PATIENCE)

    assert worker.returncode == 0, printed
    assert sum(partition.counts.get("rated", 0) for partition in partitions) >= 1, printed


@pytest.mark.kafka
def test_every_step_of_a_life_needs_the_rights_named_and_no_more(secured: Secured) -> None:
    for command, arguments in LIFE.items():
        run_with_its_rights(secured, command, arguments)
        if command == "produce":
            rate_with_its_rights(secured)


@pytest.mark.kafka
@pytest.mark.soak
def test_the_other_commands_need_the_rights_named_and_no_more(secured: Secured) -> None:
    # Of a deployment that has begun, whichever tests ran before.
    run_with_its_rights(secured, "produce", ["another.jsonl"])
    rate_with_its_rights(secured)
    for command, arguments in MORE.items():
        run_with_its_rights(secured, command, arguments)


@pytest.mark.kafka
@pytest.mark.parametrize("command", ["worker", "topics", "status", "void"])
def test_each_right_that_is_missing_is_named_alone(command: str, secured: Secured) -> None:
    wanted = rights_of(secured.settings, command)
    for right in wanted:
        if right.resource == "transactional id" or right.operation == "DESCRIBE":
            continue  # of the one the broker tells nothing, the other comes with reading
        # One who may not even look at a topic is told that nothing of it is allowed.
        looking = Right("DESCRIBE", right.resource, right.name)
        secured.broker.grant({looking, *wanted} - {right})

        assert asyncio.run(missing_rights(secured.settings, wanted)) == [right]


@pytest.mark.kafka
def test_without_the_right_to_its_group_a_worker_does_not_idle(secured: Secured) -> None:
    rights = rights_of(secured.settings, "worker")
    secured.broker.grant([right for right in rights if right.resource != "group"])

    run = secured.run("worker")

    assert run.returncode == EXIT_NO_RIGHTS
    assert run.stderr.startswith(f"Error: {USER} may not do what it has to: READ on group ladderlog. Grant ")
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.kafka
def test_without_the_right_to_its_transactional_ids_a_worker_names_them(secured: Secured) -> None:
    rights = rights_of(secured.settings, "worker")
    secured.broker.grant([right for right in rights if right.resource != "transactional id"])

    run = secured.run("worker")

    assert run.returncode == EXIT_NO_RIGHTS, run.stderr
    # In the log, as all that a worker says once it has begun.
    assert "--transactional-id ladderlog-game-finished- --resource-pattern-type prefixed" in run.stdout


@pytest.mark.kafka
def test_a_right_taken_away_ends_a_worker_with_its_name(secured: Secured) -> None:
    rights = rights_of(secured.settings, "worker")
    secured.broker.grant(rights)
    worker = secured.worker()
    try:
        for line in worker.stdout or ():
            if "owner from offset" in line:
                break
        secured.broker.grant([right for right in rights if str(right) != "READ on topic game-finished"])
        printed, _ = worker.communicate(timeout=PATIENCE)
    finally:
        worker.kill()

    assert worker.returncode == EXIT_NO_RIGHTS, printed
    assert "READ on topic game-finished" in printed or "TopicAuthorizationFailed" in printed


@pytest.mark.kafka
def test_who_may_not_create_topics_is_told_which(secured: Secured) -> None:
    other = replace(secured.settings, topic_prefix="other-")
    secured.broker.grant(rights_of(other, "topics"))

    run = secured.run("topics", "--topic-prefix", "other-")

    assert run.returncode == EXIT_NO_RIGHTS
    assert run.stderr.startswith(
        f"Error: {USER} may not do what it has to: CREATE on topic other-game-finished"
    )


@pytest.mark.kafka
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
def test_every_mechanism_says_who_one_is(protocol: str, mechanism: str, secured: Secured) -> None:
    secured.broker.grant([Right("READ", "topic", "game-finished")])
    token_file = secured.folder / "token"
    token_file.write_text(token())
    who = {"sasl_token_file": token_file} if mechanism == "OAUTHBEARER" else {}
    password = None if who else Secret(PASSWORD)
    ca = secured.broker.certificates.ca if protocol == "SASL_SSL" else None
    security = Security(protocol, mechanism, None if who else USER, password, ssl_ca_location=ca, **who)
    settings = Settings(secured.broker.servers(protocol), security=security)
    wanted = [Right(operation, "topic", "game-finished") for operation in ("READ", "WRITE")]

    assert asyncio.run(missing_rights(settings, wanted)) == [wanted[1]]


@pytest.mark.kafka
def test_a_client_s_certificate_says_who_it_is(secured: Secured) -> None:
    secured.broker.grant([Right("READ", "topic", "game-finished")])
    certificates = secured.broker.certificates
    file = certificates.issue("client", "client.example", common_name=USER)
    security = Security(
        "SSL", ssl_ca_location=certificates.ca, ssl_certificate_location=file, ssl_key_location=file
    )
    settings = Settings(secured.broker.servers("SSL"), security=security)
    wanted = [Right(operation, "topic", "game-finished") for operation in ("READ", "WRITE")]

    assert asyncio.run(missing_rights(settings, wanted)) == [wanted[1]]


REFUSALS = {
    "a wrong password": ("SASL_SSL", (PASSWORD, WRONG), "it refused who we are; look at sasl.username and"),
    "an unknown user": (
        "SASL_SSL",
        (f'"{USER}"', '"nobody"'),
        "it refused who we are; look at sasl.username",
    ),
    "an unknown authority": ("SASL_SSL", ("ca.pem", "other.pem"), "its certificate cannot be trusted"),
    "plaintext to a port of TLS": (
        "SASL_SSL",
        ("SASL_SSL", "SASL_PLAINTEXT"),
        "is security.protocol SASL_PLAINTEXT what this port",
    ),
    "TLS to a port of plaintext": (
        "SASL_PLAINTEXT",
        ("", ""),
        "is security.protocol SASL_SSL what this port",
    ),
}


@pytest.mark.kafka
@pytest.mark.parametrize(("listener", "change", "message"), REFUSALS.values(), ids=list(REFUSALS))
def test_why_a_connection_is_refused_is_one_line(
    listener: str, change: tuple[str, str], message: str, secured: Secured, tmp_path: Path
) -> None:
    Certificates(tmp_path).ca.rename(secured.folder / "other.pem")
    config = secured.broker.properties(tmp_path)
    lines = config.read_text().replace(*change).splitlines()
    if "SASL_PLAINTEXT" in change:
        lines = [line for line in lines if not line.startswith("ssl.")]
    config.write_text("\n".join(lines))

    run = ladderlog(
        "status", "--bootstrap-servers", secured.broker.servers(listener), "--command-config", str(config)
    )

    assert run.returncode == EXIT_UNREACHABLE, run.stderr
    assert message in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert WRONG not in run.stderr


@pytest.mark.kafka
@pytest.mark.parametrize("command", ["worker", "produce", "audit"])
def test_every_command_says_so_when_its_password_is_wrong(
    command: str, secured: Secured, tmp_path: Path
) -> None:
    config = secured.broker.properties(tmp_path)
    config.write_text(config.read_text().replace(PASSWORD, WRONG))
    servers = secured.broker.servers("SASL_SSL")
    files = [str(secured.folder / "game.jsonl")] if command == "produce" else []

    run = ladderlog(command, "--bootstrap-servers", servers, "--command-config", str(config), *files)

    assert run.returncode == EXIT_UNREACHABLE, run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert "it refused who we are" in run.stderr


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("certificate", "message"),
    [("expired", "its certificate has expired"), ("elsewhere", "its certificate is another host's")],
)
def test_a_certificate_that_does_not_hold_is_said(certificate: str, message: str, tmp_path: Path) -> None:
    with secured_broker(tmp_path, certificate) as broker:
        run = ladderlog(
            *("topics", "--bootstrap-servers", broker.servers("SASL_SSL")),
            *("--command-config", str(broker.properties(tmp_path))),
        )

    assert run.returncode == EXIT_UNREACHABLE, run.stderr
    assert message in run.stderr
