"""Alert rules and dashboard: valid, tested, and made of metrics that there are."""

import json
import re
from itertools import combinations
from typing import Any

import promql_parser
import pytest
from deployed import DEPLOY, load, read, run_tool, tool

RULES_FILE = DEPLOY / "prometheus" / "rules" / "ladderlog.yaml"
RULE_TESTS = sorted((DEPLOY / "prometheus" / "tests").glob("*.yaml"))
DASHBOARD = json.loads(read("grafana/dashboards/ladderlog.json"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
WIDTH = 24


def rules() -> list[dict[str, Any]]:
    return [rule for group in load("prometheus/rules/ladderlog.yaml")["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def rule_tests() -> list[dict[str, Any]]:
    return [
        case
        for file in RULE_TESTS
        for test in load(str(file.relative_to(DEPLOY)))["tests"]
        for case in test["alert_rule_test"]
    ]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_is_promql(rule: dict[str, Any]) -> None:
    promql_parser.parse(rule["expr"])


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_in_promql_and_says_what_it_shows(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        promql_parser.parse(without_macros(target["expr"]))
        assert target["datasource"]["uid"] == "${datasource}"
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]


def without_macros(expression: str) -> str:
    """Return an expression of the dashboard with what Grafana puts in place of its variables."""
    return expression.replace("$__rate_interval", "1m").replace("$job", ".*")


def test_panels_lie_side_by_side_and_have_numbers_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    places = [panel["gridPos"] for panel in panels]

    overlapping = [
        (one, other)
        for one, other in combinations(places, 2)
        if one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    ]

    assert overlapping == []
    assert all(place["x"] + place["w"] <= WIDTH for place in places)
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_says_how_bad_it_is_and_what_it_means(alert: dict[str, Any]) -> None:
    assert alert["alert"].startswith("Ladderlog")
    assert alert["labels"]["severity"] in {"info", "warning", "critical"}
    assert alert["annotations"].keys() == {"summary", "description"}


def test_the_readme_says_what_to_do_on_each_alert() -> None:
    described = re.findall(r"^\| `(Ladderlog\w+)` \|", read("README.md"), flags=re.MULTILINE)

    assert described == [alert["alert"] for alert in alerts()]


def test_every_alert_is_shown_to_fire_and_to_keep_silent() -> None:
    cases = rule_tests()
    names = {alert["alert"] for alert in alerts()}

    assert {case["alertname"] for case in cases if case["exp_alerts"]} == names
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == names


def test_promtool_takes_the_rules() -> None:
    run_tool(tool("promtool"), "check", "rules", RULES_FILE)


def test_promtool_finds_that_alerts_fire_when_they_should() -> None:
    run_tool(tool("promtool"), "test", "rules", *RULE_TESTS)


def test_promtool_takes_what_prometheus_is_to_scrape() -> None:
    run_tool(tool("promtool"), "check", "config", "--syntax-only", DEPLOY / "prometheus" / "prometheus.yaml")
