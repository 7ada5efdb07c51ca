"""Preview with what a running deployment knows of the players."""

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from click.testing import CliRunner
from sites import Site
from workers import Worker

from streams.cli.main import cli
from streams.core.rankings import shown
from streams.files.rate import RateFiles, rate_lines

pytestmark = pytest.mark.kafka

SEATS = ("ann", "bob", "cid")


def game(number: int) -> dict[str, Any]:
    points = [(7 * number + 5 * seat) % 40 + 1 for seat in range(len(SEATS))]
    players = [{"player_id": name, "points": made} for name, made in zip(SEATS, points, strict=True)]
    return {
        "game_id": f"g{number}",
        "ladder": "tiles",
        "ended_at": f"2024-01-05T20:{number:02}:00Z",
        "players": players,
    }


def rated(site: Site, games: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return ann's last change in each system, by `rate`."""
    changed = io.BytesIO()
    bar = SimpleNamespace(update=lambda _: None)
    rate_lines(map(orjson.dumps, games), site.rules, RateFiles(changed), bar)
    bodies = [orjson.loads(line) for line in changed.getvalue().splitlines()]
    return {body["system"]: body for body in bodies if body["player_id"] == "ann"}


def test_a_deployments_ratings_and_games_are_those_the_preview_starts_from(
    site: Site, start_worker: Callable[..., Worker]
) -> None:
    games = [game(number) for number in range(20)]
    site.produce(games)
    worker = start_worker(site)
    site.wait_until_done()
    worker.stop()
    settings = site.settings
    options = [
        *("preview", "--ladders", str(site.ladder_file), "--ladder", "tiles", "--players", "ann,bob,cid"),
        *("--bootstrap-servers", settings.bootstrap_servers, "--app-id", settings.app_id),
        *("--topic-prefix", settings.topic_prefix, "--partitions", str(settings.partitions)),
    ]

    printed = CliRunner().invoke(cli, options, catch_exceptions=False).output

    anns = [line.split()[:4] for line in printed.splitlines() if line.startswith("  ann")]
    assert anns == [["ann", shown(body["after"]), "20", "games"] for body in rated(site, games).values()]
