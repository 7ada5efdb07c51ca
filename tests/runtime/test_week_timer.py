"""Weeks that end by the workers' clock: each once, in order, whatever crashes, comes late or was missed."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

import orjson
import pytest
from midnights import (
    GRACE,
    SECOND,
    TICK,
    ZONES,
    closings,
    end_of,
    ended,
    endings,
    game,
    games_of,
    has_games,
    jump,
    last_midnight,
    stay,
    use_ladders,
    wait_for,
    wait_for_amendment,
)
from sites import Site
from workers import OWNER, Worker

from streams.core.events import COMPETITION_CLOSED, GAME_IGNORED, RATING_CHANGED
from streams.core.weeks import weeks_between
from streams.runtime.status import read_rows

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
# Past by any clock, with both changes of the clocks in Paris and in Los Angeles.
AUTUMN = list(weeks_between("2024-W41", "2024-W48"))
YEAR = list(weeks_between("2024-W41", "2025-W48"))
# Clocks change on the last day of these: in Europe, or in America.
AUTUMN_CHANGES = {"2024-W43": ["paris"], "2024-W44": ["angeles"]}
YEAR_CHANGES = ["2024-W43", "2024-W44", "2025-W10", "2025-W13", "2025-W43", "2025-W44"]
W45, W46, W47, W48 = "2024-W45", "2024-W46", "2024-W47", "2024-W48"


@pytest.mark.soak
def test_eight_weeks_in_which_clocks_change_with_a_crash(site: Site, start_worker: StartWorker) -> None:
    drive(site, start_worker, AUTUMN, AUTUMN_CHANGES, crashes=[W45])

    check_endings(site, AUTUMN)

    assert ended_at(site, "2024-W43") == {
        "apia": "2024-10-27T11:00:00Z",
        "kolkata": "2024-10-27T18:30:00Z",
        "paris": "2024-10-27T23:00:00Z",
        "utc": "2024-10-28T00:00:00Z",
        "angeles": "2024-10-28T07:00:00Z",
    }
    assert ended_at(site, "2024-W44") == {
        "apia": "2024-11-03T11:00:00Z",
        "kolkata": "2024-11-03T18:30:00Z",
        "paris": "2024-11-03T23:00:00Z",
        "utc": "2024-11-04T00:00:00Z",
        "angeles": "2024-11-04T08:00:00Z",
    }
    assert site.differences() == []


@pytest.mark.soak
def test_sixty_weeks_with_crashes(site: Site, start_worker: StartWorker) -> None:
    drive(site, start_worker, YEAR, dict.fromkeys(YEAR_CHANGES, ZONES), crashes=YEAR[3::7])

    check_endings(site, YEAR)

    assert site.differences() == []


def drive(
    site: Site,
    start_worker: StartWorker,
    weeks: Sequence[str],
    closely: Mapping[str, Iterable[str]],
    crashes: Sequence[str],
) -> None:
    """Play week after week and jump over the midnights: over some one by one, else over all at once.

    The worker of some weeks is killed about when it appends.
    """
    random = Random(len(weeks))
    use_ladders(site)
    site.set_clock(end_of("apia", weeks[0]) - SECOND)
    worker = start_worker(site)
    for number, week in enumerate(weeks, start=1):
        site.produce(games_of(week))
        for end in sorted(end_of(ladder, week) for ladder in closely.get(week, ())):
            stay(site, end - SECOND, weeks[:number])
            jump(site, end, weeks[:number])
        if week in crashes:
            site.set_clock(last_midnight(week))
            time.sleep(random.random() * TICK)
            worker.kill()
            site.forget_members()
            worker = start_worker(site)
        jump(site, last_midnight(week), weeks[:number])
    jump(site, last_midnight(weeks[-1]) + GRACE, weeks)
    site.wait_until_done()


def check_endings(site: Site, weeks: Sequence[str]) -> None:
    """Check that all weeks with games closed once and became final once, ladder by ladder in their order."""
    found = ended(site)

    assert sorted(found) == sorted(endings(last_midnight(weeks[-1]) + GRACE, weeks))

    for ladder in ZONES:
        played = [week for week in weeks if has_games(ladder, week)]
        published = closings(site, ladder)

        for end in ("midnight", "final"):
            wanted = [f"{ladder}/{week}/{end}" for week in played]

            assert [record for record in found if record in wanted] == wanted

        assert [week for week, revision, final in published if (revision, final) == (1, False)] == played
        assert [week for week, revision, final in published if (revision, final) == (2, True)] == played
        assert len(published) == 2 * len(played)


def ended_at(site: Site, week: str) -> dict[str, str]:
    """Give when a week ended, by ladder; all revisions agree."""
    bodies = [orjson.loads(record.value) for record in site.read_output(COMPETITION_CLOSED)]
    found = {(body["ladder"], body["ended_at"]) for body in bodies if body["week"] == week}

    assert len(found) == len(dict(found))

    return dict(found)


def test_a_worker_killed_just_before_midnight_with_another_to_take_over(
    site: Site, start_worker: StartWorker
) -> None:
    workers = two_just_before_midnight(site, start_worker)
    workers[0].kill()
    site.set_clock(last_midnight(W46))
    site.forget_members()
    workers[1].wait_for(OWNER, 6)
    wait_for(site, endings(last_midnight(W46), [W46]))
    # A restart in order, then the end of the grace time.
    workers[1].stop()
    start_worker(site).wait_for(OWNER, 4)
    jump(site, last_midnight(W46) + GRACE, [W46])
    site.wait_until_done()

    check_endings(site, [W46])

    assert site.differences() == []


@pytest.mark.soak
def test_a_worker_that_sleeps_over_midnight_and_wakes_when_another_has_taken_over(
    site: Site, start_worker: StartWorker
) -> None:
    workers = two_just_before_midnight(site, start_worker)
    workers[0].signal(signal.SIGSTOP)
    site.set_clock(last_midnight(W46))
    site.forget_members()
    workers[1].wait_for(OWNER, 6)
    wait_for(site, endings(last_midnight(W46), [W46]))
    workers[0].signal(signal.SIGCONT)
    time.sleep(2 * TICK)
    jump(site, last_midnight(W46) + GRACE, [W46])
    site.wait_until_done()

    check_endings(site, [W46])

    assert site.differences() == []


def two_just_before_midnight(site: Site, start_worker: StartWorker) -> list[Worker]:
    """Start two workers, with all games of a week done, at 23:59:59.9 in Paris."""
    use_ladders(site)
    site.produce(games_of(W46))
    site.set_clock(end_of("paris", W46) - SECOND / 10)
    workers = [start_worker(site), start_worker(site)]
    for worker in workers:
        worker.wait_for(OWNER, 2)
    site.wait_until_done()
    wait_for(site, [f"{ladder}/{W46}/midnight" for ladder in ("apia", "kolkata")])
    return workers


def test_missed_midnights_early_and_late_games_in_another_time_zone_of_the_machine(
    site: Site, start_worker: StartWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    miss_three_midnights(site, start_worker, monkeypatch)

    # The three missed weeks in order, the resting ladder's without games not among them.
    assert [week for week, revision, _ in closings(site, "utc") if revision == 1] == [W46, W47]
    assert closings(site, "kolkata") == [
        (W45, 1, False),
        (W46, 1, False),
        (W47, 1, False),
        (W45, 2, True),
        (W46, 2, True),
        (W47, 2, True),
    ]

    # Within the grace time a game amends its week.
    assert weeks_changed(site, "late") == {"eve": W47, "ann": W47}
    assert [found for found in closings(site, "paris") if found[0] == W47] == [
        (W47, 1, False),
        (W47, 2, False),
        (W47, 3, True),
    ]

    # A game that is early counts for its own week, which has not ended.
    assert weeks_changed(site, "early") == {"new": "2024-W49", "ann": "2024-W49"}

    # One of a final week is late.
    assert weeks_changed(site, "too-late") == {}

    ignored = [orjson.loads(record.value) for record in site.read_output(GAME_IGNORED)]

    assert ignored == [
        {"game_id": "too-late", "ladder": "paris", "reasons": [{"system": "weekly", "reason": "late"}]}
    ]
    # All rows of weeks past their grace time are deleted: what is left is the early game's, and a mark.
    assert weekly_rows(site, "paris") == {
        "weekly-final/paris/last",
        "weekly-player/paris/2024-W49/ann",
        "weekly-player/paris/2024-W49/new",
    }
    assert weekly_rows(site, "kolkata") == {"weekly-final/kolkata/last"}
    assert site.differences() == []


def miss_three_midnights(site: Site, start_worker: StartWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let three midnights pass without a worker, then late and early games come, and grace times end."""
    use_ladders(site)
    monkeypatch.setenv("TZ", "Pacific/Apia")
    for week in (W45, W46, W47):
        site.produce(games_of(week))
    # Everybody was down over three midnights; the last one's grace time is not over.
    now = last_midnight(W47)
    site.set_clock(now)
    start_worker(site)
    wait_for(site, endings(now, [W45, W46, W47]))
    # In the grace time's last second, a game of the week before; and one that is early.
    monday = end_of("paris", W48)
    site.produce([game("paris", "late", end_of("paris", W47) - SECOND, "eve", "ann")])
    site.produce([game("paris", "early", monday, "new", "ann")])
    site.set_clock(end_of("paris", W47) + GRACE - SECOND)
    site.wait_until_done()
    wait_for_amendment(site, "paris", W47)
    jump(site, last_midnight(W47) + GRACE, [W45, W46, W47])
    site.wait_until_done()
    # The final record is on the log, and what it says counts, even if the clock is set back.
    site.set_clock(end_of("paris", W47))
    site.produce([game("paris", "too-late", end_of("paris", W47) - SECOND, "eve", "ann")])
    site.wait_until_done()
    time.sleep(TICK)


def weeks_changed(site: Site, game_id: str) -> dict[str, str]:
    """Give the week that a game counted for, by player."""
    bodies = [orjson.loads(record.value) for record in site.read_output(RATING_CHANGED)]
    return {body["player_id"]: body["week"] for body in bodies if body["game_id"] == game_id}


def weekly_rows(site: Site, ladder: str) -> set[str]:
    """Give the keys of the competition's rows that are left of a ladder."""
    rows = asyncio.run(read_rows(site.settings))
    return {key for key in rows if key.startswith("weekly") and key.split("/")[1] == ladder}
