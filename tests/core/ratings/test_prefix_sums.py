"""Prefix sums: the same as adding up, at any width, in a number of steps that grows like a logarithm."""

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.ratings import prefix_sums
from streams.core.ratings.prefix_sums import PrefixSums

PLACES = st.integers(0, 60) | st.integers(0, 2**120)
ADDED = st.lists(st.tuples(PLACES, st.integers(1, 32)), max_size=120)


def filled(places: int, seed: int = 1) -> PrefixSums:
    random = Random(seed)
    sums = PrefixSums()
    for _ in range(places):
        sums.add(random.randrange(2**53), 2)
    return sums


def added_up(added: list[tuple[int, int]], limit: int) -> tuple[int, int]:
    within = [(place, weight) for place, weight in added if place <= limit]
    return sum(weight for _, weight in within), sum(place * weight for place, weight in within)


@given(ADDED, PLACES)
def test_the_sums_are_those_of_adding_up(added: list[tuple[int, int]], limit: int) -> None:
    sums = PrefixSums()
    with patch.object(prefix_sums, "WIDTH", 4):
        for place, weight in added:
            sums.add(place, weight)

    assert added_up(added, limit) == sums.up_to(limit)


@given(ADDED, st.lists(PLACES | st.just(-1), min_size=120, max_size=120))
def test_a_kept_answer_stays_true_while_weights_are_added(
    added: list[tuple[int, int]], limits: list[int]
) -> None:
    sums = PrefixSums()
    found = []
    with patch.object(prefix_sums, "WIDTH", 4):
        for (place, weight), limit in zip(added, limits, strict=False):
            sums.add(place, weight)
            found.append((sums.up_to(limit), sums.up_to(limit + 1)))

    expected = [
        (added_up(added[:count], limit), added_up(added[:count], limit + 1))
        for count, limit in enumerate(limits[: len(added)], start=1)
    ]

    assert expected == found


def test_nothing_sums_to_nothing() -> None:
    assert PrefixSums().up_to(2**53) == (0, 0)


def test_it_counts_what_was_added_and_not_the_places() -> None:
    sums = PrefixSums()
    sums.add(5, 2)
    sums.add(5, 3)

    assert sums.count == 2


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_the_depth_is_logarithmic_in_whatever_order_it_is_filled(order: str) -> None:
    places = list(range(100_000))
    if order == "descending":
        places.reverse()
    if order == "random":
        Random(1).shuffle(places)
    sums = PrefixSums()
    for place in places:
        sums.add(place, 2)

    # Two levels hold more than 64 places, three more than 64 * 32, four more than 64 * 32 * 32.
    assert sums.depth <= 4


def test_a_hundred_times_the_places_cost_one_more_step() -> None:
    assert (filled(1_000).depth, filled(100_000).depth) == (2, 3)
