"""Whether a worker does its work, and its metrics, over HTTP: for Prometheus, service managers and clusters.

`/livez` is answered as long as the process turns; one that is stopped or hangs does not answer, and one that
is stuck ends by itself. `/readyz` says whether the worker's partitions are taken care of, or why not. Whoever
can reach the port may read all of it: names of ladders, and counts.
"""

import json
import logging
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from streams.runtime.assignment import Assignment
from streams.runtime.backlog import LOOK_INTERVAL, BacklogProbe
from streams.runtime.metrics import REGISTRY, PartitionGauges

log = logging.getLogger(__name__)

# Seconds of silence after which a worker is not ready: several looks, each with its patience.
UNANSWERED_AFTER = 12.0
# Seconds for which a partition may stand still with records behind it. Twice as many end the process.
STANDING_AFTER = 10.0


class PortError(Exception):
    """The port for metrics and health cannot be had; the message says why."""


@dataclass(frozen=True)
class Listening:
    """Where a worker answers, and how many seconds it may be behind and still be ready."""

    socket: socket.socket
    max_lag: float

    @property
    def port(self) -> int:
        """Return the port, which may have been chosen by the system."""
        return int(self.socket.getsockname()[1])


def listen(host: str, port: int, max_lag: float) -> Listening:
    """Return a port that is taken; port 0 is any that is free. Raises PortError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return Listening(socket.create_server((host, port), family=family), max_lag)
    except OSError as error:
        raise PortError(
            f"http.port: cannot listen on port {port} of {host}: {error.strerror}; give another with "
            f"--http-port, or another address with --http-host"
        ) from error


class Health:
    """Judges a worker by its assignment and by what the broker says of its partitions."""

    def __init__(self, assignment: Assignment, backlog: BacklogProbe, max_lag: float) -> None:
        self._assignment = assignment
        self._backlog = backlog
        self._max_lag = max_lag

    def reasons(self, now: float) -> list[str]:
        """Return why the worker is not ready, if it is not; `now` is of a clock that never goes back.

        One that has joined its group and was given no partition stands by, and is ready.
        """
        return [
            *self._of_the_broker(now),
            *(reason for partition in self._assignment.partitions for reason in self._of(partition, now)),
        ]

    def _of_the_broker(self, now: float) -> Iterator[str]:
        if not self._assignment.has_joined:
            yield "the group has not given out its partitions yet"
        answered = self._backlog.answered
        if answered is None:
            yield "the broker has not answered yet"
        elif now - answered > UNANSWERED_AFTER:
            yield f"the broker has not answered for {now - answered:.0f} s"

    def _of(self, partition: Any, now: float) -> Iterator[str]:
        number = partition.number
        if not partition.is_open:
            yield f"partition {number} is being loaded"
            return
        backlog = self._backlog.backlogs.get(number)
        if backlog is not None and backlog.seconds > self._max_lag:
            yield (
                f"partition {number} is {backlog.seconds:.0f} s behind ({backlog.records} records), more "
                f"than http.ready.lag = {self._max_lag:g}"
            )
        standing = now - self._backlog.standing_since.get(number, now)
        if standing > STANDING_AFTER:
            yield (
                f"partition {number} has stood at offset {partition.next_offset} for {standing:.0f} s, with "
                f"records behind it"
            )


async def serve(listening: Listening, health: Health) -> web.AppRunner:
    """Answer on the port from now on; `cleanup` of what is returned ends it."""
    app = web.Application()
    app.router.add_get("/metrics", _metrics)
    app.router.add_get("/livez", _live)

    async def ready(_request: web.Request) -> web.Response:
        return _ready(health.reasons(time.monotonic()))

    app.router.add_get("/readyz", ready)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    await web.SockSite(runner, listening.socket).start()
    log.info("metrics and health on port %d: /metrics, /livez, /readyz", listening.port)
    return runner


async def _metrics(_request: web.Request) -> web.Response:
    return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _live(_request: web.Request) -> web.Response:
    return _json({"status": "live"}, 200)


def _ready(reasons: Sequence[str]) -> web.Response:
    if reasons:
        return _json({"status": "not ready", "reasons": list(reasons)}, 503)
    return _json({"status": "ready"}, 200)


def _json(content: dict[str, Any], status: int) -> web.Response:
    return web.json_response(content, status=status, dumps=lambda value: json.dumps(value) + "\n")


async def observe(app: Any, assignment: Assignment, backlog: BacklogProbe, listening: Listening) -> None:
    """Answer on the port and look at the broker, until the Faust app stops."""
    gauges = PartitionGauges(lambda: assignment.partitions, lambda: backlog.backlogs, assignment.now)
    REGISTRY.register(gauges)
    runner = await serve(listening, Health(assignment, backlog, listening.max_lag))
    try:
        while not app.should_stop:
            await backlog.look(assignment.partitions, time.monotonic())
            await app.sleep(LOOK_INTERVAL)
    finally:
        await runner.cleanup()
        REGISTRY.unregister(gauges)
