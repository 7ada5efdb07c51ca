"""The weekly competition from outside: a running week from the rows, a closed one from the log."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
from aiokafka import TopicPartition

from streams.core.ladders import COMPETITION_CLOSED, Ladders
from streams.core.rankings import shown
from streams.core.ratings.weekly import Weekly
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings
from streams.runtime.status import read_fold


async def read_closed(settings: Settings) -> dict[tuple[str, str], dict[str, Any]]:
    """Read every closed week's latest revision, by ladder and week."""
    partitions = await asyncio.gather(
        *(_read_closed(settings, number) for number in range(settings.partitions))
    )
    return {closing: body for found in partitions for closing, body in found.items()}


async def read_week(
    settings: Settings, new_fold: Callable[[], Ladders], ladder: str, week: str
) -> dict[str, Any] | None:
    """Read a week as a competition-closed event has it; None when nobody played in it.

    A week that is not closed has `revision` 0.
    """
    closed = (await read_closed(settings)).get((ladder, week))
    if closed is not None:
        return closed
    weekly = (await read_fold(settings, new_fold)).system(ladder, Weekly.name)
    standings = weekly.standings(week) if isinstance(weekly, Weekly) else []
    if not standings:
        return None
    return {"ladder": ladder, "week": week, "revision": 0, "final": False, "standings": standings}


def week_text(week: dict[str, Any], limit: int | None = None) -> str:
    """Show a week's standings as lines of text."""
    state = (
        "final"
        if week["final"]
        else f"closed, revision {week['revision']}"
        if week["revision"]
        else "running"
    )
    places = week["standings"][:limit]
    width = max((len(place["player_id"]) for place in places), default=0)
    return "\n".join(
        [f"\n{week['ladder']}, week {week['week']} ({state})"]
        + [
            f"{place['rank']:>4}  {place['player_id']:<{width}}  {shown(place['points']):>7}  "
            f"level {place['level']:>2}  {place['games']:>4} games: {place['wins']} won, "
            f"{place['losses']} lost, {place['draws']} drawn, {place['abandons']} abandoned"
            for place in places
        ]
    )


async def _read_closed(settings: Settings, partition: int) -> dict[tuple[str, str], dict[str, Any]]:
    tp = TopicPartition(settings.topic(COMPETITION_CLOSED), partition)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    async with reading(settings.bootstrap_servers) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            for record in records:
                body = orjson.loads(record.value)
                found[body["ladder"], body["week"]] = body
    return found
