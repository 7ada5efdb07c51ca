"""Games and ladders for tests, as the program makes them: decoded from fields, parsed from a document."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import orjson

from streams.core.events import GAME_IGNORED, RATING_CHANGED, Event, Game, Output, Player, RatingImported
from streams.core.ladders import Ladders
from streams.core.rules import parse_ladders
from streams.testing import checked, finished, ranked, scored
from streams.testing.makers import ENDED_AT
from streams.wire.decode import decode_checked

__all__ = ["ENDED_AT", "ranked", "scored"]

LADDER = "l"


def game(fields: Mapping[str, Any]) -> Game:
    """Decode a game-finished event; ladder and ended_at need not be given."""
    decoded = decode_checked({"ladder": LADDER, "ended_at": ENDED_AT, **fields})
    assert isinstance(decoded, Game)
    return decoded


def played(game_id: str, *players: Player, ladder: str = LADDER, **fields: Any) -> Game:
    """Make a game of players as the folds read it."""
    decoded = checked(finished(game_id, *players, ladder=ladder, **fields))
    assert isinstance(decoded, Game)
    return decoded


def imported(system: str, player_id: str, rating: float, games: int = 100, **fields: Any) -> RatingImported:
    """Make a player's figures from a former system."""
    return RatingImported(LADDER, system, player_id, rating, games, **fields)


def ladder(system: str, parameters: Mapping[str, Any] | None = None, **settings: Any) -> Ladders:
    """Make a fold with one ladder of one system."""
    table = {"systems": [system], system: dict(parameters or {}), **settings}
    return Ladders(parse_ladders({"ladders": {LADDER: table}}))


class Shown(NamedTuple):
    """A published event as its readers see it: the topic, the key, and the fields of its value."""

    topic: str
    key: str
    body: dict[str, Any]


def shown(published: Iterable[Output]) -> list[Shown]:
    """Return published events as their readers see them."""
    return [Shown(event.topic, event.key, msgspec.to_builtins(event)) for event in published]


class Record(SimpleNamespace):
    """A record as aiokafka and kafka-python have it."""


def as_read(published: Iterable[Shown]) -> list[Record]:
    """Return published events as a subscriber has them who reads one partition of each topic."""
    offsets: Counter[str] = Counter()
    records = []
    for topic, key, body in published:
        position = {"topic": topic, "partition": 0, "offset": offsets[topic]}
        records.append(Record(**position, key=key.encode(), value=orjson.dumps(body), headers=[]))
        offsets[topic] += 1
    return records


def outputs(ladders: Ladders, events: Iterable[Event]) -> list[Shown]:
    """Apply events, and return everything that is published."""
    out: list[Output] = []
    for event in events:
        ladders.apply(event, out)
    return shown(out)


def changes(ladders: Ladders, *events: Event) -> list[Mapping[str, Any]]:
    """Apply events, and give the changes by games: imports are not shown."""
    bodies = [output.body for output in outputs(ladders, events) if output.topic == RATING_CHANGED]
    return [body for body in bodies if body.get("reason") != "import"]


def ratings(ladders: Ladders, *events: Event) -> dict[str, float]:
    """Apply events, and give the last rating that was published of each player."""
    return {body["player_id"]: body["after"] for body in changes(ladders, *events)}


def reasons(ladders: Ladders, *events: Event) -> list[str]:
    """Apply events, and give why they did not count."""
    bodies = [output.body for output in outputs(ladders, events) if output.topic == GAME_IGNORED]
    return [reason["reason"] for body in bodies for reason in body["reasons"]]


def written(ladders: Ladders) -> Iterator[tuple[str, bytes | None]]:
    """Give the changed rows as they are written to a changelog."""
    for key, row in ladders.changed_rows():
        yield key, None if row is None else orjson.dumps(row)


def without_order(
    system: str, figures: Mapping[str, tuple[float, int]], players: list[Player], **fields: Any
) -> dict[str, float]:
    """Play one game on a new ladder from imported figures, and give the rating of each player after it."""
    fold = ladder(system)
    imports = [imported(system, player_id, *known) for player_id, known in figures.items()]
    return ratings(fold, *imports, played("1", *players, **fields))
