"""A deployment on a real broker for one test: its topics, what goes in, and what comes out of it."""

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from aiokafka.structs import ConsumerRecord

from streams import events
from streams.embedded.worker_process import WorkerProcess, worker_of
from streams.files.ladder_file import read_ladders
from streams.replay.audit import AuditRequest, audit
from streams.runtime.connection import Security
from streams.runtime.produce import produce_events
from streams.runtime.rebuild import rebuild_partition
from streams.runtime.settings import Settings
from streams.runtime.status import await_done
from streams.runtime.topics import ensure_topics
from streams.testing.checker import problems
from streams.testing.topics import delete_topics, rate_log, read_topic

Returned = TypeVar("Returned")

PLAINTEXT = Security()


class Deployment:
    """Topics with a prefix of their own, an application id, and a ladder file.

    `name` is both the application id and, with a dot, the prefix; `security` says how the broker is reached.
    The methods may be called from anywhere, also while an event loop runs.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        ladders: Path,
        name: str,
        partitions: int = 4,
        security: Security = PLAINTEXT,
    ) -> None:
        self.settings = Settings(
            bootstrap_servers,
            app_id=name,
            topic_prefix=f"{name}.",
            partitions=partitions,
            security=security,
        )
        self.ladders = ladders
        self.rules = read_ladders(ladders)
        _run(ensure_topics(self.settings))

    @property
    def bootstrap_servers(self) -> str:
        """The address of the broker."""
        return self.settings.bootstrap_servers

    @property
    def prefix(self) -> str:
        """What stands before the names of its topics."""
        return self.settings.topic_prefix

    def topic(self, name: str) -> str:
        """Return the full name of a topic, such as `rating-changed`."""
        return self.settings.topic(name)

    def send(self, *sent: events.Input | Mapping[str, Any]) -> None:
        """Send events to the input, each an event or its fields (`type` names it when it is no game).

        Raises AssertionError when the broker does not take one.
        """
        report = _run(produce_events(self.settings, map(_fields, sent), "test", _NoProgress()))
        if report.failed:
            raise AssertionError(f"the broker did not take {report.failed}")

    def rate(self) -> None:
        """Rate all that is on the log, as a worker does, in this process: in less time than one starts in.

        A worker that runs beside it is fenced, and ends.
        """
        _run(rate_log(self.settings, self.rules))

    def worker(self) -> AbstractContextManager[WorkerProcess]:
        """Return a worker process that runs as long as the block, and owns all partitions when it begins."""
        return worker_of(self.settings, self.ladders)

    def wait_until_done(self, seconds: float = 120) -> None:
        """Wait until workers have done all that is on the log. Raises TimeoutError."""
        status = _run(await_done(self.settings, seconds))
        behind = {each.partition: each.behind for each in status if each.behind}
        if behind:
            raise TimeoutError(f"after {seconds:.0f} seconds offsets are left, by partition: {behind}")

    def rebuild(self) -> None:
        """Put voided and corrected games into force."""
        for partition in range(self.settings.partitions):
            _run(rebuild_partition(self.settings, self.rules, partition, _NoProgress(), dry_run=False))

    def published(self, name: str) -> list[ConsumerRecord]:
        """Return what was published to a topic, such as `rating-changed`, partition after partition."""
        by_partition = _run(read_topic(self.settings.connection, self.topic(name)))
        return [record for records in by_partition.values() for record in records]

    def problems(self) -> list[str]:
        """Return what differs from the fold of the input, and what is wrong with what was published."""
        report = _run(audit(AuditRequest(self.settings, self.rules)))
        return [
            *(difference.text() for difference in report.differences),
            *report.notes,
            *problems(self.published(events.RATING_CHANGED)),
            *problems(self.published(events.COMPETITION_CLOSED)),
        ]

    def remove(self) -> None:
        """Delete its topics."""
        _run(delete_topics(self.settings.connection, self.settings.all_topics))


class _NoProgress:
    """A progress bar for nobody."""

    def update(self, _steps: int) -> None:
        """Show nothing."""


def _fields(event: events.Input | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(event, Mapping):
        return dict(event)
    return {"type": events.name_of(event), **msgspec.to_builtins(event)}


def _run(coroutine: Coroutine[Any, Any, Returned]) -> Returned:
    """Return what a coroutine returns, also to a caller who has an event loop running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
