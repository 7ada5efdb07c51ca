"""A deployment seen from outside: its rows as of the last committed transactions, and what is left to do."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiokafka import TopicPartition

from streams.core.ladders import Ladders
from streams.core.row_keys import split_key
from streams.runtime.administration import administering
from streams.runtime.changelog import PartitionState, read_states
from streams.runtime.coordinator import described
from streams.runtime.reader import end_offset, first_offset, reading
from streams.runtime.settings import Settings

_POLL_SECONDS = 0.25
# The key of the row with a ladder's count of what is pending: pending/LADDER/count.
_PENDING = "pending/"
_PENDING_PARTS = 3


@dataclass(frozen=True)
class PartitionStatus:
    """Where a partition is: the next offset, what became of the records before, and how many lie behind.

    `behind` counts offsets, of which transaction markers take a few; it is 0 when no record is left.
    `pending` counts, by ladder, the voids and versions that no rebuild has put into force.
    """

    partition: int
    offset: int
    behind: int
    counts: Mapping[str, int]
    pending: Mapping[str, int]


async def read_rows(settings: Settings) -> dict[str, Any]:
    """Return the rows of all partitions, parsed, by row key."""
    return {
        key: orjson.loads(row) for state in await read_states(settings) for key, row in state.rows.items()
    }


async def read_fold(settings: Settings, new_ladders: Callable[[], Ladders]) -> Ladders:
    """Return one fold with the rows of all partitions, for rankings."""
    ladders = new_ladders()
    for state in await read_states(settings):
        for key, row in state.rows.items():
            ladders.load(key, orjson.loads(row))
    return ladders


async def read_status(settings: Settings) -> list[PartitionStatus]:
    """Return where every partition is, with its account: what was read is the sum of the outcomes."""
    states = await read_states(settings)
    return await asyncio.gather(
        *(_status(settings, partition, state) for partition, state in enumerate(states))
    )


async def await_done(settings: Settings, seconds: float) -> list[PartitionStatus]:
    """Return where every partition is once nothing is behind, or after so many seconds."""
    deadline = time.monotonic() + seconds
    status = await read_status(settings)
    was_done = False
    # Seen twice: partitions are asked one beside the other, and what one was found to have done last may have
    # been forwarded to another that was asked before.
    while not (was_done and _is_done(status)) and time.monotonic() < deadline:
        was_done = _is_done(status)
        if not was_done:
            await asyncio.sleep(_POLL_SECONDS)
        status = await read_status(settings)
    return status


def _is_done(status: Iterable[PartitionStatus]) -> bool:
    return not any(partition.behind for partition in status)


async def members(settings: Settings) -> int:
    """Return how many workers the group has; one that was killed counts for some seconds more.

    Raises KafkaError when the broker has no answer for long.
    """
    async with administering(settings.connection) as admin:
        description = await described(admin, settings.app_id)
    # Error, name, state, protocol type, protocol, members.
    return len(description[5])


async def _status(settings: Settings, partition: int, state: PartitionState) -> PartitionStatus:
    tp = TopicPartition(settings.input_topic, partition)
    async with reading(settings.connection) as reader:
        first = await first_offset(reader, tp, state.offset)
        behind = 0 if first is None else await end_offset(reader, tp) - first
    return PartitionStatus(partition, state.offset, behind, state.counts, pending_of(state.rows))


def pending_of(rows: Mapping[str, bytes]) -> dict[str, int]:
    """Return how many voids and versions wait for a rebuild, by ladder, of the rows of a partition."""
    pending = {}
    for key, row in rows.items():
        if key.startswith(_PENDING):
            (count,) = orjson.loads(row)
            if count:
                pending[split_key(key, _PENDING_PARTS)[1]] = count
    return dict(sorted(pending.items()))
