"""The units: taken by systemd, and in agreement with the command line and the worker."""

from pathlib import Path

import pytest
from deployed import DEPLOY, check_command, read, run_tool, tool, unit

from streams.runtime.exit_statuses import EXIT_REFUSED
from streams.runtime.transaction import TRANSACTION_TIMEOUT_MS

SERVICES = ["ladderlog-worker@.service", "ladderlog-audit.service"]
PROGRAM = "/opt/ladderlog/bin/ladderlog"


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_runs_a_command_that_there_is(name: str) -> None:
    program, *arguments = dict(unit(name)["Service"])["ExecStart"].split()

    assert program == PROGRAM
    check_command(arguments)


def test_a_worker_has_longer_to_stop_than_the_broker_keeps_its_transaction() -> None:
    service = dict(unit("ladderlog-worker@.service")["Service"])

    assert float(service["TimeoutStopSec"]) > TRANSACTION_TIMEOUT_MS / 1000


def test_a_failed_worker_is_restarted_and_a_refused_one_left() -> None:
    sections = unit("ladderlog-worker@.service")
    service = dict(sections["Service"])

    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == str(EXIT_REFUSED)
    assert dict(sections["Unit"])["StartLimitIntervalSec"] == "0"


def test_workers_of_one_machine_have_ports_of_their_own() -> None:
    assert "--http-port %i" in dict(unit("ladderlog-worker@.service")["Service"])["ExecStart"]


def test_the_audit_may_write_where_it_writes() -> None:
    service = dict(unit("ladderlog-audit.service")["Service"])
    *_, file = service["ExecStart"].split()

    assert Path(file).parent == Path("/var/lib") / service["StateDirectory"]
    assert service["StateDirectoryMode"] == "0755"


@pytest.mark.parametrize("name", SERVICES)
def test_services_are_nobody_in_particular(name: str) -> None:
    settings = unit(name)["Service"]

    assert ("User", "ladderlog") in settings
    assert ("NoNewPrivileges", "yes") in settings
    assert ("ProtectSystem", "strict") in settings
    assert read("systemd/ladderlog.sysusers").splitlines()[-1].startswith("u ladderlog ")


def test_secrets_come_as_files() -> None:
    settings = unit("secured.conf")["Service"]
    credentials = [value.partition(":")[0] for key, value in settings if key == "LoadCredential"]
    variables = dict(value.split("=", 1) for key, value in settings if key == "Environment")

    files = {name: value for name, value in variables.items() if value.startswith("%d/")}

    assert {value.removeprefix("%d/") for value in files.values()} == set(credentials)
    assert files.keys() == {"LADDERLOG_SASL_PASSWORD_FILE", "LADDERLOG_SSL_CA_LOCATION"}


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    files = [*SERVICES, "ladderlog-audit.timer"]
    for name in files:
        # It looks whether the program is there.
        text = (DEPLOY / "systemd" / name).read_text(encoding="utf-8").replace(PROGRAM, "/bin/true")
        (tmp_path / name).write_text(text, encoding="utf-8")
    for service in SERVICES:
        folder = tmp_path / f"{service}.d"
        folder.mkdir()
        (folder / "secured.conf").write_text(read("systemd/secured.conf"), encoding="utf-8")

    run_tool(analyze, "verify", "--man=no", *(tmp_path / name for name in files))
