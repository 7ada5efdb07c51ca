"""Whether Kafka answers yet, and whether it is the expected one."""

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError


def await_kafka(
    address: str, deadline: float, check: Callable[[], None], cluster: Callable[[], str | None]
) -> None:
    """Ask Kafka to describe itself until it does; `check` raises when asking has become pointless.

    The cluster's id must be the one that `cluster` returns, if any: another Kafka may have come to the port
    first. Raises TimeoutError at the deadline, a moment of `time.monotonic`.
    """
    while time.monotonic() < deadline:
        check()
        # A client logs every refused connection as an error, a socket does not.
        if accepts(address):
            answered = _run(_describe(address))
            if answered is not None and answered == (cluster() or answered):
                check()
                return
        time.sleep(0.05)
    raise TimeoutError


def accepts(address: str) -> bool:
    """Say whether somebody listens on an address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _run(coroutine: Coroutine[Any, Any, str | None]) -> str | None:
    """Return what a coroutine returns, also to a caller who has an event loop running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


async def _describe(address: str) -> str | None:
    """Return the cluster's id; None while no broker is part of it."""
    admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=5_000)
    try:
        await admin.start()
        cluster = await admin.describe_cluster()
    except (KafkaError, TimeoutError):
        return None
    finally:
        await admin.close()
    return str(cluster["cluster_id"]) if cluster["brokers"] else None
