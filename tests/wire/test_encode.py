"""The short way from a rated game to JSON says what the long one says."""

import orjson
from helpers import LADDER, outputs, played, ranked, scored

from streams.core.events import Event, RatingImported, WeekEnded
from streams.core.ladders import COMPETITION_CLOSED, RATING_CHANGED, Ladders, Publication
from streams.core.ladders import outputs as written_out
from streams.core.rules import parse_ladders
from streams.wire.events import encode_output, encode_published
from streams.wire.rating_changed import changed_events, encode_lines

SYSTEMS = ["weekly", "fundox", "points", "closeness", "bga"]


def everything() -> Ladders:
    return Ladders(parse_ladders({"ladders": {LADDER: {"systems": SYSTEMS}}}))


def events() -> list[Event]:
    return [
        RatingImported(LADDER, "bga", "á/b", 1990.0, 50),
        RatingImported(LADDER, "points", "rich", 1e17, 50),
        played('"1/%', scored("á/b", 10), scored("c\\d", 5)),
        played("2", scored("c\\d", -2.5), scored("á/b", -2.5)),
        played("3", scored("x", 3), scored("á/b", 2), scored("rich", 1)),
        played("4", ranked("x", 1), ranked("á/b", 2)),
        WeekEnded(LADDER, "2026-W48", final=False),
        played("5", scored("á/b", 1, left="abandoned"), scored("x", 2)),
        played("6", scored("á/b", 1, team="s"), scored("x", 2, team="t"), scored("y", 0, team="t")),
    ]


def published() -> list[Publication]:
    return [publication for _, out, _ in everything().fold(events()) for publication in out]


def test_the_short_form_written_out_is_what_apply_gives() -> None:
    assert written_out(published()) == outputs(everything(), events())


def test_encoded_at_once_or_after_being_written_out_it_is_the_same() -> None:
    at_once = encode_published(published(), b"ladderlog/test", "game-finished/0/7")
    written = [
        (output.topic, encode_output(output, b"ladderlog/test", "game-finished/0/7"))
        for output in written_out(published())
    ]

    assert {topic for topic, _ in at_once} > {RATING_CHANGED, COMPETITION_CLOSED}
    for (topic, (key, value, headers)), (topic_other, other) in zip(at_once, written, strict=True):
        assert (topic, key, headers) == (topic_other, other.key, other.headers)
        assert list(orjson.loads(value).items()) == list(orjson.loads(other.value).items())


def test_lines_are_the_encoded_events_with_line_ends() -> None:
    rated = [publication for publication in published() if type(publication) is tuple]
    changed = changed_events(rated)
    encoded = encode_published(rated, b"", "")

    assert encode_lines(changed) == b"".join(
        value + b"\n" for topic, (_, value, _) in encoded if topic == RATING_CHANGED
    )
