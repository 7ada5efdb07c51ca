"""Asking a worker over HTTP, as Prometheus and a cluster do."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from sites import PATIENCE

from streams.embedded.configuration import HOST, free_port

# Name and labels of a sample.
Series = tuple[str, frozenset[tuple[str, str]]]
_POLL = 0.2


@dataclass(frozen=True)
class Port:
    """The port of one worker."""

    number: int

    @classmethod
    def free(cls) -> "Port":
        """Give a port that nobody listens on."""
        return cls(free_port())

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a worker that is to answer here, on this machine alone."""
        return ("--http-port", str(self.number), "--http-host", HOST)

    def text(self, path: str, timeout: float = PATIENCE) -> tuple[int, str]:
        """Give status and body. Raises OSError when nobody answers in time."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.number}{path}", timeout=timeout) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ready(self) -> tuple[int, dict[str, Any]]:
        """Ask whether the worker is ready, and if not, why."""
        status, body = self.text("/readyz")
        return status, json.loads(body)

    def wait_until_ready(self) -> None:
        """Wait until it is."""
        self.wait_for(lambda: self.ready()[0] == 200, "ready")

    def wait_until_not_ready(self, reason: str) -> None:
        """Wait until a reason not to be ready has these words."""
        self.wait_for(lambda: any(reason in said for said in self.ready()[1].get("reasons", [])), reason)

    def wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait until something is so; while nobody listens, it is not."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if is_so():
                    return
            except (ConnectionError, urllib.error.URLError):
                pass  # it is being started
            if time.monotonic() > deadline:
                raise TimeoutError(f"not {what}")
            time.sleep(_POLL)

    def scrape(self) -> dict[Series, float]:
        """Give every sample that the worker shows."""
        return samples(self.text("/metrics")[1])


def samples(text: str) -> dict[Series, float]:
    """Give every sample of a text in Prometheus' format."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def by_label(scraped: dict[Series, float], name: str, label: str) -> dict[str, float]:
    """Give the samples of a name by one label, those that are 0 left out."""
    values: dict[str, float] = {}
    for (found, labels), value in scraped.items():
        if found == name and value:
            key = dict(labels)[label]
            values[key] = values.get(key, 0) + value
    return values
