"""Competitions in five time zones, a clock that jumps over their midnights, and what must come of it."""

import time
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from aiokafka.errors import KafkaError
from sites import PATIENCE, Site, read_topic

from streams.core.events import COMPETITION_CLOSED
from streams.core.rules import parse_ladders
from streams.core.weeks import bounds
from streams.runtime.partition import Partition

Event = dict[str, Any]

ZONES = {
    "paris": "Europe/Paris",
    "angeles": "America/Los_Angeles",
    "kolkata": "Asia/Kolkata",
    "apia": "Pacific/Apia",
    "utc": "UTC",
}
SECOND = timedelta(seconds=1)
GRACE = timedelta(hours=24)
# More than a tick of the timer, and a transaction.
TICK = 1.3
# This ladder rests in every third week, of which nothing may be published.
RESTING = "utc"


def ladder_file(zones: Mapping[str, str] = ZONES) -> str:
    """Give a ladder file of weekly competitions that know games of weeks which are final."""
    return "\n".join(
        f'[ladders.{ladder}]\nsystems = ["weekly"]\ntimezone = "{zone}"\nremember = "4w"\n'
        for ladder, zone in zones.items()
    )


def use_ladders(site: Site, zones: Mapping[str, str] = ZONES) -> None:
    """Give a deployment these competitions instead of its own ladders."""
    site.ladder_file.write_text(ladder_file(zones))
    site.rules = parse_ladders(tomllib.loads(ladder_file(zones)))


def end_of(ladder: str, week: str) -> datetime:
    """Give the midnight that ends a ladder's week."""
    return bounds(week, ZoneInfo(ZONES[ladder]))[1]


def last_midnight(week: str) -> datetime:
    """Give the midnight that ends a week on the last of the ladders."""
    return max(end_of(ladder, week) for ladder in ZONES)


def game(ladder: str, game_id: str, ended: datetime, winner: str = "ann", loser: str = "bob") -> Event:
    """Make a finished game of two."""
    players = [{"player_id": winner, "rank": 1}, {"player_id": loser, "rank": 2}]
    return {"game_id": game_id, "ladder": ladder, "ended_at": ended.isoformat(), "players": players}


def has_games(ladder: str, week: str) -> bool:
    """Tell whether anybody plays."""
    return ladder != RESTING or int(week[-2:]) % 3 > 0


def games_of(week: str) -> Iterator[Event]:
    """Yield a week's games on all ladders: in its first and last second, and one in between."""
    for ladder, zone in ZONES.items():
        if has_games(ladder, week):
            start, end = bounds(week, ZoneInfo(zone))
            for number, ended in enumerate((start, start + (end - start) / 3, end - SECOND)):
                yield game(ladder, f"{week}-{number}", ended, *(("ann", "bob"), ("eve", week))[number % 2])


def endings(now: datetime, weeks: Sequence[str]) -> list[str]:
    """Give the ids of the week-ended records that must be on the log at `now`, in order of their moments."""
    found = []
    for week in weeks:
        for ladder in ZONES:
            if has_games(ladder, week):
                end = end_of(ladder, week)
                found += [(end, f"{ladder}/{week}/midnight"), (end + GRACE, f"{ladder}/{week}/final")]
    return [ended for moment, ended in sorted(found) if moment <= now]


def ended(site: Site) -> list[str]:
    """Give the ids of the records by which workers have ended weeks; others publish weeks again."""
    return [event_id for found in site.weeks_ended() if "/amended-" not in (event_id := found.decode())]


def jump(site: Site, now: datetime, weeks: Sequence[str]) -> None:
    """Set the clock, and wait until the weeks that are over then have ended, and no others."""
    site.set_clock(now)
    wait_for(site, endings(now, weeks))


def wait_for(site: Site, wanted: list[str]) -> None:
    """Wait until these weeks have ended, and no others."""
    deadline = time.monotonic() + PATIENCE
    while set(wanted) != (found := set(ended(site))):
        if not found <= set(wanted) or time.monotonic() > deadline:
            raise TimeoutError(f"ended: {sorted(found)}, not {sorted(wanted)}")
        time.sleep(0.1)


def wait_for_amendment(site: Site, ladder: str, week: str) -> None:
    """Wait until a worker has had an amended week published again."""
    deadline = time.monotonic() + PATIENCE
    start = f"{ladder}/{week}/amended-".encode()
    while not any(found.startswith(start) for found in site.weeks_ended()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{ladder}/{week} was not published again")
        time.sleep(0.1)


def stay(site: Site, now: datetime, weeks: Sequence[str]) -> None:
    """Jump to a moment and stay for more than a tick: nothing ends that is not over."""
    jump(site, now, weeks)
    time.sleep(TICK)

    assert set(ended(site)) == set(endings(now, weeks))


def closings(site: Site, ladder: str) -> list[tuple[str, int, bool]]:
    """Give week, revision and finality of what was published of a ladder, in its order."""
    bodies = [orjson.loads(record.value) for record in site.read_output(COMPETITION_CLOSED)]
    return [(body["week"], body["revision"], body["final"]) for body in bodies if body["ladder"] == ladder]


@asynccontextmanager
async def opened(site: Site, number: int) -> AsyncIterator[Partition]:
    """Own a partition as long as the block, without reading anything."""
    partition = Partition(site.settings, site.rules, number)
    await partition.open()
    try:
        yield partition
    finally:
        with suppress(KafkaError):  # it may be fenced by then
            await partition.close()


async def read(site: Site, partition: Partition, at_most: int | None = None) -> int:
    """Apply what is on the log behind what was applied, and give the number of records."""
    records = (await read_topic(site.settings.connection, site.settings.input_topic))[partition.tp.partition]
    left = [record for record in records if record.offset >= partition.next_offset][:at_most]
    if left:
        await partition.apply(left)
    return len(left)
