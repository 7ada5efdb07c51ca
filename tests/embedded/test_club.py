"""The simulated club: repeatable, valid, and believable."""

import json
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import islice
from typing import Any

import pytest

from streams.embedded.club import CLUB, simulate
from streams.embedded.club_games import LadderShape, Table
from streams.embedded.club_members import members

START = datetime(2026, 11, 2, tzinfo=timezone(timedelta(hours=1)))  # a Monday
SHAPES = {shape.ladder: shape for shape in CLUB}


@cache
def club_events(games: int = 20_000, seed: int = 1) -> list[dict[str, Any]]:
    return list(simulate(games=games, players=500, seed=seed, start=START))


def distinct(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({event["game_id"]: event for event in events}.values())


def at(event: dict[str, Any], field: str = "ended_at") -> datetime:
    return datetime.fromisoformat(event[field])


def as_bytes(events: Iterable[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(event) for event in events).encode()


def share(events: list[dict[str, Any]], having: Callable[[dict[str, Any]], bool]) -> float:
    return sum(map(having, events)) / len(events)


def winners(event: dict[str, Any]) -> list[str]:
    players = event["players"]
    if all("rank" in player for player in players):
        return [player["player_id"] for player in players if player["rank"] == 1]
    best = max(player["points"] for player in players)
    return [player["player_id"] for player in players if player["points"] == best]


def left(event: dict[str, Any]) -> list[dict[str, Any]]:
    return [player for player in event["players"] if "left" in player]


def test_the_same_arguments_give_the_same_bytes() -> None:
    again = simulate(games=20_000, players=500, seed=1, start=START)

    assert as_bytes(again) == as_bytes(club_events())


def test_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    program = (
        "import json; from datetime import datetime; from streams.embedded.club import simulate; "
        f"start = datetime.fromisoformat('{START.isoformat()}'); "
        "events = simulate(games=500, players=50, seed=7, start=start); "
        "print('\\n'.join(json.dumps(event) for event in events), end='')"
    )
    expected = as_bytes(simulate(games=500, players=50, seed=7, start=START))

    actual = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        env={"PYTHONHASHSEED": "123", "PYTHONPATH": ":".join(sys.path)},
    ).stdout

    assert expected == actual


def test_the_bytes_are_those_of_every_machine() -> None:
    expected = "532b024c601f83bdec7af40b21961e84c474c34a9bc303fed09ef4e52512b0f2"

    actual = sha256(as_bytes(simulate(games=2_000, players=200, seed=3, start=START))).hexdigest()

    assert expected == actual


def test_another_seed_is_another_club() -> None:
    assert as_bytes(club_events(1_000, seed=1)) != as_bytes(club_events(1_000, seed=2))


def test_game_ids_are_unique_apart_from_identical_duplicates() -> None:
    events = club_events()
    by_id: dict[str, dict[str, Any]] = {}
    for event in events:
        assert by_id.setdefault(event["game_id"], event) == event

    assert len(by_id) == 20_000
    assert all(game_id.startswith(event["ladder"] + "-") for game_id, event in by_id.items())


def test_a_duplicate_is_not_the_same_object() -> None:
    events = club_events()

    assert len({id(event) for event in events}) == len(events)


def check_shape(event: dict[str, Any]) -> None:
    shape = SHAPES[event["ladder"]]
    players = event["players"]
    assert set(event) == {"game_id", "ladder", "game_type", "started_at", "ended_at", "rated", "players"}
    assert Table(event["game_type"], len(players)) in shape.tables
    assert 2 <= len(players) <= 32
    assert len({player["player_id"] for player in players}) == len(players)
    assert isinstance(event["rated"], bool)
    assert timedelta(minutes=10) <= at(event) - at(event, "started_at") <= timedelta(hours=1)
    for player in players:
        assert set(player) <= {"player_id", "team", "rank", "points", "left", "left_at"}
        assert ("rank" in player, "points" in player) == (shape.ranks, shape.points is not None)
        assert ("team" in player) == shape.teams
        assert isinstance(player.get("points", 0), int)
        assert ("left" in player) == ("left_at" in player)
    for player in left(event):
        assert player["left"] in {"abandoned", "disconnected"}
        assert at(event, "started_at") <= at(player, "left_at") <= at(event)
    if shape.teams:
        assert Counter(player["team"] for player in players) == {"n": 2, "s": 2}
    if shape.ranks:
        check_ranks(event, per_rank=2 if shape.teams else 1)


def check_ranks(event: dict[str, Any], per_rank: int) -> None:
    ranks = sorted(player["rank"] for player in event["players"])[::per_rank]
    straight = list(range(1, len(ranks) + 1))
    assert ranks in (straight, [1, 1, *straight[2:]])
    for one in event["players"]:
        for other in event["players"]:
            if one["rank"] == other["rank"]:
                assert one.get("points") == other.get("points")
            elif one["rank"] < other["rank"]:
                assert one.get("points", 0) >= other.get("points", 0)


def test_every_event_is_a_valid_finished_game() -> None:
    for event in club_events():
        check_shape(event)


def test_every_ladder_and_table_is_played() -> None:
    expected = {(shape.ladder, table) for shape in CLUB for table in shape.tables}

    actual = {(event["ladder"], Table(event["game_type"], len(event["players"]))) for event in club_events()}

    assert expected == actual


def test_the_example_file_has_the_ladders_of_the_club_and_all_systems() -> None:
    document = tomllib.loads(files("streams").joinpath("ladders.toml").read_text(encoding="utf-8"))
    systems = {system for ladder in document["ladders"].values() for system in ladder["systems"]}

    assert set(document["ladders"]) == set(SHAPES)
    assert systems == {"fundox", "points", "closeness", "bga", "weekly"}


def test_unrated_games_ties_and_leavers_are_as_rare_as_on_a_real_site() -> None:
    games = distinct(club_events())
    chess = [game for game in games if game["ladder"] == "chess"]
    kinds = Counter(player["left"] for game in games for player in left(game))

    assert 0.04 < share(games, lambda game: not game["rated"]) < 0.06
    assert 0.015 < share(games, lambda game: bool(left(game))) < 0.025
    assert kinds["abandoned"] > kinds["disconnected"] > 50
    assert 0.10 < share(chess, lambda game: len(winners(game)) > 1) < 0.14
    for ladder in ("words", "tiles", "dominoes", "belote"):
        alone = 2 if ladder == "belote" else 1
        first_places = [len(winners(game)) for game in games if game["ladder"] == ladder]
        assert 0.003 < sum(first > alone for first in first_places) / len(first_places) < 0.04


def test_a_leaver_does_not_win() -> None:
    for game in club_events():
        assert not {player["player_id"] for player in left(game)} & set(winners(game))


def test_points_can_be_negative_and_tied_but_ranked_apart() -> None:
    games = distinct(club_events())
    points = [[p["points"] for p in game["players"]] for game in games if game["ladder"] == "tiles"]
    tied = [game for game in games if game["ladder"] == "tiles" and len(winners(game)) == 1]

    assert any(min(of_game) < 0 for of_game in points)
    assert any(len({p["points"] for p in game["players"]}) < len(game["players"]) for game in tied)


def test_a_few_games_are_reported_twice_or_late_by_minutes() -> None:
    seen: set[str] = set()
    latest = datetime.min.replace(tzinfo=UTC)
    twice, late = 0, []
    for event in club_events():
        if event["game_id"] in seen:
            twice += 1
        elif at(event) < latest:
            late.append(latest - at(event))
        seen.add(event["game_id"])
        latest = max(latest, at(event))

    assert 0.001 < twice / 20_000 < 0.003
    assert 0.015 < len(late) / 20_000 < 0.04
    assert max(late) < timedelta(minutes=20)


def test_the_stronger_win_more() -> None:
    levels = {member.player_id: member.level for member in members(players=500, seed=1)}
    decided = [
        [player["player_id"] for player in sorted(game["players"], key=lambda player: player["rank"])]
        for game in distinct(club_events())
        if game["ladder"] == "chess" and len(winners(game)) == 1
    ]
    clear = [
        levels[first] > levels[last] for first, last in decided if abs(levels[first] - levels[last]) > 20
    ]
    close = [
        levels[first] > levels[last] for first, last in decided if 0 < abs(levels[first] - levels[last]) < 5
    ]

    assert sum(clear) / len(clear) > 0.85
    assert 0.45 < sum(close) / len(close) < 0.65


def test_some_play_daily_and_many_seldom() -> None:
    played = Counter(player["player_id"] for game in club_events() for player in game["players"])
    figures = sorted((played[member.player_id] for member in members(players=500, seed=1)), reverse=True)

    assert sum(figures[:100]) > sum(figures) / 2
    assert figures[50] > 28 * 5
    assert figures[375] < 28


def test_evenings_and_weekends_are_busier() -> None:
    local = [at(game).astimezone(START.tzinfo) for game in distinct(club_events())]
    hours = Counter(moment.hour for moment in local)
    days = Counter(moment.weekday() for moment in local)

    assert min(hours[hour] for hour in (19, 20, 21)) > 2 * max(hours[hour] for hour in range(7, 12))
    assert max(hours[hour] for hour in range(1, 6)) < hours[21] / 8
    assert min(days[5], days[6]) > 1.2 * max(days[day] for day in range(4))


@pytest.mark.parametrize("day", range(7))
def test_twenty_thousand_games_span_three_whole_weeks(day: int) -> None:
    start = START + timedelta(days=day)
    monday = START if day == 0 else START + timedelta(days=7)

    events = list(simulate(games=20_000, players=200, seed=4, start=start))

    assert start <= min(map(at, events)) < monday + timedelta(days=1)
    assert max(map(at, events)) > monday + timedelta(days=21)
    assert timedelta(days=27) < max(map(at, events)) - start < timedelta(days=29)


def test_games_per_day_sets_the_pace() -> None:
    events = list(simulate(games=5_000, players=200, seed=4, start=START, games_per_day=5_000 / 14))

    assert timedelta(days=13) < max(map(at, events)) - START < timedelta(days=15)


def test_without_a_number_of_games_the_club_plays_on() -> None:
    expected = club_events()[:19_000]

    actual = list(islice(simulate(games=None, players=500, seed=1, start=START), 21_000))

    assert expected == actual[:19_000]
    assert len({event["game_id"] for event in actual}) > 20_900


def test_a_later_first_game_continues_with_new_ids_and_the_same_players() -> None:
    later = list(simulate(games=100, players=500, seed=1, start=START + timedelta(days=28), first=20_000))

    assert not {event["game_id"] for event in later} & {event["game_id"] for event in club_events()}
    numbers = sorted(int(event["game_id"].rpartition("-")[2]) for event in distinct(later))
    assert numbers == list(range(20_000, 20_100))
    names = {member.player_id for member in members(players=500, seed=1)}
    assert {player["player_id"] for event in later for player in event["players"]} <= names


def test_names_are_unique_pronounceable_and_kept_as_the_club_grows() -> None:
    club = members(players=5_000, seed=1)
    names = [member.player_id for member in club]

    assert len(set(names)) == 5_000
    assert all(name.isascii() and name.isalpha() and name.islower() and len(name) <= 14 for name in names)
    assert {"ann", "tobias"} <= set(names)
    assert members(players=300, seed=1) == club[:300]


def test_the_smallest_club_fills_its_tables() -> None:
    events = list(simulate(games=200, players=5, seed=1, start=START))

    assert len(distinct(events)) == 200
    for event in events:
        check_shape(event)


def test_no_games_are_no_events() -> None:
    assert list(simulate(games=0, players=5, seed=1, start=START)) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"players": 4}, "too few"),
        ({"games": -1}, "games is -1"),
        ({"games_per_day": 0.0}, "games_per_day is 0.0"),
        ({"games_per_day": float("nan")}, "games_per_day is nan"),
        ({"start": datetime(2026, 11, 2)}, "UTC offset"),  # noqa: DTZ001 - naive on purpose
    ],
)
def test_a_mistake_is_named_at_once(wrong: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"games": 10, "players": 10, "seed": 1, "start": START}

    with pytest.raises(ValueError, match=message):
        simulate(**(arguments | wrong))


def test_a_shape_needs_a_result_and_whole_teams() -> None:
    with pytest.raises(ValueError, match="ranks or points"):
        LadderShape("go", (Table("go", 2),), ranks=False)
    with pytest.raises(ValueError, match="4 players"):
        LadderShape("bridge", (Table("bridge", 3),), teams=True)
