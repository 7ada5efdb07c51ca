"""The weeks of a partition that end by the clock: which week-ended records its owner appends, and when."""

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from aiokafka import TopicPartition

from streams.core.events import WEEK_ENDED, Event, Game, WeekEnded
from streams.core.ladders import Ladders
from streams.runtime.clock import timestamp_ms
from streams.runtime.group_progress import GroupProgress
from streams.runtime.reader import LogProbe
from streams.wire.encode import Record, encode_event

log = logging.getLogger(__name__)

# Week-ended records appended in one go: about 10 ms. The rest follows a second later.
_MAX_WEEKS_AT_ONCE = 2_000
# A partition whose last game ended this shortly ago by the clock has come up to the present.
_LIVE_SECONDS = 3_600

# A closed week that late games have amended is published again at once, then at most once in a minute and a
# second more for every hundred players: however many games are late, a week publishes 15 KB a second at most.
_AMENDED_PAUSE_SECONDS = 60
_ROWS_A_SECOND = 100

# What a week-ended record says: ladder, week, final.
_Ending = tuple[str, str, bool]


@dataclass
class _Crossing:
    """A moment when weeks were due, and where the other partitions ended then.

    Until the group has done all that lies below, games of these weeks may still be on their way home.
    """

    moment: datetime
    ends: dict[TopicPartition, int]
    has_waited: bool = False
    is_over: bool = False


class DueWeek(NamedTuple):
    """A week-ended record to be appended, and its id: a week is published again under another one."""

    ended: WeekEnded
    event_id: str


class WeekTimer:
    """Knows which weeks of one partition are over and not yet on the log, for the partition's owner."""

    def __init__(self, log_probe: LogProbe, progress: GroupProgress) -> None:
        self._log_probe = log_probe
        self._progress = progress
        self._partitions = 1
        # The fold has to come this far before a week may end.
        self._to_read = 0
        self._crossing: _Crossing | None = None
        # Week-ended records appended since then that the fold has not applied yet.
        self._appended: set[_Ending] = set()
        # In seconds since 1970: the end of the last game, and when closed weeks were published.
        self._last_game_ended = -math.inf
        self._published: dict[_Ending, float] = {}

    def start(self, log_end: int, partitions: int) -> None:
        """Begin a time as owner, for which the log had its end, uncommitted records included, at `log_end`.

        What a former owner has appended lies below it. The input has so many partitions.
        """
        self._to_read = log_end
        self._partitions = partitions
        self._crossing = None
        self._appended = set()

    async def close(self) -> None:
        """Stop asking."""
        await self._progress.close()

    def note(self, event: Event) -> None:
        """Take in an event that the fold has applied."""
        if type(event) is Game:
            self._last_game_ended = event.ended_epoch
        elif isinstance(event, WeekEnded):
            self._appended.discard(_ending(event))

    def note_appended(self, weeks: Iterable[DueWeek], now: datetime) -> None:
        """Take in week-ended records that are on the log now, so that none is appended twice."""
        for ended, _ in weeks:
            self._appended.add(_ending(ended))
            if ended.final:
                self._published.pop((ended.ladder, ended.week, False), None)
            else:
                self._published[_ending(ended)] = now.timestamp()

    async def due(self, ladders: Ladders, next_offset: int, now: datetime) -> list[DueWeek]:
        """Return the week-ended records to append now, not too many at once.

        They end weeks that are over, and publish closed ones that late games have amended. `ladders` are
        those of all records before `next_offset`. A record appended by a former owner lies before the end
        that the log had when this one began; until the fold has come that far, none is due. Nor is one before
        all that lay in the other partitions, when it became due, has been forwarded, and applied here.
        """
        if not self._not_appended(ladders, now):
            self._crossing = None
            return []
        if not await self._is_up_to(next_offset, now):
            return []
        crossing = await self._cross(now)
        if not crossing.is_over or not await self._is_up_to(next_offset, now):
            return []
        self._crossing = None
        # Not those that became due meanwhile: the others' ends were asked for before.
        return self._not_appended(ladders, crossing.moment)[:_MAX_WEEKS_AT_ONCE]

    def _not_appended(self, ladders: Ladders, now: datetime) -> list[DueWeek]:
        over = [ended for ended in ladders.weeks_due(now) if _ending(ended) not in self._appended]
        due = [DueWeek(ended, _event_id(ended)) for ended in over]
        return due + self._amended(ladders, {(ended.ladder, ended.week) for ended in over}, now)

    async def _cross(self, now: datetime) -> _Crossing:
        """Return how far the wait for the other partitions has come: begun, or over.

        A partition that nobody owns at present holds it up for as long, and so does one that is behind. What
        a producer's open transaction hides there is not waited for, as it is not in this partition.
        """
        crossing = self._crossing
        if crossing is None:
            ends = await self._progress.ends(self._partitions, self._log_probe.tp.partition)
            crossing = self._crossing = _Crossing(now, ends)
        if not crossing.is_over:
            behind = await self._progress.behind(crossing.ends)
            for tp, offset in behind.items():
                log.debug("weeks wait for %s/%d, done up to %d", tp.topic, tp.partition, offset)
            crossing.is_over = not behind
            crossing.has_waited = crossing.has_waited or bool(behind)
            if crossing.is_over and crossing.has_waited:
                # What was forwarded meanwhile lies below, and may have other weeks to end.
                self._to_read = max(self._to_read, await self._log_probe.end_offset())
        return crossing

    def _amended(self, ladders: Ladders, over: set[tuple[str, str]], now: datetime) -> list[DueWeek]:
        """Return records that publish amended weeks again, of those not `over` nor published just now."""
        moment = now.timestamp()
        due = []
        for ended, rows in ladders.weeks_amended():
            ending = _ending(ended)
            pause = _AMENDED_PAUSE_SECONDS + rows // _ROWS_A_SECOND
            # A clock that was set back must not make anybody wait.
            just_now = 0 <= moment - self._published.get(ending, -math.inf) < pause
            if ending not in self._appended and (ended.ladder, ended.week) not in over and not just_now:
                event_id = f"{ended.ladder}/{ended.week}/amended-{timestamp_ms(now)}"
                due.append(DueWeek(ended, event_id))
        return due

    async def _is_up_to(self, next_offset: int, now: datetime) -> bool:
        """Say whether the fold knows all that it has to, and has come up to the present.

        Up to the present: its last game ended a short while ago, or there is nothing left to read. While
        games of the past are being produced, their weeks seem to be long over; ended at once, they would
        turn the rest of their games into late ones.
        """
        is_live = now.timestamp() - self._last_game_ended < _LIVE_SECONDS
        if is_live and next_offset >= self._to_read:
            return True
        # Asked in this order: what becomes readable in between is seen by the second question.
        readable_end = await self._log_probe.end_offset()
        first = await self._log_probe.first_offset(next_offset)
        if first is None:
            # Only transaction markers are left, unless a producer's open transaction hides more.
            return readable_end >= self._to_read
        return is_live and first >= self._to_read


def week_ended_record(due: DueWeek, source: str) -> Record:
    """Return a week-ended record as it goes to the log; `source` is the deployment's."""
    ended = due.ended
    fields = {"ladder": ended.ladder, "week": ended.week, "final": ended.final}
    return encode_event(WEEK_ENDED, fields, source, due.event_id)


def _event_id(ended: WeekEnded) -> str:
    return f"{ended.ladder}/{ended.week}/{'final' if ended.final else 'midnight'}"


def _ending(ended: WeekEnded) -> _Ending:
    return (ended.ladder, ended.week, ended.final)
