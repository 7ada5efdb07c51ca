"""The tests of the alert rules, with the evaluator of the tests where Prometheus' own tool is not there."""

import re
from typing import Any

import pytest
import yaml
from deployed import DEPLOY, load
from promql import STALE, Labels, Rules, Series, seconds_of

FILES = sorted((DEPLOY / "prometheus" / "tests").glob("*.yaml"))
GROUPS = load("prometheus/rules/ladderlog.yaml")["groups"]
CASES = [
    pytest.param(document["evaluation_interval"], test, id=test["name"])
    for document in (yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES)
    for test in document["tests"]
]
NAME = re.compile(r"(?P<name>\w+)\{(?P<labels>.*)\}")
LABEL = re.compile(r'(\w+)="([^"]*)"')
STEPS = re.compile(r"(?P<start>-?[\d.]+)(?P<step>[+-][\d.]+)?x(?P<times>\d+)")


def test_there_are_tests_of_every_alert() -> None:
    alerts = {rule["alert"] for group in GROUPS for rule in group["rules"] if "alert" in rule}

    assert alerts == {
        case["alertname"]
        for file in FILES
        for test in yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }


@pytest.mark.parametrize(("pace", "test"), CASES)
def test_alerts_fire_when_they_should(pace: str, test: dict[str, Any]) -> None:
    series = Series()
    for given in test["input_series"]:
        name, labels = labelled(given["series"])
        for step, value in enumerate(values(given["values"])):
            if value != "_":
                series.add(name, labels, step * seconds_of(test["interval"]), value)
    rules = Rules(GROUPS, series)
    moment = 0.0

    for case in sorted(test["alert_rule_test"], key=lambda case: seconds_of(case["eval_time"])):
        while moment <= seconds_of(case["eval_time"]):
            rules.evaluate(moment)
            moment += seconds_of(pace)
        expected = [frozenset(alert["exp_labels"].items()) for alert in case["exp_alerts"]]
        assert rules.firing.get(case["alertname"], []) == expected, (case["alertname"], case["eval_time"])


def labelled(text: str) -> tuple[str, Labels]:
    """Give name and labels of a series such as `up{job="a"}`."""
    match = NAME.fullmatch(text)
    assert match is not None, text
    return match["name"], frozenset(LABEL.findall(match["labels"]))


def values(text: str) -> list[Any]:
    """Give the values of promtool's notation: `1+2x3` is 1, 3, 5, 7."""
    given: list[Any] = []
    for part in text.split():
        if part == "stale":
            given.append(STALE)
        elif part.startswith("_x"):
            given += ["_"] * int(part[2:])
        else:
            match = STEPS.fullmatch(part)
            assert match is not None, part
            step = float(match["step"] or 0)
            given += [float(match["start"]) + step * number for number in range(int(match["times"]) + 1)]
    return given
