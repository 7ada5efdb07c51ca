"""The broker that knows a consumer group; a new broker begins to know groups when it is asked for one."""

import asyncio
import time
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    for_code,
)

from streams.runtime.rights_requests import GroupRightsRequest

_POLL_SECONDS = 0.25
# Longer than a broker takes that has just been started, on a busy machine.
_PATIENCE = 30.0
_NOT_YET = (GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError)


async def described(admin: AIOKafkaAdminClient, group: str) -> Any:
    """Return a group as the broker tells it: error, name, state, protocol type, protocol, members, rights.

    The rights are the bits of what this client may do with it. A group that nobody has begun yet may be asked
    about, too. Raises KafkaError when no node knows the group for long, or it is forbidden.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return await _described(admin, group)
        except _NOT_YET:
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(_POLL_SECONDS)


async def _described(admin: AIOKafkaAdminClient, group: str) -> Any:
    node = await admin.find_coordinator(group)
    answer = await admin._send_request(GroupRightsRequest([group]), node)  # noqa: SLF001 - it has no public way
    (description,) = answer.groups
    # A node that is only beginning to know its groups says so in the group's own error, beside empty fields.
    if description[0]:
        raise for_code(description[0])(f"the broker does not describe the group {group}")
    return description
