"""The broker that knows a consumer group; a new broker begins to know groups when it is asked for one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError, GroupLoadInProgressError

_POLL_SECONDS = 0.25
# Longer than a broker takes that has just been started, on a busy machine.
_PATIENCE = 30.0


async def coordinator_of(admin: AIOKafkaAdminClient, group: str) -> int:
    """Return the node that knows a group. Raises KafkaError when none does for long, or it is forbidden."""
    return int(await _patiently(lambda: admin.find_coordinator(group)))


async def described(admin: AIOKafkaAdminClient, group: str) -> Any:
    """Return the broker's description of a group. Raises KafkaError as `coordinator_of` does."""
    return await _patiently(lambda: admin.describe_consumer_groups([group]))


async def _patiently(ask: Callable[[], Awaitable[Any]]) -> Any:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return await ask()
        except (GroupCoordinatorNotAvailableError, GroupLoadInProgressError):
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(_POLL_SECONDS)
