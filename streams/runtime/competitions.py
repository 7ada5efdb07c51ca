"""The weekly competition from outside: a running week from the rows, a closed one from the log."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from aiokafka import TopicPartition
from msgspec.structs import replace

from streams.core.events import COMPETITION_CLOSED, CompetitionClosed
from streams.core.ladders import Ladders
from streams.core.rankings import shown
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings
from streams.runtime.status import read_fold


async def read_closed(settings: Settings) -> dict[tuple[str, str], CompetitionClosed]:
    """Return every closed week's latest revision, by ladder and week."""
    partitions = await asyncio.gather(
        *(_read_closed(settings, number) for number in range(settings.partitions))
    )
    return {week: standings for closed in partitions for week, standings in closed.items()}


async def read_week(
    settings: Settings, new_ladders: Callable[[], Ladders], ladder: str, week: str
) -> CompetitionClosed | None:
    """Return a week as a competition-closed event has it; None when nobody played in it.

    A week that is not closed has `revision` 0.
    """
    closed = (await read_closed(settings)).get((ladder, week))
    if closed is not None:
        return closed
    competition = (await read_fold(settings, new_ladders)).competition(ladder)
    standings = [] if competition is None else competition.standings(week)
    if not standings:
        return None
    return CompetitionClosed(ladder, week, revision=0, final=False, ended_at="", standings=standings)


def week_fields(week: CompetitionClosed, limit: int | None = None) -> dict[str, Any]:
    """Return a week's standings, the first `limit` rows of them, as plain values by name."""
    fields: dict[str, Any] = msgspec.to_builtins(replace(week, standings=week.standings[:limit]))
    # Of a week that is not closed nobody knows yet when it was published.
    return {**fields, "state": _state(week), "ended_at": week.ended_at or None}


def week_text(week: CompetitionClosed, limit: int | None = None) -> str:
    """Return a week's standings, the first `limit` rows of them, as lines of text."""
    rows = week.standings[:limit]
    width = max((len(row.player_id) for row in rows), default=0)
    return "\n".join(
        [f"\n{week.ladder}, week {week.week} ({_state_text(week)})"]
        + [
            f"{row.rank:>4}  {row.player_id:<{width}}  {shown(row.points):>7}  "
            f"level {row.level:>2}  {row.games:>4} games: {row.wins} won, "
            f"{row.losses} lost, {row.draws} drawn, {row.abandons} abandoned"
            for row in rows
        ]
    )


def _state(week: CompetitionClosed) -> str:
    if week.final:
        return "final"
    return "closed" if week.revision else "running"


def _state_text(week: CompetitionClosed) -> str:
    state = _state(week)
    return f"{state}, revision {week.revision}" if state == "closed" else state


async def _read_closed(settings: Settings, partition: int) -> dict[tuple[str, str], CompetitionClosed]:
    tp = TopicPartition(settings.topic(COMPETITION_CLOSED), partition)
    last: dict[tuple[str, str], CompetitionClosed] = {}
    async with reading(settings.connection) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            for record in records:
                closed = msgspec.json.decode(record.value, type=CompetitionClosed)
                last[closed.ladder, closed.week] = _with_part(last.get((closed.ladder, closed.week)), closed)
    return last


def _with_part(before: CompetitionClosed | None, closed: CompetitionClosed) -> CompetitionClosed:
    """Return standings with the next part of them; the parts of a revision come one behind the other."""
    rows = (
        closed.standings
        if before is None or closed.part in (None, 1)
        else [*before.standings, *closed.standings]
    )
    return replace(closed, standings=rows, part=None, parts=None)
