"""`ladderlog explain`: what it says is what was published, from files and from a deployment."""

import asyncio
import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import orjson
import pytest
from click.testing import CliRunner, Result
from replaying import delete
from sites import NoBar, Site
from workers import Worker

from streams.cli.main import cli
from streams.core.ratings import SYSTEMS
from streams.core.rules import parse_ladders
from streams.files.rate import RateFiles, rate_lines
from streams.runtime.batches import partition_of
from streams.runtime.rebuild import rebuild_partition
from streams.testing import club_games

Body = Mapping[str, Any]

EVERYTHING = {
    "systems": list(SYSTEMS),
    "timezone": "Europe/Paris",
    "bga": {"quit_policy": "last-place"},
}
HOME = partition_of(b"rummy", 4)
LADDER_FILE = '[ladders.chess]\nsystems = ["fundox", "bga"]\n'


def game(game_id: str, winner: str = "ann", loser: str = "bob", ladder: str = "chess", **fields: Any) -> Body:
    players = [{"player_id": winner, "rank": 1, "points": 9}, {"player_id": loser, "rank": 2, "points": 3}]
    ended_at = "2024-01-03T10:00:00Z"
    return {
        "type": "game-finished",
        "game_id": game_id,
        "ladder": ladder,
        "ended_at": ended_at,
        "players": players,
        **fields,
    }


def explain(folder: Path, log: Sequence[Body], *options: str) -> Result:
    """Ask about a game of a file."""
    (folder / "ladders.toml").write_text(LADDER_FILE)
    (folder / "games.jsonl").write_text("".join(json.dumps(event) + "\n" for event in log))
    files = (f"--games={folder / 'games.jsonl'}", f"--ladders={folder / 'ladders.toml'}")
    return CliRunner().invoke(cli, ["explain", *files, "--ladder", "chess", *options], env={})


def about(game_id: str, player: str, *others: str) -> tuple[str, ...]:
    return ("--game-id", game_id, "--player", player, *others)


@cache
def club() -> tuple[list[bytes], list[Body]]:
    """Return the games of a made-up club, all on one ladder of all systems, and their published changes."""
    lines = [
        orjson.dumps({**msgspec.to_builtins(played), "ladder": "club"}) for played in club_games(150, seed=5)
    ]
    changed = io.BytesIO()
    rules = parse_ladders({"ladders": {"club": EVERYTHING}})
    rate_lines(lines, rules, RateFiles(changed), SimpleNamespace(update=lambda _: None))
    return lines, [orjson.loads(line) for line in changed.getvalue().splitlines()]


def test_what_is_explained_is_what_rate_publishes(tmp_path: Path) -> None:
    lines, published = club()
    (tmp_path / "club.jsonl").write_bytes(b"\n".join(lines))
    (tmp_path / "club.toml").write_text(
        f'[ladders.club]\nsystems = {json.dumps(list(SYSTEMS))}\ntimezone = "Europe/Paris"\n'
        '[ladders.club.bga]\nquit_policy = "last-place"\n'
    )
    asked = sorted({(body["game_id"], body["player_id"]) for body in published})[::6]
    for game_id, player in asked:
        files = (f"--games={tmp_path / 'club.jsonl'}", f"--ladders={tmp_path / 'club.toml'}")
        options = (*about(game_id, player), "--ladder", "club", "--json")
        told = orjson.loads(CliRunner().invoke(cli, ["explain", *files, *options], env={}).stdout)

        assert results(told) == {
            body["system"]: body["after"]
            for body in published
            if (body["game_id"], body["player_id"]) == (game_id, player)
        }


def test_the_command_tells_the_steps_and_what_is_shown(tmp_path: Path) -> None:
    result = explain(tmp_path, [game("1"), game("2")], *about("2", "bob", "--system", "fundox"))

    assert result.exit_code == 0
    assert result.stdout == (
        "chess, game 2 of 2024-01-03T10:00:00Z: bob\n"
        "\n"
        "fundox: 1592.0 to 1584.2, -7.8\n"
        "  You stood 16.0 below ann: expected 0.4885.\n"
        "  You lost, and pay ann: 16 x (0 - 0.4885) = -7.82.\n"
        "  Your rating: 1592.00 - 7.82 = 1584.18.\n"
    )
    assert result.stderr == ""


def test_no_line_is_wider_than_a_terminal(tmp_path: Path) -> None:
    players = [{"player_id": f"somebody-{rank}", "rank": rank} for rank in (1, 2, 3, 4, 5)]

    result = explain(tmp_path, [game("1"), game("2", players=players)], *about("2", "somebody-3"))

    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "fundox: not rated: player-count: the system does not rate games of this many" in result.stdout
    assert result.stdout.count("expected") == 4


def test_steps_in_json_have_the_message_and_unrounded_values(tmp_path: Path) -> None:
    result = explain(tmp_path, [game("1")], *about("1", "ann", "--system", "bga", "--json"))

    (bga,) = orjson.loads(result.stdout)["systems"]
    assert (bga["before"], bga["after"], bga["difference"]) == (1500.0, 1530.0, 30.0)
    assert bga["steps"][1] == {
        "message": "You did better than {other}: 1 - {expected:.4f} = {result:+.4f}.",
        "values": {"other": "bob", "expected": 0.5},
        "result": 0.5,
        "text": "You did better than bob: 1 - 0.5000 = +0.5000.",
    }


def test_a_game_that_does_not_count_says_why(tmp_path: Path) -> None:
    result = explain(tmp_path, [game("1", rated=False)], *about("1", "ann"))

    assert result.exit_code == 0
    assert result.stdout.endswith("\nfundox, bga: not rated: unrated: the game was played unrated\n")


def test_a_void_that_waits_for_a_rebuild_is_told(tmp_path: Path) -> None:
    void = {"type": "game-voided", "ladder": "chess", "game_id": "1", "reason": "cheat"}

    behind = explain(tmp_path, [game("1"), void], *about("1", "ann"))
    ahead = explain(tmp_path, [void, game("1")], *about("1", "ann"))

    assert "a later word on it waits for `ladderlog rebuild`; this is how it stands now" in behind.stdout
    assert "fundox: 1600.0 to 1608.0, +8.0" in behind.stdout
    assert "waits" not in ahead.stdout
    assert ahead.stdout.endswith("fundox, bga: not rated: voided: the game was taken back\n")


def test_corrections_of_a_file_are_in_force_where_their_marker_is(tmp_path: Path) -> None:
    log = [
        *(game("1"), game("2"), game("1", "bob", "ann", version=2)),
        {"type": "corrections-applied", "ladder": "chess", "app_id": "ladderlog", "until": 3},
    ]

    corrected = explain(tmp_path, log, *about("1", "ann"))
    other = explain(tmp_path, log, *about("2", "ann"))

    assert "\nversion 2, in force since the rebuild at offset 3\n" in corrected.stdout
    assert "fundox: 1600.0 to 1592.0, -8.0" in corrected.stdout
    assert "You stood 16.0 below bob" in other.stdout


def test_several_files_are_one_log(tmp_path: Path) -> None:
    (tmp_path / "before.jsonl").write_text(json.dumps(game("1")))

    result = explain(tmp_path, [game("2")], f"--games={tmp_path / 'before.jsonl'}", *about("2", "ann"))

    # They come in the order in which they are named: the game asked for is in the first.
    assert "fundox: 1600.0 to 1608.0, +8.0" in result.stdout


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (about("9", "ann"), 1, "there is no valid report of game '9' of ladder 'chess' in "),
        (about("1", "eve"), 2, "there is no player of game '1' 'eve'; there are ann, bob"),
        (about("1", "ann", "--system", "elo"), 2, "'elo'; there are fundox, bga"),
        (about("1", "ann", "--ladder", "go"), 2, "there is no ladder 'go'; there are chess"),
    ],
)
def test_what_is_not_there_is_named(
    tmp_path: Path, options: tuple[str, ...], status: int, message: str
) -> None:
    result = explain(tmp_path, [game("1")], *options)

    assert result.exit_code == status
    assert message in result.stderr


def test_without_a_place_to_look_it_asks_for_one() -> None:
    result = CliRunner().invoke(cli, ["explain", "--ladder", "chess", *about("1", "ann")], env={})

    assert result.exit_code == 2
    assert "say where the games are: --bootstrap-servers, or --games FILE" in result.stderr


def results(told: Body) -> dict[str, float]:
    """Return the last result of each system's steps."""
    return {one["system"]: one["steps"][-1]["result"] for one in told["systems"] if one["reason"] is None}


def deployed(site: Site, *options: str) -> Result:
    settings = site.settings
    where = (
        f"--bootstrap-servers={settings.bootstrap_servers}",
        f"--topic-prefix={settings.topic_prefix}",
        f"--app-id={settings.app_id}",
        f"--ladders={site.ladder_file}",
    )
    return CliRunner().invoke(cli, ["explain", *where, "--ladder", "rummy", *options])


def published(site: Site, game_id: str, player_id: str) -> dict[str, float]:
    bodies = [orjson.loads(record.value) for record in site.read_output("rating-changed")]
    return {
        body["system"]: body["after"]
        for body in bodies
        if (body.get("game_id"), body["player_id"]) == (game_id, player_id)
    }


@pytest.mark.kafka
def test_a_deployment_explains_what_it_published_and_says_what_it_cannot(
    site: Site, start_worker: Callable[..., Worker]
) -> None:
    names = [("ann", "bob"), ("bob", "eve"), ("eve", "ann")]
    log = [game(str(number), *names[number % 3], ladder="rummy") for number in range(9)]
    site.produce([*log, game("1", ladder="tiles")])
    unread = deployed(site, *about("7", "bob"))
    worker = start_worker(site)
    site.wait_until_done()
    worker.stop()

    told = orjson.loads(deployed(site, *about("7", "bob", "--json")).stdout)
    missing = deployed(site, *about("77", "bob"))
    site.produce([{"type": "game-voided", "ladder": "rummy", "game_id": "4", "reason": "cheat"}])
    waiting = deployed(site, *about("4", "bob"))
    asyncio.run(rebuild_partition(site.settings, site.rules, HOME, NoBar(), dry_run=False))
    taken_back = deployed(site, *about("4", "bob"))
    corrected = orjson.loads(deployed(site, *about("7", "bob", "--json")).stdout)
    delete(site, site.settings.input_topic, {HOME: 2})
    lost = deployed(site, *about("7", "bob"))

    assert "\nno worker has come to it yet: this is what one will do\n" in unread.stdout
    assert results(told) == published(site, "7", "bob")
    assert missing.exit_code == lost.exit_code == 1
    assert "the home of the ladder" in missing.stderr
    assert "waits for `ladderlog rebuild`" in waiting.stdout
    assert "\ntaken back, in force since the rebuild at offset " in taken_back.stdout
    assert "points, closeness, fundox: not rated: voided: the game was taken back" in taken_back.stdout
    assert results(corrected) != results(told)
    assert f"has lost the beginning of partition {HOME}, offsets 0 to 1" in lost.stderr
