"""Decoding a game at once: what is plain gives what schema and fields give, and the rest is left to them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.core.events import Game, Rejected
from streams.wire.decode import decode_checked
from streams.wire.decode_fast import decode_plain

GAME: dict[str, Any] = {
    "game_id": "g-1",
    "ladder": "chess",
    "game_type": "blitz",
    "started_at": "2026-11-29T19:30:00Z",
    "ended_at": "2026-11-29T20:00:00.250Z",
    "players": [
        {"player_id": "ann", "rank": 1, "points": 2.5},
        {"player_id": "bob", "rank": 2, "points": -1},
    ],
}
SEAT = GAME["players"][0]

IDS = st.text(max_size=4) | st.sampled_from(
    ["a", "b", "é", "x" * 128, "x" * 129, "a\nb", "\x7f", "a\u2028", ""]
)
MOMENTS = st.one_of(
    st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.isoformat().replace("+00:00", "Z")),
    st.datetimes(timezones=st.just(UTC)).map(
        lambda moment: moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    ),
    st.sampled_from(
        [
            "2026-11-29T20:00:00Z",
            "2026-11-29t20:00:00z",
            "2026-11-29 20:00:00Z",
            "2026-11-29T20:00:00+05:30",
            "2026-11-29T20:00:00.123456789-11:00",
            "2026-11-29T24:00:00Z",
            "2026-11-29T23:59:60Z",
            "2026-11-29T20:00Z",
            "2026-11-29T20:00:00",
            "2026-11-29T20:00:00+0100",
            "2026-11-29T20:00:00+25:00",
            "2026-11-29T20:00:00.Z",
            "2026-11-29T20:00:00,5Z",
            "2026-W48-7T20:00:00Z",
            "20261129T200000Z",
            "2026-02-30T20:00:00Z",
            "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+14:00",
            "2026-11-29T20:00.50Z",
            "٢026-11-29T20:00:00Z",
            "soon",
            "",
        ]
    ),
)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, 1e6, 1e6 + 1, 1e15, 2e15, 10**15 + 1, True]),
)
ANYTHING = st.one_of(st.none(), st.booleans(), NUMBERS, IDS, st.just([]), st.just({}))


def fields(known: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Make objects of right values for the most part, with fields missing, of a wrong kind, and unknown."""
    mostly = {name: st.one_of(right, right, right, ANYTHING) for name, right in known.items()}
    return st.fixed_dictionaries({}, optional={**mostly, "else": ANYTHING})


SEATS = fields(
    {
        "player_id": IDS,
        "rank": NUMBERS,
        "points": NUMBERS,
        "team": IDS,
        "left": st.sampled_from(["abandoned", "disconnected", "gone"]),
        "left_at": MOMENTS,
    }
)
GAMES = fields(
    {
        "game_id": IDS,
        "ladder": IDS,
        "game_type": IDS,
        "started_at": MOMENTS,
        "ended_at": MOMENTS,
        "rated": st.booleans(),
        "version": NUMBERS,
        "type": st.just("game-finished"),
        "players": st.lists(SEATS, max_size=4),
    }
)


def altered(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    game: dict[str, Any] = orjson.loads(orjson.dumps(GAME))
    change(game)
    return game


def by_schema(game: dict[str, Any]) -> Game | None:
    try:
        found = decode_checked(game)
    except Rejected:
        return None
    assert isinstance(found, Game)
    return found


def agrees(game: dict[str, Any]) -> bool:
    """Check that a game decoded at once is what the schema takes; say whether it was decoded at once."""
    plain = decode_plain(orjson.dumps(game))
    if plain is not None:
        expected = by_schema(game)
        assert plain == expected
        assert [list(map(type, column)) for column in columns(plain)] == [
            list(map(type, column)) for column in columns(expected)
        ]
    return plain is not None


def columns(game: Game | None) -> list[Any]:
    assert game is not None
    return [column or () for column in (game.players, game.ranks, game.points, game.teams, game.left_epochs)]


@given(GAMES)
def test_what_is_decoded_at_once_is_what_the_schema_takes(game: dict[str, Any]) -> None:
    agrees(game)


@given(MOMENTS, MOMENTS, MOMENTS)
@example("2026-11-29T20:00:00Z", "2026-11-29T24:00:00Z", "2026-11-29T20:00:00Z")
def test_moments_are_those_of_the_schema(ended: str, started: str, left: str) -> None:
    game = altered(lambda game: game.update(ended_at=ended, started_at=started))
    game["players"][0] |= {"left": "abandoned", "left_at": left}

    agrees(game)
    agrees({**GAME, "ended_at": ended})


@given(st.lists(IDS, min_size=2, max_size=3), IDS, IDS)
def test_ids_are_those_of_the_schema(players: list[str], team: str, game_type: str) -> None:
    seats = [{"player_id": player_id, "points": 1, "team": team} for player_id in players]

    agrees({**GAME, "game_id": players[0], "game_type": game_type, "players": seats})


@given(st.lists(NUMBERS, min_size=2, max_size=2), st.lists(NUMBERS, min_size=2, max_size=2), NUMBERS)
def test_numbers_are_those_of_the_schema(ranks: list[Any], points: list[Any], version: Any) -> None:
    seats = [
        {"player_id": player_id, "rank": rank, "points": made}
        for player_id, rank, made in zip("ab", ranks, points, strict=True)
    ]

    agrees({**GAME, "players": seats, "version": version})


@pytest.mark.parametrize(
    "game",
    [
        GAME,
        {name: GAME[name] for name in ("game_id", "ladder", "ended_at", "players")},
        {**GAME, "type": "game-finished", "rated": False, "version": 2},
        {**GAME, "players": [{**seat, "team": "x"} for seat in GAME["players"]]},
        {**GAME, "players": [SEAT, {"player_id": "bob", "left": "abandoned"}]},
        {
            **GAME,
            "players": [SEAT, {"player_id": "bob", "left": "disconnected", "left_at": GAME["ended_at"]}],
        },
        {**GAME, "players": [{"player_id": f"p{rank}", "rank": rank} for rank in range(1, 33)]},
        {**GAME, "game_id": "Ⅳ. Zug, Jürgen 象棋"},
    ],
)
def test_usual_games_are_decoded_at_once(game: dict[str, Any]) -> None:
    assert agrees(game)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"[]",
        b'{"game_id": "\xff"}',
        orjson.dumps({**GAME, "table": 7}),
        orjson.dumps({**GAME, "rated": None}),
        orjson.dumps({**GAME, "players": [SEAT, SEAT]}),
        orjson.dumps({**GAME, "started_at": "2026-11-30T00:00:00Z"}),
        orjson.dumps({**GAME, "type": "week-ended"}),
        orjson.dumps({**GAME, "game_id": "zero\u200bwidth"}),
    ],
)
def test_everything_else_is_left_to_the_schema(value: bytes) -> None:
    assert decode_plain(value) is None


def test_a_minute_once_read_is_read_again_to_the_second() -> None:
    for second in (0, 59, 7):
        ended = datetime(2026, 11, 29, 20, 0, second, tzinfo=UTC)
        game = decode_plain(orjson.dumps({**GAME, "ended_at": ended.isoformat().replace("+00:00", "Z")}))

        assert game is not None
        assert game.ended_epoch == ended.timestamp()


def test_a_number_written_as_a_whole_or_not_is_the_same_rank() -> None:
    value = orjson.dumps(GAME).replace(b'"rank":2', b'"rank":2.0')

    assert by_schema(orjson.loads(value)) == by_schema(GAME)
