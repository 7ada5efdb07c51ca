"""`ladderlog rate`: a file in, every line with exactly one outcome."""

import io

import orjson
from sites import NoBar

from streams.core.outcomes import OutcomeCounts
from streams.core.rules import parse_ladders
from streams.files.rate import RateFiles, rate_lines

RULES = parse_ladders({"ladders": {"chess": {"systems": ["fundox"]}}})
GAME = (
    b'{"game_id": "1", "ladder": "chess", "ended_at": "2026-11-24T20:00:00Z", '
    b'"players": [{"player_id": "ann", "rank": 1}, {"player_id": "bob", "rank": 2}]}\n'
)


def rated(*lines: bytes) -> tuple[OutcomeCounts, list[dict[str, object]], list[dict[str, object]]]:
    changed, rejected = io.BytesIO(), io.BytesIO()
    counts = rate_lines(lines, RULES, RateFiles(changed, rejected=rejected), NoBar())
    read = [[orjson.loads(line) for line in file.getvalue().splitlines()] for file in (changed, rejected)]
    return counts, read[0], read[1]


def test_a_game_gives_a_change_for_every_player() -> None:
    counts, changed, _ = rated(GAME)

    assert counts == OutcomeCounts(read=1, rated=1)
    assert [body["after"] for body in changed] == [1608.0, 1592.0]


def test_a_bad_line_is_rejected_with_its_number_and_text_and_the_others_go_on() -> None:
    counts, _, rejected = rated(b"\n", b"oops\n", GAME, GAME)

    assert counts == OutcomeCounts(read=3, rated=1, ignored=1, rejected=1)
    assert rejected == [
        {"line": 2, "reason": "not-json", "message": rejected[0]["message"], "value": "oops"},
    ]


def test_rating_a_file_twice_gives_the_same_bytes() -> None:
    assert rated(GAME, GAME) == rated(GAME, GAME)
