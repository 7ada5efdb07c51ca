"""The worker's job as an ordinary Faust agent: a Table, one event after the other, at least once.

What it is compared with, not an example to follow: after a crash it applies games twice
(docs/explanation/decisions.md).
The decoding, the arithmetic, the statistics and the published records are those of the worker.

    python bench/ordinary_agent.py BOOTSTRAP_SERVERS APP_ID INPUT_TOPIC OUTPUT_TOPIC
"""

import sys
import tempfile
from typing import Any

import faust

from streams.core.events import Counts, Game, RatingChanged, places
from streams.core.ratings.fundox import Parameters, changes
from streams.wire.decode import decode_record
from streams.wire.encode import encode_published

_PARAMETERS = Parameters()
_HOUR = 3600
_REMEMBERED_HOURS = 7 * 24


def new_app(bootstrap: str, app_id: str, data: str) -> faust.App:
    """Make a Faust app as its documentation shows it, on one partition."""
    return faust.App(
        app_id,
        broker=f"kafka://{bootstrap.replace(',', ';')}",
        store="memory://",
        datadir=data,
        web_enabled=False,
        topic_partitions=1,
        topic_replication_factor=1,
        key_serializer="raw",
        value_serializer="raw",
        consumer_auto_offset_reset="earliest",
    )


def attach(app: faust.App, input_topic: str, output_topic: str) -> None:
    """Declare topics, tables and the agent."""
    games = app.topic(input_topic, value_type=bytes)
    changed = app.topic(output_topic, partitions=1)
    players = app.Table("players", partitions=1)
    remembered = app.Table("games", partitions=1)
    hours: dict[int, list[str]] = {}
    source = f"ladderlog/{app.conf.id}".encode()

    @app.agent(games)
    async def rate(stream: Any) -> None:
        async for event in stream.events():
            message = event.message
            timestamp = int(message.timestamp * 1000)
            game = decode_record(message.value, message.headers or (), timestamp)
            if not isinstance(game, Game) or remembered.get(game.game_id) is not None:
                continue
            _remember(remembered, hours, game)
            position = f"{message.topic}/{message.partition}/{message.offset}"
            for _, (key, value, headers) in encode_published(_rated(players, game), source, position):
                await changed.send(key=key, value=value, headers=headers, timestamp=message.timestamp)


def _remember(remembered: Any, hours: dict[int, list[str]], game: Game) -> None:
    hour = int(game.ended_epoch // _HOUR)
    if hour not in hours:
        for past in [past for past in hours if past < hour - _REMEMBERED_HOURS]:
            for game_id in hours.pop(past):
                del remembered[game_id]
        hours[hour] = []
    hours[hour].append(game.game_id)
    remembered[game.game_id] = [game.digest, hour]


def _rated(players: Any, game: Game) -> list[RatingChanged]:
    found = places(game) or []
    rows = [players.get(player_id) or _newcomer() for player_id in game.players]
    moved = changes(found, [row["fundox"][0] for row in rows], _PARAMETERS)
    best = min(found)
    shared = found.count(best) > 1
    published = []
    for player_id, row, place, change in zip(game.players, rows, found, moved, strict=True):
        before, rated, sequence = row["fundox"]
        games, wins, losses, draws = row["statistics"]
        won, drawn = place == best and not shared, place == best and shared
        counted = [games + 1, wins + won, losses + (place != best), draws + drawn]
        after = before + change
        players[player_id] = {"statistics": counted, "fundox": [after, rated + 1, sequence + 1]}
        published.append(
            RatingChanged(
                f"{game.ladder}/fundox/{game.game_id}/{player_id}",
                game.ladder,
                "fundox",
                player_id,
                game.game_id,
                sequence + 1,
                before,
                after,
                game.ended_at,
                Counts(*counted),
            )
        )
    return published


def _newcomer() -> dict[str, list[Any]]:
    return {"statistics": [0, 0, 0, 0], "fundox": [_PARAMETERS.start, 0, 0]}


def main() -> None:
    bootstrap, app_id, input_topic, output_topic = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ladderlog-bench-") as data:
        app = new_app(bootstrap, app_id, data)
        attach(app, input_topic, output_topic)
        faust.Worker(app, loglevel="info", redirect_stdouts=False).execute_from_commandline()


if __name__ == "__main__":
    main()
