"""Every metric and label that a rule or a panel asks for is shown by a worker or written by an audit."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import promql_parser
import pytest
from deployed import load, read
from project import PROJECT
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from season import events
from sites import Site
from workers import OWNER, Worker

from streams.embedded.configuration import HOST, free_port

pytestmark = pytest.mark.kafka

GAMES = 800
# Prometheus makes the one of each scrape and the other of each alert.
PROMETHEUS = {"up", "ALERTS"}
# Where a sample is from says Prometheus.
TARGET_LABELS = {"job", "instance"}
SUFFIXES = re.compile(r"_(?:bucket|sum|count|total)$")
# Libraries bring these; which there are differs from one operating system to the other.
OF_LIBRARIES = ("python_", "process_")


def expressions() -> Iterator[str]:
    """Yield every expression of the rules and of the dashboard, without its macros."""
    for group in load("prometheus/rules/ladderlog.yaml")["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    dashboard = json.loads(read("grafana/dashboards/ladderlog.json"))
    yield from (annotation["expr"] for annotation in dashboard["annotations"]["list"])
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"].replace("$__rate_interval", "1m").replace("$job", ".*")
    (jobs,) = re.findall(r"label_values\((\w+), job\)", dashboard["templating"]["list"][1]["definition"])
    yield jobs


def selected() -> dict[str, set[str]]:
    """Return the metrics that are asked for, each with the labels that something asks of it."""
    asked: dict[str, set[str]] = {}

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            labels = {matcher.name for matcher in node.matchers.matchers}
            asked.setdefault(node.name, set()).update(labels)
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            for name in names_in(node.expr):
                asked.setdefault(name, set()).update(node.modifier.labels)

    for expression in expressions():
        promql_parser.walk(promql_parser.parse(expression), visit)
    return asked


def names_in(expression: promql_parser.Expr) -> list[str]:
    names: list[str] = []

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            names.append(node.name)

    promql_parser.walk(expression, visit)
    return names


def recorded() -> set[str]:
    rules = [rule for group in load("prometheus/rules/ladderlog.yaml")["groups"] for rule in group["rules"]]
    return {rule["record"] for rule in rules if "record" in rule}


def family(name: str) -> str:
    """Return the name of a metric without what its kind adds."""
    return SUFFIXES.sub("", name)


@pytest.fixture
def exported(site: Site, start_worker: Callable[..., Worker], tmp_path: Path) -> dict[str, Metric]:
    """Give what a worker shows after its work, and what the audit of it writes, by the names of metrics."""
    port = free_port()
    worker = start_worker(site, options=("--http-port", str(port)))
    worker.wait_for(OWNER, times=site.settings.partitions)
    site.produce(events(GAMES))
    site.produce_records([{"value": b"no event"}])
    site.wait_until_done()
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=60) as response:
        text = response.read().decode()
    file = tmp_path / "audit.prom"
    options = {
        "--bootstrap-servers": site.settings.bootstrap_servers,
        "--app-id": site.settings.app_id,
        "--topic-prefix": site.settings.topic_prefix,
        "--textfile": str(file),
    }
    audit = [
        sys.executable,
        "-m",
        "streams",
        "audit",
        *(word for option in options.items() for word in option),
    ]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    subprocess.run(audit, env=environment, cwd=tmp_path, check=True, capture_output=True)
    return {
        family(metric.name): metric
        for metric in text_string_to_metric_families(text + file.read_text(encoding="utf-8"))
        if not metric.name.startswith(OF_LIBRARIES) and not metric.name.endswith("_created")
    }


def test_rules_and_panels_ask_for_what_there_is_and_forget_none(exported: dict[str, Metric]) -> None:
    asked = {name: labels for name, labels in selected().items() if name not in recorded() | PROMETHEUS}

    unknown = {
        (name, label)
        for name, labels in asked.items()
        if (metric := exported.get(family(name))) is not None and metric.samples
        for label in labels - TARGET_LABELS - labels_of(metric)
    }

    assert {family(name) for name in asked} == exported.keys()
    assert unknown == set()


def labels_of(metric: Metric) -> set[str]:
    """Return the labels of a metric's samples; it has none before the first of them."""
    return {name for sample in metric.samples for name in sample.labels}
