"""Finds out that a worker's topics, or the whole broker, are gone: Kafka's clients would ask for ever.

Measured without this: a deleted topic was asked for again every 5 ms, and the process neither worked nor
ended; so it was with a broker that was gone.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.runtime.exit_statuses import EXIT_FAILED, EXIT_NO_RIGHTS, EXIT_REFUSED
from streams.runtime.partition import Partition
from streams.runtime.reader import high_watermarks
from streams.runtime.refusals import made_again
from streams.runtime.rights import MissingRightsError, check_rights
from streams.runtime.settings import Settings
from streams.runtime.topics import topics_on

log = logging.getLogger(__name__)

# Seconds between two looks; what is looked at costs the broker a few milliseconds.
LOOK_INTERVAL = 5.0
# Seconds. A broker that starts again takes a few; the group gives the partitions to others after ten.
UNREACHABLE_AFTER = 30.0


@dataclass(frozen=True)
class Ending:
    """Why the process has to end, and with which status."""

    status: int
    reason: str


class TopicWatch:
    """Looks now and then whether the topics of a deployment are there, and are still the same."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reached: float | None = None

    async def look(self, partitions: Sequence[Partition], now: float) -> Ending | None:
        """Return why the worker that owns these partitions has to end, if it has to.

        `now` is in seconds, of a clock that never goes back.
        """
        if self._reached is None:
            self._reached = now
        offsets = {partition: partition.next_offset for partition in partitions if partition.is_open}
        try:
            await check_rights(self._settings, "worker")
            topics = await topics_on(self._settings.connection)
            missing = [topic for topic in self._settings.all_topics if topic not in topics]
            ends = {} if missing or not offsets else await self._ends(offsets)
        except (KafkaError, TimeoutError) as error:
            return self._unreachable(error, now)
        except MissingRightsError as error:
            return Ending(EXIT_NO_RIGHTS, str(error))
        self._reached = now
        if missing:
            return Ending(EXIT_REFUSED, self._deleted(missing))
        return _made_again((partition, offset, ends[partition.tp]) for partition, offset in offsets.items())

    async def _ends(self, partitions: Iterable[Partition]) -> dict[TopicPartition, int]:
        return await high_watermarks(self._settings.connection, [partition.tp for partition in partitions])

    def _unreachable(self, error: Exception, now: float) -> Ending | None:
        away = now - (now if self._reached is None else self._reached)
        cause = str(error) or type(error).__name__
        servers = self._settings.bootstrap_servers
        if away < UNREACHABLE_AFTER:
            log.warning("the broker at %s does not answer: %s", servers, cause)
            return None
        return Ending(EXIT_FAILED, f"the broker at {servers} has not answered for {away:.0f} s: {cause}")

    def _deleted(self, missing: Sequence[str]) -> str:
        settings = self._settings
        text = f"topic {', '.join(missing)} was deleted while this worker ran"
        if settings.input_topic in missing:
            return (
                f"{text}: the log of this deployment is gone. Bring it back, or rate a new one under "
                f"another --app-id and --output-prefix"
            )
        return f"{text}. `ladderlog topics` makes it anew, and `ladderlog restore` what was in it"


def _made_again(known: Iterable[tuple[Partition, int, int]]) -> Ending | None:
    for partition, offset, end in known:
        if end < offset:
            return Ending(EXIT_REFUSED, made_again(partition.tp, offset, end))
    return None
