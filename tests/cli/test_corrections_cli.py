"""What people see of corrections: `void`, `status` and `game`, on a deployment with a real worker."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from sites import NoBar, Site
from workers import Worker

from streams.cli.main import cli
from streams.runtime.batches import partition_of
from streams.runtime.rebuild import rebuild_partition

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
LADDER = "go"
HOME = partition_of(LADDER.encode(), 4)


def asked(site: Site, name: str, *arguments: str) -> Result:
    settings = site.settings
    options = [
        f"--bootstrap-servers={settings.bootstrap_servers}",
        f"--topic-prefix={settings.topic_prefix}",
        f"--app-id={settings.app_id}",
    ]
    if name != "status":
        options.append(f"--ladders={site.ladder_file}")
    return CliRunner().invoke(cli, [name, *options, *arguments])


def told(site: Site, game_id: str) -> dict[str, Any]:
    result = asked(site, "game", "--ladder", LADDER, "--game-id", game_id, "--json")

    assert result.exit_code == 0, result.output
    story: dict[str, Any] = orjson.loads(result.stdout)
    return story


def outcomes(story: dict[str, Any]) -> list[tuple[str, bool | None]]:
    """Give the outcome of each record, and whether it is in force where that is a question."""
    return [(record["outcome"], record.get("in_force")) for record in story["records"]]


def game(game_id: str, winner: str = "ann", loser: str = "bob", **fields: Any) -> dict[str, Any]:
    players = [{"player_id": winner, "rank": 1, "points": 9}, {"player_id": loser, "rank": 2, "points": 3}]
    return {
        "game_id": game_id,
        "ladder": LADDER,
        "ended_at": "2024-01-03T10:00:00Z",
        "players": players,
        **fields,
    }


def void(game_id: str, reason: str = "engine use") -> dict[str, Any]:
    return {"type": "game-voided", "ladder": LADDER, "game_id": game_id, "reason": reason}


def work(site: Site, start_worker: StartWorker) -> None:
    """Let a worker do what is on the log, and leave."""
    worker = start_worker(site)
    site.wait_until_done()
    worker.stop()


def rebuild(site: Site) -> None:
    asyncio.run(rebuild_partition(site.settings, site.rules, HOME, NoBar(), dry_run=False))


def test_the_reason_of_a_void_is_seen_and_whether_it_is_in_force(
    site: Site, start_worker: StartWorker
) -> None:
    site.produce([game("1"), void("1"), game("2", "eve", "joe")])
    work(site, start_worker)
    before, status = told(site, "1"), asked(site, "status").stdout
    rebuild(site)
    after, text = told(site, "1"), asked(site, "game", "--ladder", LADDER, "--game-id", "1").stdout

    assert outcomes(before) == [("rated", None), ("noted", False)]
    assert before["records"][1]["voided"] == {"reason": "engine use"}
    assert before["pending"]
    assert f"  1 correction pending on {LADDER}: `ladderlog rebuild` puts it into force" in status
    assert outcomes(after) == [("rated", None), ("noted", True)]
    assert after["records"][1]["rebuilt_at"] == 3
    assert "taken back: engine use\n  noted; in force since the rebuild at offset 3" in text
    assert "correction" not in asked(site, "status").stdout


def test_the_changes_of_a_game_are_the_differences_of_what_is_shown(
    site: Site, start_worker: StartWorker
) -> None:
    site.produce([game("1"), game("2")])
    work(site, start_worker)

    changes = told(site, "2")["changes"]

    assert {change["system"] for change in changes} == {"weekly", "bga"}
    assert {change["player_id"] for change in changes} == {"ann", "bob"}
    assert {change["difference"] for change in changes} >= {10.0}
    assert all(round(change["after"] - change["before"], 1) == change["difference"] for change in changes)


def test_a_second_version_before_the_first(site: Site, start_worker: StartWorker) -> None:
    site.produce([game("1", version=2), game("1", "bob", "ann"), game("1", version=3)])
    work(site, start_worker)

    story = told(site, "1")

    assert outcomes(story) == [("rated", None), ("ignored", None), ("noted", False)]
    assert [record["game"]["version"] for record in story["records"]] == [2, 1, 3]
    assert {why["reason"] for why in story["records"][1]["reasons"]} == {"superseded"}
    assert {why["system"] for why in story["records"][1]["reasons"]} == {"weekly", "bga"}


def test_a_void_before_its_game_is_in_force_at_once(site: Site, start_worker: StartWorker) -> None:
    voided = asked(site, "void", "--ladder", LADDER, "--game-id", "9", "--reason", "cheat")
    site.produce([game("9")])
    work(site, start_worker)

    story = told(site, "9")

    assert voided.stdout == "9 is not on the log: it will be ignored when it comes\n"
    assert outcomes(story) == [("noted", True), ("ignored", None)]
    assert story["changes"] == []
    assert not story["pending"]


def test_a_game_away_from_home_is_told_where_it_lies_and_where_it_was_rated(
    site: Site, start_worker: StartWorker
) -> None:
    away = (HOME + 1) % 4
    site.produce_records([{"value": orjson.dumps(game("1")), "partition": away}])
    work(site, start_worker)

    first, second = told(site, "1")["records"]

    assert (first["partition"], first["outcome"]) == (away, "forwarded")
    assert (second["partition"], second["outcome"]) == (HOME, "rated")
    assert second["forwarded_from"] == f"{site.settings.input_topic}/{away}/0"


def test_a_conflict_and_records_that_are_no_events_belong_to_the_story(
    site: Site, start_worker: StartWorker
) -> None:
    site.produce([game("1"), game("1", "bob", "ann")])
    broken = [b'{"game_id": "1", "ladder": "go"}', b'{"game_id": "1", ', b'{"game_id": "\\u0031"}', b"[]"]
    site.produce_records({"value": value, "partition": HOME} for value in broken)
    site.produce([game("1", ladder="chess")])
    work(site, start_worker)
    site.produce([game("1")])

    records = told(site, "1")["records"]

    assert [record["outcome"] for record in records] == ["rated", *["rejected"] * 4, "unread"]
    assert records[1]["rejection"]["reason"] == "conflict"
    assert "version above 1" in records[1]["rejection"]["message"]
    assert [record["rejection"]["reason"] for record in records[2:5]] == ["schema", "not-json", "schema"]
    assert records[2]["invalid"] == broken[0].decode()


def test_a_game_that_nobody_sent_is_no_story(site: Site) -> None:
    site.produce([game("1")])

    result = asked(site, "game", "--ladder", LADDER, "--game-id", "one")

    assert result.exit_code == 1
    assert f"nobody has sent anything about game 'one' of ladder '{LADDER}'" in result.output


def test_a_void_counts_what_it_sent_and_no_more(site: Site) -> None:
    site.produce([game("1"), game("2", "eve", "joe"), game("3")])

    first = asked(site, "void", "--ladder", LADDER, "--game-id", "1", "--reason", "cheat")
    second = asked(site, "void", "--ladder", LADDER, "--player", "ann", "--reason", "cheat")
    third = asked(site, "void", "--ladder", LADDER, "--player", "ann", "--reason", "cheat")

    assert first.stdout == f"1 game of {LADDER} taken back; `ladderlog rebuild` puts that into force\n"
    assert second.stdout == f"1 game of {LADDER} had been taken back before\n{first.stdout}"
    assert third.stdout == f"2 games of {LADDER} had been taken back before\n"
    assert len(site.read(site.settings.input_topic)[HOME]) == 5


def test_a_void_of_a_player_without_games_fails_and_names_those_there_are(site: Site) -> None:
    site.produce([game("1"), game("2", "eve", "joe", ladder="chess")])

    result = asked(site, "void", "--ladder", LADDER, "--player", "eve", "--reason", "cheat")

    assert result.exit_code == 2
    assert f"player 'eve' has no games on ladder '{LADDER}'; there are ann, bob" in result.output


@pytest.mark.parametrize("name", ["void", "game"])
def test_an_unknown_ladder_fails_and_those_there_are_are_named(site: Site, name: str) -> None:
    reason = ["--reason", "cheat"] if name == "void" else []

    result = asked(site, name, "--ladder", "nowhere", "--game-id", "1", *reason)

    assert result.exit_code == 2
    assert "there is no ladder 'nowhere'; there are rummy, tiles, belote, go" in result.output
