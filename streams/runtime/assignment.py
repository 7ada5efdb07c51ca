"""Runs the partitions a worker owns: a task each, fed by the agent, stopped by revocation.

Nothing may be lost in silence here. A batch ends in a committed transaction, or the process ends: whatever
supervises it starts it again, and the next owner goes on from the last committed transaction.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime

from aiokafka.errors import InvalidProducerEpoch, ProducerFenced
from aiokafka.structs import ConsumerRecord

from streams.runtime.broker_answers import meaning, status_of
from streams.runtime.clock import Clock
from streams.runtime.exit_statuses import EXIT_FAILED, EXIT_REFUSED, leave_at_once
from streams.runtime.metrics import FENCINGS, REBALANCES
from streams.runtime.partition import Partition
from streams.runtime.refusals import RefusedError
from streams.runtime.transport import Records

log = logging.getLogger(__name__)

# Large transactions when behind, small ones when live: what has been fetched goes into one, up to this.
MAX_GAMES_PER_TRANSACTION = 30_000

Seek = Callable[[Partition, int], Awaitable[None]]


class PartitionTask:
    """A partition while this worker owns it: opened at once, then one transaction after the other."""

    def __init__(self, partition: Partition, seek: Seek, clock: Clock, on_fenced: Callable[[], None]) -> None:
        self.partition = partition
        self._seek = seek
        self._clock = clock
        self._on_fenced = on_fenced
        self._ticked = False
        self._pending: deque[Records] = deque()
        self._arrived = asyncio.Event()
        self._closing = False
        self._task = asyncio.create_task(self._run(), name=f"partition-{partition.tp.partition}")

    def deliver(self, records: Records) -> None:
        """Take over one fetch; it is applied with whatever else is there by then."""
        self._pending.append(records)
        self._arrived.set()

    def tick(self) -> None:
        """Look whether weeks are over, between two transactions."""
        self._ticked = True
        self._arrived.set()

    async def close(self) -> None:
        """Finish the transaction that is under way, drop what was not begun, and stop the producer."""
        self._closing = True
        self._arrived.set()
        await self._task
        await self.partition.close()

    async def _run(self) -> None:
        try:
            await self.partition.open()
            while not self._closing:
                await self._arrived.wait()
                self._arrived.clear()
                while (self._pending or self._ticked) and not self._closing:
                    if self._ticked:
                        self._ticked = False
                        await self.partition.end_weeks(self._clock.now())
                    await self._apply(self._take())
        except RefusedError as error:
            leave_at_once(EXIT_REFUSED, f"refused to run: {error}")
        except (ProducerFenced, InvalidProducerEpoch):
            log.debug("partition %d", self.partition.tp.partition, exc_info=True)
            self._on_fenced()
            leave_at_once(
                EXIT_FAILED,
                f"partition {self.partition.tp.partition}: another process has taken it over, a rebuild or "
                f"another worker; leaving with status {EXIT_FAILED}, to be started again",
                logging.WARNING,
            )
        except BaseException as error:  # whatever it is, the process must not go on
            log.exception("partition %d", self.partition.tp.partition)
            said = meaning(error)
            why = repr(error) if said is None else f"{error!r}: {said}"
            leave_at_once(status_of(error), f"partition {self.partition.tp.partition} failed: {why}; leaving")

    def _take(self) -> list[Records]:
        taken: list[Records] = []
        games = 0
        while self._pending and games < MAX_GAMES_PER_TRANSACTION:
            taken.append(self._pending.popleft())
            games += len(taken[-1])
        return taken

    async def _apply(self, fetches: list[Records]) -> None:
        partition = self.partition
        expected = partition.next_offset
        to_apply: list[ConsumerRecord] = []
        for fetch in fetches:
            records = fetch.records
            if records[0].offset < expected:
                records = [record for record in records if record.offset >= expected]
            if not records:
                continue
            if records[0].offset > expected and await self._was_skipped(expected, records[0].offset):
                self._pending.clear()
                await self._seek(partition, expected)
                break
            to_apply += records
            expected = records[-1].offset + 1
        if to_apply:
            await partition.apply(to_apply)

    async def _was_skipped(self, expected: int, fetched: int) -> bool:
        """Say whether Faust left out records between the expected offset and the fetched one.

        Offsets also jump over transaction markers and compacted records; only the broker knows. Within one
        fetch the records are as the broker gave them (docs/explanation/decisions.md).
        """
        first = await self.partition.first_offset_from(expected)
        if first is None or first >= fetched:
            return False
        log.warning(
            "partition %d: the consumer skipped offset %d; going back", self.partition.tp.partition, first
        )
        return True


class Assignment:
    """All partitions this worker owns, each with its task."""

    def __init__(
        self,
        new_partition: Callable[[int], Partition],
        seek: Seek,
        clock: Clock,
        on_fenced: Callable[[], None] = FENCINGS.inc,
    ) -> None:
        # Whether the group has given out its partitions once, be it none to this worker.
        self.has_joined = False
        self._new_partition = new_partition
        self._seek = seek
        self._clock = clock
        self._on_fenced = on_fenced
        self._tasks: dict[int, PartitionTask] = {}
        # Also those that were owned and may come back, with their rows.
        self._partitions: dict[int, Partition] = {}
        self._stopped = False

    @property
    def partitions(self) -> list[Partition]:
        """Return the partitions that are owned now."""
        return [task.partition for task in self._tasks.values()]

    def assign(self, numbers: Iterable[int]) -> None:
        """Begin to own partitions; those owned already go on."""
        self.has_joined = True
        REBALANCES.inc()
        for number in numbers:
            if number not in self._tasks and not self._stopped:
                partition = self._partitions.get(number)
                if partition is None:
                    partition = self._partitions[number] = self._new_partition(number)
                self._tasks[number] = PartitionTask(partition, self._seek, self._clock, self._on_fenced)
        if not self._tasks and not self._stopped:
            log.info("no partition is left for this worker: it stands by")

    def now(self) -> datetime:
        """Return the present moment, by the clock that ends weeks."""
        return self._clock.now()

    def deliver(self, number: int, records: Records) -> None:
        """Hand a fetch to its partition; one of a partition no longer owned is left to its next owner."""
        task = self._tasks.get(number)
        if task is not None:
            task.deliver(records)

    def tick(self) -> None:
        """Let every partition look whether weeks are over."""
        for task in self._tasks.values():
            task.tick()

    async def revoke(self, numbers: Iterable[int]) -> None:
        """Stop owning partitions, their transactions finished. Their rows are kept for a return."""
        tasks = [self._tasks.pop(number) for number in list(numbers) if number in self._tasks]
        await asyncio.gather(*(task.close() for task in tasks))

    def forget_others(self) -> None:
        """Drop the rows of partitions that went to another worker."""
        for number in [number for number in self._partitions if number not in self._tasks]:
            del self._partitions[number]

    async def stop(self) -> None:
        """Finish what is under way and own nothing any more."""
        self._stopped = True
        await self.revoke(list(self._tasks))
