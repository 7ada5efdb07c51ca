"""Games folded together, and by the shorter ways of the systems, give what they give one by one."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from helpers import ENDED_AT, LADDER, played, ranked, scored, written
from hypothesis import given
from hypothesis import strategies as st

from streams.core.events import Event, GameVoided, RatingImported, Rejected, WeekEnded
from streams.core.ladder import Folded
from streams.core.ladders import Ladders
from streams.core.publications import written_out
from streams.core.ratings.bga import Bga
from streams.core.ratings.closeness import Closeness
from streams.core.ratings.fundox import Fundox
from streams.core.ratings.points import Points
from streams.core.ratings.system import System
from streams.core.ratings.weekly import Weekly
from streams.core.rules import parse_ladders

SYSTEMS = (Weekly, Fundox, Points, Closeness, Bga)
OTHER = "other"
NAMES = [system.name for system in SYSTEMS]
RULES: dict[str, Any] = {
    LADDER: {"systems": NAMES, "bga": {"quit_policy": "last-place"}},
    OTHER: {"systems": NAMES, "closeness": {"handicap": 0}},
}

LADDERS = st.sampled_from([LADDER, LADDER, LADDER, OTHER, "unknown"])
MOMENTS = st.sampled_from(
    [
        ENDED_AT,
        "2026-11-25T22:10:00Z",
        "2026-11-29T23:59:59.5Z",
        "2026-11-30T00:00:00Z",
        "2026-12-01T08:00:00Z",
    ]
)
POINTS = st.one_of(st.integers(-3, 3), st.floats(-100, 1e6))
# Of sixteen games, those that have ranks whatever the points say.
RANKED_TOO = (3, 4, 5, 6)
RATINGS = st.one_of(st.floats(-1e6, 1e6), st.floats(1_400, 2_100))


@st.composite
def games(draw: st.DrawFn) -> Event:
    """Make a finished game: mostly of two, and mostly without anything unusual."""
    count = draw(st.sampled_from([2, 2, 2, 2, 3, 4, 5]))
    names = draw(st.permutations("abcdef"))[:count]
    make, results = draw(st.sampled_from([(ranked, st.integers(1, 3)), (scored, POINTS), (scored, POINTS)]))
    players = [make(name, draw(results)) for name in names]
    unusual = draw(st.integers(0, 15))
    if unusual == 0:
        players[0].left = "abandoned"
    elif unusual == 1:
        for place, player in enumerate(players):
            player.team = "st"[place % 2]
    elif unusual == 2:
        players[0].points = players[0].rank = None
    elif unusual in RANKED_TOO:
        for place, player in enumerate(players):
            player.rank = place + 1
    game_id = draw(st.integers(0, 40).map(str))
    fields: dict[str, Any] = {"ladder": draw(LADDERS), "ended_at": draw(MOMENTS)}
    if draw(st.integers(0, 5)) == 0:
        fields["game_type"] = "blitz"
    if draw(st.integers(0, 10)) == 0:
        fields["rated"] = False
    if draw(st.integers(0, 10)) == 0:
        fields["version"] = 2
    return played(game_id, *players, **fields)


OTHERS: Any = st.one_of(
    st.builds(
        RatingImported,
        LADDERS,
        st.sampled_from([*NAMES, "elo"]),
        st.sampled_from("abc"),
        RATINGS,
        st.integers(0, 40),
        st.sampled_from([None, "2026-W48", "2026-W49"]),
    ),
    st.builds(WeekEnded, LADDERS, st.sampled_from(["2026-W47", "2026-W48", "2026-W99"]), final=st.booleans()),
    st.builds(GameVoided, LADDERS, st.just("1"), st.just("cheated")),
    st.builds(Rejected, st.just("schema"), st.just("players: too few")),
)
EVENTS = st.lists(st.one_of(games(), games(), games(), games(), games(), OTHERS), min_size=10, max_size=40)

Shown = tuple[list[tuple[str, list[Any], str | None]], list[tuple[str, bytes | None]]]


def everything() -> Ladders:
    return Ladders(parse_ladders({"ladders": RULES}))


def folded(batches: Iterable[Sequence[Event | Rejected]]) -> Shown:
    """Fold batches of events, and give what became of each, and the rows."""
    fold = everything()
    found: list[Folded] = [one for batch in batches for one in fold.fold(batch)]
    shown = [
        (outcome, written_out(published), None if rejected is None else str(rejected))
        for outcome, published, rejected in found
    ]
    return shown, list(written(fold))


@given(EVENTS, st.lists(st.integers(0, 40), max_size=5))
def test_the_batches_do_not_matter(events: list[Event | Rejected], cuts: list[int]) -> None:
    bounds = sorted({0, *cuts, len(events)})
    batches = [events[start:end] for start, end in pairwise(bounds)]

    assert folded([event] for event in events) == folded(batches) == folded([events])


@given(EVENTS)
def test_the_shorter_ways_give_what_the_long_ones_give(events: list[Event | Rejected]) -> None:
    short = folded([events])
    with pytest.MonkeyPatch.context() as patch:
        for system in SYSTEMS:
            patch.setattr(system, "rate_batch", System.rate_batch)
        long = folded([events])

    assert short == long
