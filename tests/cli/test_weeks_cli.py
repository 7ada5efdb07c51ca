"""Weeks at the command line: `rate` in any time zone of the machine, and the standings that `week` prints."""

import asyncio
import os
import subprocess
import sys
from datetime import timedelta
from itertools import count
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result
from midnights import (
    SECOND,
    ZONES,
    end_of,
    game,
    games_of,
    has_games,
    ladder_file,
    opened,
    read,
    use_ladders,
)
from project import PROJECT
from sites import Site

from streams.cli.main import cli
from streams.core.weeks import weeks_between
from streams.runtime.batches import partition_of
from streams.runtime.clock import CLOCK_FILE

# In these, clocks change in Paris and Los Angeles.
WEEKS = list(weeks_between("2024-W43", "2024-W45"))
W46 = "2024-W46"
MIDNIGHT = end_of("utc", W46)
NUMBER = partition_of(b"utc", 4)


def test_the_time_zone_of_the_machine_has_no_effect(tmp_path: Path) -> None:
    ladders, games = tmp_path / "ladders.toml", tmp_path / "games.jsonl"
    ladders.write_text(ladder_file())
    games.write_bytes(
        b"".join(
            orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
            for week in WEEKS
            for event in (
                *games_of(week),
                *(
                    {"type": "week-ended", "ladder": ladder, "week": week, "final": final}
                    for final in (False, True)
                    for ladder in ZONES
                ),
            )
        )
    )
    rated = [rate(ladders, games, zone) for zone in ("Pacific/Apia", "America/Los_Angeles", "UTC")]

    assert rated[0] == rated[1] == rated[2]

    changed, closed = (part.splitlines() for part in rated[0])
    played = sum(has_games(ladder, week) for ladder in ZONES for week in WEEKS)

    assert [len(changed), len(closed)] == [6 * played, 2 * played]


_runs = count()


def rate(ladders: Path, games: Path, zone: str) -> tuple[bytes, bytes]:
    """Rate a file on a machine in a time zone, and give what was changed and closed."""
    closed = ladders.parent / f"closed-{next(_runs)}.jsonl"
    command = ["rate", "--ladders", str(ladders), "--closed", str(closed), str(games)]
    done = subprocess.run(
        [sys.executable, "-m", "streams", *command],
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TZ": zone},
        capture_output=True,
        check=True,
    )
    return done.stdout, closed.read_bytes()


@pytest.mark.kafka
def test_the_standings_of_a_week_running_then_closed_then_final(site: Site) -> None:
    use_ladders(site)
    site.produce(
        [
            game("utc", "1", MIDNIGHT - 2 * SECOND, "ann", "bob"),
            game("utc", "2", MIDNIGHT - SECOND, "eve", "bob"),
        ]
    )
    site.set_clock(MIDNIGHT - SECOND)
    texts = []
    for hours in (-1, 0, 24):
        asyncio.run(end_weeks(site, hours))
        texts.append(week(site, "--week", W46).output.splitlines())
    places = [
        "   1  ann     10.0  level  1     1 games: 1 won, 0 lost, 0 drawn, 0 abandoned",
        "   1  eve     10.0  level  1     1 games: 1 won, 0 lost, 0 drawn, 0 abandoned",
        "   3  bob      0.0  level  1     2 games: 0 won, 2 lost, 0 drawn, 0 abandoned",
    ]

    assert texts == [
        [f"utc, week {W46} ({state})", *places] for state in ("running", "closed, revision 1", "final")
    ]


@pytest.mark.kafka
def test_the_present_week_is_that_of_the_ladder_and_only_the_best_are_shown(site: Site) -> None:
    use_ladders(site)
    # Half an hour before midnight in UTC, Monday has come in Apia.
    site.produce([game("apia", "1", MIDNIGHT), game("utc", "1", MIDNIGHT - 2 * SECOND)])
    site.set_clock(MIDNIGHT - timedelta(minutes=30))
    asyncio.run(own_all(site))

    assert week(site, "--top", "1").output.startswith(f"utc, week {W46} (running)\n   1  ann ")
    assert week(site, "--top", "1").output.count("\n") == 2
    assert week(site, ladder="apia").output.startswith("apia, week 2024-W47 (running)\n")


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("ladder", "options", "message"),
    [
        ("nowhere", [], "there is no ladder 'nowhere'; there are paris, angeles"),
        ("utc", ["--week", "2025-W53"], "'2025-W53' is no week such as 2026-W48"),
        ("utc", ["--week", "W46"], "'W46' is no week such as 2026-W48"),
        ("utc", ["--week", "2024-W01"], "nobody has played in week 2024-W01 of ladder 'utc'"),
        ("utc", [], f"nobody has played in week {W46} of ladder 'utc'"),
    ],
)
def test_what_there_is_not_is_said_in_one_line(
    site: Site, ladder: str, options: list[str], message: str
) -> None:
    use_ladders(site)
    site.set_clock(MIDNIGHT - SECOND)
    done = week(site, *options, ladder=ladder)

    assert done.exit_code != 0
    assert message in done.output


@pytest.mark.kafka
def test_a_ladder_without_competition_has_no_weeks(site: Site) -> None:
    done = week(site, ladder="rummy")

    assert done.exit_code == 1
    assert done.output == "Error: ladder 'rummy' has no weekly competition\n"


def week(site: Site, *options: str, ladder: str = "utc") -> Result:
    """Run `ladderlog week`."""
    settings = {
        "LADDERLOG_BOOTSTRAP_SERVERS": site.settings.bootstrap_servers,
        "LADDERLOG_TOPIC_PREFIX": site.settings.topic_prefix,
        "LADDERLOG_APP_ID": site.settings.app_id,
        "LADDERLOG_LADDERS": str(site.ladder_file),
        CLOCK_FILE: str(site.clock_file),
    }
    return CliRunner().invoke(cli, ["week", "--ladder", ladder, *options], env=settings)


async def end_weeks(site: Site, hours: int) -> None:
    """Do what a worker does so many hours after midnight."""
    async with opened(site, NUMBER) as partition:
        await read(site, partition)
        await partition.end_weeks(MIDNIGHT + timedelta(hours=hours))
        await read(site, partition)


async def own_all(site: Site) -> None:
    """Apply everything on the log."""
    for number in range(site.settings.partitions):
        async with opened(site, number) as partition:
            await read(site, partition)
