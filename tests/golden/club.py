"""The made-up club of the golden files: simulated games, and beside them every oddity a log can have."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

# What `ladderlog simulate` is asked for; half a year after it begins, everything is over by any clock.
SIMULATE = "simulate --games 500 --players 24 --seed 1 --start 2024-01-07T15:00:00+00:00"
# The first are processed before the rebuild, the others after it.
BEFORE_REBUILD = 420
ODDITIES_AFTER = 250

PARTITIONS = 4
HOMES = {"belote": 2, "chess": 2, "words": 2, "dominoes": 2, "tiles": 1, "go": 3, "rummy": 0, "nowhere": 2}
WEEKLY = ("belote", "dominoes", "go", "rummy")
# Those the log itself ends, at midnight and for good; the others are left to the worker's clock.
WEEKS_IN_THE_LOG = (
    ("2024-W01", "2024-01-08T06:00:00Z", "2024-01-09T07:00:00Z"),
    ("2024-W02", "2024-01-15T06:00:00Z", "2024-01-16T07:00:00Z"),
)
_REPORTED_AFTER = timedelta(seconds=60)

Event = dict[str, Any]
Header = tuple[str, bytes | None]


@dataclass
class Record:
    """A record of the input topic; `event` when it is JSON with a type, and then also a line of a file."""

    value: bytes | None
    key: bytes | None
    headers: list[Header] = field(default_factory=list)
    partition: int | None = None
    event: Event | None = None
    timestamp: int = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of aiokafka's `send`, without the topic."""
        return {
            "value": self.value,
            "key": self.key,
            "timestamp_ms": self.timestamp,
            "headers": self.headers,
            "partition": self.partition,
        }


def club(simulated: Sequence[Event]) -> list[Record]:
    """Return the whole log: what the site reports, in order, the oddities among it."""
    records: list[Record] = []
    latest = 0
    for number, reported in enumerate(simulated):
        ended = datetime.fromisoformat(reported["ended_at"])
        latest = max(latest, _epoch_ms(ended + _REPORTED_AFTER))
        for entry in _entries(number, reported, simulated):
            records.append(entry if isinstance(entry, Record) else _record(entry))
            records[-1].timestamp = latest
    return records


def lines(records: Sequence[Record]) -> bytes:
    """Return the log as a file of JSON lines, without what only a topic can have."""
    found = [
        record.value if record.event is None else _json(record.event)
        for record in records
        if record.value is not None and (record.event is not None or record.key is None)
    ]
    return b"".join(line + b"\n" for line in found if b"\n" not in line)


def _epoch_ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _json(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _record(event: Event) -> Record:
    kind = event.get("type", "game-finished")
    fields = {name: value for name, value in event.items() if name != "type"}
    headers: list[Header] = [("ce_type", f"{kind}.v1".encode())]
    return Record(_json(fields), str(event.get("ladder", "")).encode(), headers, event=event)


def _entries(number: int, reported: Event, simulated: Sequence[Event]) -> Iterator[Event | Record]:
    """Yield what the log has around a game of the simulation: ends of weeks before it, oddities behind it."""
    before = simulated[number - 1]["ended_at"] if number else ""
    for week, midnight, over in WEEKS_IN_THE_LOG:
        for moment, final in ((midnight, False), (over, True)):
            if before <= moment < reported["ended_at"]:
                yield from _week_ended(week, final=final)
    yield reported
    # The two ladders that the simulated club has not.
    if reported["ladder"] == "dominoes":
        yield {**reported, "ladder": "go", "game_type": "go", "game_id": f"go/{number}"}
    elif reported["ladder"] == "words":
        yield {**reported, "ladder": "rummy", "game_type": "rummy", "game_id": f"rummy-{number}"}
    if number == ODDITIES_AFTER:
        yield from _odd_events(simulated)
        yield from _odd_records(simulated)
    if number == BEFORE_REBUILD:
        yield from _corrections(simulated)


def _week_ended(week: str, *, final: bool) -> Iterator[Event]:
    for ladder in WEEKLY:
        yield {"type": "week-ended", "ladder": ladder, "week": week, "final": final}
    # Late games: within the grace time they amend the week, after it they are late.
    sunday = datetime.fromisocalendar(int(week[:4]), int(week[6:]), 7).replace(hour=20)
    for ladder in WEEKLY:
        yield game(
            f"late-{week}-{final}", ladder, [("ann", 1, 9), ("bob", 2, 3)], ended_at=f"{sunday.isoformat()}Z"
        )


def game(
    game_id: str, ladder: str, players: Sequence[tuple[str, int | None, float | None]], **fields: Any
) -> Event:
    """Return a finished game; of each player the id, the rank and the points, None for what is not known."""
    return {
        "game_id": game_id,
        "ladder": ladder,
        "ended_at": "2024-01-21T12:00:00Z",
        "players": [
            {
                "player_id": player_id,
                **({} if rank is None else {"rank": rank}),
                **({} if points is None else {"points": points}),
            }
            for player_id, rank, points in players
        ],
        **fields,
    }


PAIR: list[tuple[str, int | None, float | None]] = [("ann", 1, 7.5), ("bob", 2, 3)]
BACK: list[tuple[str, int | None, float | None]] = [("ann", 2, 3), ("bob", 1, 7.5)]


def _odd_events(simulated: Sequence[Event]) -> Iterator[Event]:
    chess = next(event for event in simulated if event["ladder"] == "chess")
    words = next(event for event in simulated if event["ladder"] == "words")
    yield chess
    yield {name: chess[name] for name in reversed(chess)}
    yield {**chess, "ended_at": "2024-01-07T17:08:15Z"}
    yield {**words, "players": [{**player, "points": 1} for player in words["players"]]}
    yield game("n-1", "nowhere", PAIR)
    yield from _odd_results()
    yield from _wrong_fields()
    yield from _odd_others()
    # Corrections that nothing has put into force yet: of a game that is known, and before the game itself.
    yield {**words, "version": 2, "players": [{**player, "points": 300} for player in words["players"]]}
    yield {**words, "version": 3, "players": [{**player, "points": 301} for player in words["players"]]}
    yield game("ahead", "rummy", BACK, version=4)
    yield game("ahead", "rummy", PAIR)


def _odd_results() -> Iterator[Event]:
    for ladder in ("chess", "tiles", "go", "rummy", "words", "belote"):
        yield game("u-1", ladder, PAIR, rated=False)
        yield game("u-2", ladder, [("ann", None, None), ("bob", None, None)])
        yield game("u-3", ladder, [("ann", 1, None), ("bob", None, None)])
        yield game("u-4", ladder, [("ann", 1, None), ("bob", 1, None), ("eve", 3, None)])
        yield game(
            "u-5", ladder, [("ann", None, 5), ("bob", None, 9.25), ("eve", None, -3), ("joe", None, 0)]
        )
        yield game("u-6", ladder, [(f"p{n}", n, float(100 - n)) for n in range(1, 6)])
        yield game("u-7", ladder, [(f"q{n:02}", n, 1e14 / n) for n in range(1, 33)])
        for left in ("abandoned", "disconnected"):
            event = game(f"u-{left}", ladder, PAIR, started_at="2024-01-21T11:00:00+00:00")
            event["players"][1] |= {"left": left, "left_at": "2024-01-21T11:30:00.25Z"}
            yield event
        teams = game("u-8", ladder, [("ann", 1, 5), ("bob", 1, 5), ("eve", 2, 1), ("joe", 2, 1)])
        for player, team in zip(teams["players"], "nnss", strict=True):
            player["team"] = team
        yield teams
        yield game("zoé/ñ 1%2F✓", ladder, [("zoé / ñ%", 1, 0.1), ('"\\\u2028', 2, -0.0)])
        yield game("u-9", ladder, PAIR, ended_at="2024-01-21T13:00:00.123456+01:00", color="red", version=1)
        yield game("old-1", ladder, PAIR, ended_at="2023-10-01T00:00:00-05:30")


def _wrong_fields() -> Iterator[Event]:
    right = game("w-1", "tiles", PAIR)
    yield {name: value for name, value in right.items() if name != "players"}
    yield {name: value for name, value in right.items() if name != "game_id"}
    yield {**right, "game_id": ""}
    yield {**right, "game_id": 7}
    yield {**right, "game_id": "tab\there"}
    yield {**right, "ended_at": "2024-01-21 12:00:00"}
    yield {**right, "ended_at": "2024-02-31T12:00:00Z"}
    yield {**right, "players": right["players"][:1]}
    yield {**right, "players": [{"player_id": f"p{n}", "rank": n} for n in range(1, 34)]}
    yield {**right, "players": [{"player_id": "ann", "rank": 0}, {"player_id": "bob", "rank": 1.5}]}
    yield {**right, "players": [{"player_id": "ann", "rank": 1}, {"player_id": "ann", "rank": 2}]}
    yield {**right, "started_at": "2024-01-21T12:00:01Z"}
    yield {**right, "rated": "yes"}
    yield {**right, "version": 0}


def _odd_others() -> Iterator[Event]:
    imported = {"type": "rating-imported", "rating": 1700.5, "games": 31}
    for ladder, system, player in (
        *(("chess", "fundox", "newcomer"), ("tiles", "bga", "newcomer"), ("words", "points", "newcomer")),
        *(("words", "closeness", "newcomer"), ("chess", "fundox", "ann"), ("chess", "weekly", "newcomer")),
        *(("rummy", "bga", "newcomer"), ("nowhere", "bga", "newcomer"), ("tiles", "elo", "newcomer")),
    ):
        yield {**imported, "ladder": ladder, "system": system, "player_id": player}
    for week in ("2024-W03", "2023-W52", "2024-W60", None):
        weekly = {**imported, "ladder": "go", "system": "weekly", "player_id": "newcomer", "rating": 55}
        yield weekly if week is None else {**weekly, "week": week}
    yield {**imported, "ladder": "chess", "system": "bga", "player_id": "x", "rating": "high"}
    yield game("i-1", "chess", [("newcomer", 1, None), ("ann", 2, None)])
    yield game("i-2", "go", [("newcomer", 1, None), ("ann", 2, None)])
    yield game("i-3", "rummy", [("newcomer", 1, 4), ("ann", 2, 3), ("bob", 3, 1)])
    yield {"type": "week-ended", "ladder": "chess", "week": "2024-W02", "final": True}
    yield {"type": "week-ended", "ladder": "go", "week": "2024-W02", "final": True}
    yield {"type": "week-ended", "ladder": "go", "week": "2024-W02", "final": False}
    yield {"type": "week-ended", "ladder": "go", "week": "next", "final": True}
    yield {"type": "game-voided", "ladder": "go", "game_id": "v-1", "reason": "comes later"}
    yield game("v-1", "go", PAIR)
    yield {"type": "game-voided", "ladder": "go", "game_id": "v-2"}
    yield {"type": "corrections-applied", "ladder": "rummy", "app_id": "another", "until": 10}


def _odd_records(simulated: Sequence[Event]) -> Iterator[Record]:
    right = _json(game("o-1", "chess", PAIR))
    for number, value in enumerate(
        (b"", b"{", b"[]", b'"text"', b"null", b'{"a": NaN}', b"\xff\xfe{}", b'{"game_id": "\\ud800"}')
    ):
        yield Record(value, None, partition=number % PARTITIONS)
    yield Record(None, b"chess")
    yield Record(right, None, partition=HOMES["chess"])
    yield Record(right.replace(b"o-1", b"o-2"), b"chess")
    yield Record(right.replace(b"o-1", b"o-3"), b"words", partition=HOMES["chess"])
    # The one record away from home: of two, which comes home first would be chance.
    yield Record(right.replace(b"o-1", b"o-4"), b"\xff", partition=0)
    yield Record(right.replace(b"o-1", b"o-5"), b"", partition=HOMES["chess"])
    for kind in (b"game-finished.v2", b"game-finished", b"", b"week-ended.v1", b"\xff"):
        yield Record(right.replace(b"o-1", b"o-6"), b"chess", [("ce_type", kind)])
    yield Record(
        right.replace(b"o-1", b"o-7"),
        b"chess",
        [("ce_id", b"1"), ("ce_source", b"a site"), ("traceparent", b"00-\x00-01"), ("x", b"1"), ("x", b"2")],
    )
    yield Record(b"{", b"tiles", [("ce_type", b"game-finished.v1"), ("x", b"\x00\xff"), ("none", None)])
    spaced = json.dumps(game("o-8", "chess", BACK), indent=1).encode()
    yield Record(spaced, b"chess")
    future = _json(game("o-9", "chess", PAIR, ended_at="2024-03-21T12:00:00Z"))
    yield Record(future, b"chess", partition=HOMES["chess"])
    large = _json(game("o-10", "chess", PAIR, comment="x" * 1024 * 1024))
    yield Record(large, b"chess")
    # Once more what is known, by a plain producer.
    for event in simulated[:3]:
        yield Record(_json(event), event["ladder"].encode())


def _corrections(simulated: Sequence[Event]) -> Iterator[Event]:
    """Yield what makes the second part of the log: games corrected again, beside what is in force by then."""
    words = next(event for event in simulated if event["ladder"] == "words")
    yield {**words, "version": 2}
    yield {**words, "version": 5, "players": [{**player, "points": 310} for player in words["players"]]}
    yield game("after", "rummy", PAIR, ended_at="2024-01-30T00:00:00Z")
    yield game("o-2", "chess", PAIR)
