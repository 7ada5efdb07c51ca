"""compose.yaml: valid, and in agreement with the command line, the worker and the files beside it."""

import copy
import re
import subprocess
import tomllib
from typing import Any

import compose_spec
import pytest
import yaml
from deployed import DEPLOY, check_command, composed, load, read, run_tool, tool
from project import PROJECT

from streams.embedded.container import IMAGE
from streams.runtime.transaction import TRANSACTION_TIMEOUT_MS

OURS = {"topics", "worker", "audit", "audit-volume"}


class WithoutAliases(yaml.SafeDumper):
    """Writes what stands at several places at each of them."""

    def ignore_aliases(self, _data: object) -> bool:
        """Say that nothing is to be written as an alias."""
        return True


def validate(composition: dict[str, Any]) -> None:
    """Raise ValueError for what the Compose specification does not know."""
    parsed = compose_spec.PyCompose.from_yaml(yaml.dump(composition, Dumper=WithoutAliases))
    parsed.validate()


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_it_follows_the_specification() -> None:
    validate(composed())


@pytest.mark.parametrize(
    "mistake", [{"restrat": "on-failure"}, {"init": "maybe"}, {"healthcheck": {"intervall": "15s"}}]
)
def test_a_mistake_in_it_would_be_seen(mistake: dict[str, Any]) -> None:
    composition = copy.deepcopy(composed())
    composition["services"]["worker"].update(mistake)

    with pytest.raises(ValueError, match=next(iter(mistake))):
        validate(composition)


def test_docker_compose_takes_it() -> None:
    docker = tool("docker")
    found = subprocess.run([docker, "compose", "version"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip("there is no docker compose here")

    run_tool(docker, "compose", "-f", DEPLOY / "compose.yaml", "config", "--quiet")


def test_services_run_commands_that_there_are() -> None:
    services = composed()["services"]

    commands = {name: services[name]["command"] for name in OURS}

    assert commands.pop("audit-volume") == ["--version"]
    for command in commands.values():
        check_command(command)


def test_services_wait_for_what_they_need() -> None:
    services = composed()["services"]

    waits = {
        name: {needed: how["condition"] for needed, how in service["depends_on"].items()}
        for name, service in services.items()
        if isinstance(service.get("depends_on"), dict)
    }

    assert waits == {
        "topics": {"kafka": "service_healthy"},
        "worker": {"kafka": "service_healthy", "topics": "service_completed_successfully"},
        "audit": {"kafka": "service_healthy"},
        "audit-exporter": {"audit-volume": "service_completed_successfully"},
    }
    assert "test" in services["kafka"]["healthcheck"]
    assert {needed for needs in waits.values() for needed in needs} <= services.keys()


def test_workers_come_again_and_have_longer_to_stop_than_the_broker_keeps_their_transaction() -> None:
    worker = composed()["services"]["worker"]

    assert worker["restart"] == "on-failure"
    assert worker["deploy"]["replicas"] == 2
    assert seconds(worker["stop_grace_period"]) > TRANSACTION_TIMEOUT_MS / 1000


def test_every_image_has_a_version() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    images = {name: service["image"] for name, service in composed()["services"].items()}

    assert images["kafka"] == IMAGE
    assert {images[name] for name in OURS} == {f"ladderlog:{version}"}
    assert [image for image in images.values() if not re.fullmatch(r"[\w/-]+:v?\d+\.\d+\.\d+", image)] == []


def test_nothing_but_the_ladder_file_and_volumes_is_given_to_our_containers() -> None:
    services = composed()["services"]

    for name in OURS:
        service = services[name]
        assert service["read_only"] is True
        assert service["init"] is True
        assert all(mount.get("read_only") or mount["type"] == "volume" for mount in service["volumes"])


def test_the_ladder_file_is_mounted_where_commands_look() -> None:
    services = composed()["services"]

    for name in OURS - {"audit-volume"}:
        mount = services[name]["volumes"][0]
        assert mount["target"] == services[name]["environment"]["LADDERLOG_LADDERS"]
        assert (DEPLOY / mount["source"]).is_file()
        assert mount["bind"] == {"create_host_path": False}


def test_what_is_mounted_from_here_is_here() -> None:
    mounts = [
        mount
        for service in composed()["services"].values()
        for mount in service.get("volumes", [])
        if isinstance(mount, dict) and mount["type"] == "bind"
    ]

    assert len(mounts) >= 6
    assert [mount["source"] for mount in mounts if not (DEPLOY / mount["source"]).exists()] == []


def test_prometheus_asks_the_workers_where_they_answer() -> None:
    services = composed()["services"]
    command = services["worker"]["command"]
    port = int(command[command.index("--http-port") + 1])
    workers, audit = load("prometheus/prometheus.yaml")["scrape_configs"]

    (found,) = workers["dns_sd_configs"]

    assert (found["names"], found["port"]) == (["worker"], port)
    assert f"localhost:{port}/readyz" in services["worker"]["healthcheck"]["test"][-1]
    assert audit["static_configs"] == [{"targets": ["audit-exporter:9100"]}]


def test_the_exporter_reads_the_folder_that_the_audit_writes() -> None:
    services = composed()["services"]
    (exported,) = [
        option for option in services["audit-exporter"]["command"] if "textfile.directory" in option
    ]
    file = services["audit"]["command"][-1]

    assert exported.partition("=")[2] == file.rpartition("/")[0]
    assert file.endswith(".prom")
    assert f"--owner=10001 --group=10001 {file.rpartition('/')[0]}" in read("Dockerfile")


def test_grafana_finds_its_dashboard_and_prometheus() -> None:
    grafana = composed()["services"]["grafana"]
    (provider,) = load("grafana/provisioning/dashboards/ladderlog.yaml")["providers"]
    (source,) = load("grafana/provisioning/datasources/prometheus.yaml")["datasources"]

    targets = {mount["target"]: mount["source"] for mount in grafana["volumes"]}

    assert targets["/etc/grafana/provisioning"] == "./grafana/provisioning"
    assert targets[provider["options"]["path"]] == "./grafana/dashboards"
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/ladderlog.json"
    assert source["url"] == "http://prometheus:9090"


def test_what_has_no_password_is_seen_on_this_machine_only() -> None:
    ports = [port for service in composed()["services"].values() for port in service.get("ports", [])]

    assert len(ports) == 3
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
