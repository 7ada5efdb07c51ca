"""The short way from a rated game to JSON says what the long one says."""

from helpers import LADDER, outputs, played, ranked, scored, shown

from streams.core.events import COMPETITION_CLOSED, RATING_CHANGED, Event, RatingImported, WeekEnded
from streams.core.ladders import Ladders
from streams.core.publications import GameRated, Publication, rating_changes, written_out
from streams.core.rules import parse_ladders
from streams.wire.encode import encode_lines, encode_published

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
    assert shown(written_out(published())) == outputs(everything(), events())


def test_encoded_at_once_or_after_being_written_out_it_is_the_same() -> None:
    at_once = encode_published(published(), b"ladderlog/test", "game-finished/0/7")
    written = encode_published(written_out(published()), b"ladderlog/test", "game-finished/0/7")

    assert {topic for topic, _ in at_once} > {RATING_CHANGED, COMPETITION_CLOSED}
    assert at_once == written


def test_lines_are_the_encoded_events_with_line_ends() -> None:
    rated = [publication for publication in published() if isinstance(publication, GameRated)]
    changed = rating_changes(rated)
    encoded = encode_published(rated, b"", "")

    assert encode_lines(changed) == b"".join(
        value + b"\n" for topic, (_, value, _) in encoded if topic == RATING_CHANGED
    )
