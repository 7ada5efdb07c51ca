"""The manifests: valid, rendered by kustomize, and in agreement with the command line and the worker."""

import tomllib
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
import yaml
from deployed import DEPLOY, check_command, read, run_tool, tool
from project import PROJECT

from streams.core.rules import parse_ladders
from streams.runtime.transaction import TRANSACTION_TIMEOUT_MS

FOLDER = DEPLOY / "kubernetes"
# One that clusters are slow to leave, and the newest that is known.
VERSIONS = ["1.33", "1.37"]
# Seconds in which a worker loads a million players (docs/explanation/performance.md).
LOADING = 12.0
POD_KINDS = {"Deployment", "Job", "CronJob"}

Manifest = dict[str, Any]


@pytest.fixture(scope="module", params=["base", "dev", "prod"])
def rendered(request: pytest.FixtureRequest) -> list[Manifest]:
    """Give what kustomize makes of a folder."""
    text = run_tool(tool("kubectl"), "kustomize", FOLDER / request.param)
    return list(yaml.safe_load_all(text))


def written() -> list[Manifest]:
    """Return the manifests as they stand in the files, without what kustomize adds."""
    files = [path for path in sorted(FOLDER.rglob("*.yaml")) if path.name != "kustomization.yaml"]
    return [manifest for path in files for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def named(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    (manifest,) = [each for each in manifests if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return manifest


def pod(manifest: Manifest) -> Manifest:
    """Return the template of the pods that a manifest makes."""
    spec = manifest["spec"]
    return dict((spec["jobTemplate"]["spec"] if manifest["kind"] == "CronJob" else spec)["template"])


def pods(manifests: list[Manifest]) -> Iterator[Manifest]:
    return (pod(manifest) for manifest in manifests if manifest["kind"] in POD_KINDS)


def ours(manifests: list[Manifest]) -> list[tuple[Manifest, Manifest]]:
    """Return the containers of our image, each with its pod."""
    return [
        (template, container)
        for template in pods(manifests)
        for container in template["spec"]["containers"]
        if container["image"].split(":")[0] == "ladderlog"
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_kustomize_makes_follows_the_api(rendered: list[Manifest], version: str) -> None:
    for manifest in rendered:
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_stands_in_the_files_follows_the_api(version: str) -> None:
    manifests = written()

    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)
    assert {manifest["kind"] for manifest in manifests} >= POD_KINDS


def test_every_manifest_is_a_resource_of_its_kustomization() -> None:
    for folder in ("base", "dev", "prod"):
        kustomization = yaml.safe_load(read(f"kubernetes/{folder}/kustomization.yaml"))
        files = {path.name for path in (FOLDER / folder).glob("*.yaml")} - {"kustomization.yaml"}

        assert {name for name in kustomization["resources"] if name.endswith(".yaml")} == files


def test_containers_run_commands_that_there_are() -> None:
    commands = [container["args"] for _, container in ours(written())]

    for command in commands:
        check_command(command)
    assert {command[0] for command in commands} == {"topics", "worker", "audit"}


def test_the_image_has_the_version_of_the_project() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    kustomization = yaml.safe_load(read("kubernetes/base/kustomization.yaml"))

    assert kustomization["images"] == [{"name": "ladderlog", "newTag": version}]


def test_a_worker_has_longer_to_stop_than_a_transaction_and_its_loading_may_take() -> None:
    worker = pod(named(written(), "Deployment", "ladderlog-worker"))["spec"]

    assert worker["terminationGracePeriodSeconds"] > TRANSACTION_TIMEOUT_MS / 1000 + LOADING


def test_probes_ask_where_the_worker_answers() -> None:
    (container,) = pod(named(written(), "Deployment", "ladderlog-worker"))["spec"]["containers"]
    (port,) = container["ports"]

    paths = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}

    assert paths == {
        "startup": {"path": "/livez", "port": "http"},
        "liveness": {"path": "/livez", "port": "http"},
        "readiness": {"path": "/readyz", "port": "http"},
    }
    assert container["args"][container["args"].index("--http-port") + 1] == str(port["containerPort"])
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] > 10 * LOADING


def test_no_container_has_rights_or_a_disk_that_it_may_write_to() -> None:
    for template in pods(written()):
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"].keys() == {"memory"}
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}


def test_secrets_are_files_that_a_cluster_without_passwords_need_not_have() -> None:
    for template, container in ours(written()):
        volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}

        secret = volumes["kafka"]["secret"]
        assert (secret["secretName"], secret["optional"]) == ("ladderlog-kafka", True)
        assert mounts["kafka"] == {"name": "kafka", "mountPath": "/etc/ladderlog-kafka", "readOnly": True}
        assert volumes.keys() == mounts.keys()
        assert "env" not in container
    assert [manifest for manifest in written() if manifest["kind"] == "Secret"] == []


def test_production_reads_its_secrets_where_they_are_mounted() -> None:
    kustomization = yaml.safe_load(read("kubernetes/prod/kustomization.yaml"))
    (settings,) = kustomization["configMapGenerator"]
    variables = dict(literal.split("=", 1) for literal in settings["literals"])

    files = {variables["LADDERLOG_SASL_PASSWORD_FILE"], variables["LADDERLOG_SSL_CA_LOCATION"]}

    assert files == {"/etc/ladderlog-kafka/password", "/etc/ladderlog-kafka/ca.pem"}
    for file in files:
        assert f"--from-file={file.rpartition('/')[2]}" in read("kubernetes/prod/kustomization.yaml")


def test_every_selector_finds_its_pods(rendered: list[Manifest]) -> None:
    labels = [template["metadata"]["labels"] for template in pods(rendered)]
    selectors = [
        manifest["spec"]["selector"]["matchLabels"]
        for manifest in rendered
        if manifest["kind"] in ("Deployment", "PodDisruptionBudget")
    ]
    policy = named(rendered, "NetworkPolicy", "ladderlog")["spec"]

    assert len(selectors) == 3
    for selector in (*selectors, policy["podSelector"]["matchLabels"]):
        assert [found for found in labels if selector.items() <= found.items()] != [], selector
    assert all(policy["podSelector"]["matchLabels"].items() <= found.items() for found in labels)


def test_the_network_lets_prometheus_in_and_names_and_kafka_out(rendered: list[Manifest]) -> None:
    policy = named(rendered, "NetworkPolicy", "ladderlog")["spec"]
    names, kafka = policy["egress"]
    (prometheus,) = policy["ingress"]
    ports = {
        port["name"]
        for template in pods(rendered)
        for container in template["spec"]["containers"]
        for port in container.get("ports", [])
    }

    assert policy["policyTypes"] == ["Ingress", "Egress"]
    # Exactly: whatever else stands here selects other pods than those of the cluster's names.
    assert names["to"][0]["podSelector"] == {"matchLabels": {"k8s-app": "kube-dns"}}
    assert {port["port"] for port in names["ports"]} == {53}
    assert {port["port"] for port in kafka["ports"]} == {9092, 9093}
    assert {port["port"] for port in prometheus["ports"]} == ports


def test_workers_get_the_settings_and_ladders_that_are_made_for_them(rendered: list[Manifest]) -> None:
    maps = {each["metadata"]["name"]: each["data"] for each in rendered if each["kind"] == "ConfigMap"}

    for template, container in ours(rendered):
        (settings,) = [maps[source["configMapRef"]["name"]] for source in container["envFrom"]]
        (ladders,) = [
            maps[volume["configMap"]["name"]]
            for volume in template["spec"]["volumes"]
            if "configMap" in volume
        ]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert settings["LADDERLOG_LADDERS"] == f"{mounts['ladders']}/ladders.toml"
        assert parse_ladders(tomllib.loads(ladders["ladders.toml"])) != {}


def test_there_are_no_more_workers_than_partitions(rendered: list[Manifest]) -> None:
    (settings,) = [
        each["data"]
        for each in rendered
        if each["kind"] == "ConfigMap" and "LADDERLOG_PARTITIONS" in each["data"]
    ]
    worker = named(rendered, "Deployment", "ladderlog-worker")["spec"]

    assert 1 <= worker["replicas"] <= int(settings["LADDERLOG_PARTITIONS"])
    assert worker["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_the_exporter_reads_the_volume_that_the_audit_writes() -> None:
    audit = pod(named(written(), "CronJob", "ladderlog-audit"))
    exporter = pod(named(written(), "Deployment", "ladderlog-audit-exporter"))
    (term,) = audit["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]

    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for template in (audit, exporter)
        for volume in template["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    ]
    folder = audit["spec"]["containers"][0]["args"][-1].rpartition("/")[0]

    assert claims == ["ladderlog-audit", "ladderlog-audit"]
    assert f"--collector.textfile.directory={folder}" in exporter["spec"]["containers"][0]["args"]
    assert audit["spec"]["securityContext"]["fsGroup"] == exporter["spec"]["securityContext"]["fsGroup"]
    assert term["labelSelector"]["matchLabels"].items() >= exporter["metadata"]["labels"].items()
