"""As much of Prometheus as the alert rules need: series, their expressions, and alerts that last.

Held to the same tests of the rules as Prometheus' own promtool is.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

import promql_parser as ast

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Sample = tuple[float, float]

# What Prometheus writes behind the last sample of a target that no longer answers.
STALE = None
LOOKBACK = 300.0
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda one, other: one / other if other else math.nan,
}
_AGGREGATES: Mapping[str, Callable[[list[float]], float]] = {"sum": sum, "max": max, "min": min, "count": len}
_MATCHES: Mapping[Any, Callable[[str, str], bool]] = {
    "MatchOp.Equal": lambda value, wanted: value == wanted,
    "MatchOp.NotEqual": lambda value, wanted: value != wanted,
    "MatchOp.Re": lambda value, wanted: re.fullmatch(wanted, value) is not None,
    "MatchOp.NotRe": lambda value, wanted: re.fullmatch(wanted, value) is None,
}


@dataclass
class Series:
    """Every sample that was scraped or recorded, by name and labels, in order of time (in seconds)."""

    samples: dict[str, dict[Labels, list[tuple[float, float | None]]]] = field(default_factory=dict)

    def add(self, name: str, labels: Labels, moment: float, value: float | None) -> None:
        """Take in a sample."""
        self.samples.setdefault(name, {}).setdefault(labels, []).append((moment, value))

    def evaluate(self, expression: str, now: float) -> Vector:
        """Give the value of an expression at a moment, which is a vector."""
        value = self._value(ast.parse(expression), now)
        assert isinstance(value, dict), expression
        return value

    def _value(self, node: Any, now: float) -> Vector | float:
        match node:
            case ast.NumberLiteral():
                return float(node.val)
            case ast.ParenExpr():
                return self._value(node.expr, now)
            case ast.VectorSelector():
                return {
                    labels: values[-1][1]
                    for labels, values in self._select(node, now, LOOKBACK, stale=True).items()
                    if values[-1][1] is not STALE
                }
            case ast.AggregateExpr():
                return _aggregate(node, self._value(node.expr, now))
            case ast.BinaryExpr():
                return _binary(str(node.op), self._value(node.lhs, now), self._value(node.rhs, now))
            case ast.Call():
                return self._call(node, now)
        raise NotImplementedError(str(node))

    def _call(self, node: Any, now: float) -> Vector | float:
        name = node.func.name
        if name == "time":
            return now
        if name == "absent":
            found = self._value(node.args[0], now)
            return {} if found else {frozenset(): 1.0}
        if name == "histogram_quantile":
            quantile, buckets = (self._value(argument, now) for argument in node.args)
            return _quantile(quantile, buckets)
        seconds = node.args[0].range.total_seconds()
        ranges = self._select(node.args[0].vector_selector, now, seconds, stale=False)
        made = {labels: _OVER_TIME[name](values, now, seconds) for labels, values in ranges.items()}
        # A result has no name: of one metric it is made of, there is one of each labels.
        return {labels: value for labels, value in made.items() if value is not None}

    def _select(self, node: Any, now: float, seconds: float, *, stale: bool) -> dict[Labels, list[Any]]:
        """Give the samples of the last so many seconds, of the series that match."""
        chosen = {}
        for labels, samples in self.samples.get(node.name, {}).items():
            known = dict(labels)
            if all(
                _MATCHES[str(one.op)](known.get(one.name, ""), one.value) for one in node.matchers.matchers
            ):
                recent = [
                    sample
                    for sample in samples
                    if now - seconds < sample[0] <= now and (stale or sample[1] is not STALE)
                ]
                if recent:
                    chosen[labels] = recent
        return chosen


def _aggregate(node: Any, vector: Any) -> Vector:
    kept = set(node.modifier.labels) if node.modifier is not None else set()
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        groups.setdefault(frozenset(pair for pair in labels if pair[0] in kept), []).append(value)
    return {labels: float(_AGGREGATES[str(node.op)](values)) for labels, values in groups.items()}


def _binary(name: str, one: Any, other: Any) -> Vector | float:
    if name == "and":
        return {labels: value for labels, value in one.items() if labels in other}
    if name == "or":
        return {**other, **one}
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(labels, value, other[labels]) for labels, value in one.items() if labels in other]
    elif isinstance(one, dict):
        pairs = [(labels, value, other) for labels, value in one.items()]
    elif isinstance(other, dict):
        pairs = [(labels, one, value) for labels, value in other.items()]
    else:
        return _ARITHMETIC[name](one, other)
    if name in _COMPARISONS:
        return {labels: left for labels, left, right in pairs if _COMPARISONS[name](left, right)}
    return {labels: _ARITHMETIC[name](left, right) for labels, left, right in pairs}


def _increase(samples: list[Sample], now: float, seconds: float) -> float | None:
    """Extrapolate as Prometheus does: to the edges of the range, where samples lie close to them."""
    if len(samples) < 2:
        return None
    risen = samples[-1][1] - samples[0][1]
    risen += sum(before for (_, before), (_, after) in pairwise(samples) if after < before)
    covered = samples[-1][0] - samples[0][0]
    interval = covered / (len(samples) - 1)
    to_start, to_end = samples[0][0] - (now - seconds), now - samples[-1][0]
    if risen > 0 and samples[0][1] >= 0:
        # A counter was not below 0 before.
        to_start = min(to_start, covered * samples[0][1] / risen)
    edges = [gap if gap < interval * 1.1 else interval / 2 for gap in (to_start, to_end)]
    return risen * (covered + sum(edges)) / covered


def _rate(samples: list[Sample], now: float, seconds: float) -> float | None:
    risen = _increase(samples, now, seconds)
    return None if risen is None else risen / seconds


def _derivative(samples: list[Sample], now: float, seconds: float) -> float | None:  # noqa: ARG001 - as the others
    if len(samples) < 2:
        return None
    times = [moment - samples[0][0] for moment, _ in samples]
    values = [value for _, value in samples]
    mean_time, mean_value = sum(times) / len(times), sum(values) / len(values)
    spread = sum((moment - mean_time) ** 2 for moment in times)
    return sum((t - mean_time) * (v - mean_value) for t, v in zip(times, values, strict=True)) / spread


def _highest(samples: list[Sample], now: float, seconds: float) -> float | None:  # noqa: ARG001 - as the others
    return max(value for _, value in samples)


_OVER_TIME = {"increase": _increase, "rate": _rate, "deriv": _derivative, "max_over_time": _highest}


def _quantile(quantile: Any, buckets: Any) -> Vector:
    groups: dict[Labels, list[tuple[float, float]]] = {}
    for labels, count in buckets.items():
        rest = frozenset(pair for pair in labels if pair[0] != "le")
        groups.setdefault(rest, []).append((float(dict(labels)["le"]), count))
    return {labels: _quantile_of(quantile, sorted(group)) for labels, group in groups.items()}


def _quantile_of(quantile: float, buckets: list[tuple[float, float]]) -> float:
    wanted = quantile * buckets[-1][1]
    if not buckets[-1][1]:
        return math.nan
    below, lower = 0.0, 0.0
    for bound, count in buckets:
        if count >= wanted:
            if math.isinf(bound):
                return lower
            return lower + (bound - lower) * (wanted - below) / ((count - below) or 1)
        below, lower = count, bound
    return lower


class Rules:
    """Recording rules and alerts of a file, evaluated at one moment after the other."""

    def __init__(self, groups: Iterable[Mapping[str, Any]], series: Series) -> None:
        self._rules = [rule for group in groups for rule in group["rules"]]
        self._series = series
        # Since when each alert would fire, by its name and labels.
        self._since: dict[tuple[str, Labels], float] = {}
        self.firing: dict[str, list[Labels]] = {}

    def evaluate(self, now: float) -> None:
        """Record and look, at a moment after the last one."""
        since: dict[tuple[str, Labels], float] = {}
        self.firing = {}
        for rule in self._rules:
            vector = self._series.evaluate(rule["expr"], now)
            if "record" in rule:
                for labels, value in vector.items():
                    self._series.add(rule["record"], labels, now, value)
                self._end(rule["record"], vector, now)
                continue
            for labels in vector:
                key = (rule["alert"], labels)
                since[key] = self._since.get(key, now)
                if now - since[key] >= (seconds_of(rule["for"]) if "for" in rule else 0.0):
                    self.firing.setdefault(rule["alert"], []).append(
                        labels | frozenset(rule["labels"].items())
                    )
        self._since = since

    def _end(self, name: str, vector: Vector, now: float) -> None:
        """Mark series that a rule no longer gives."""
        for labels, samples in self._series.samples.get(name, {}).items():
            if labels not in vector and samples[-1][1] is not STALE:
                samples.append((now, STALE))


def seconds_of(duration: str) -> float:
    """Give a duration such as `10m` in seconds."""
    parsed: timedelta = ast.parse_duration(duration)
    return parsed.total_seconds()
