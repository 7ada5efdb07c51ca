"""Places made of who won."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.files.report import LineError
from streams.imports.winners import Seat, finish_seats

WORDS = {True: "true", False: "false"}
SEATS = st.lists(st.tuples(st.booleans(), st.integers(-5, 5)), min_size=2, max_size=6)


def finished(
    *seats: tuple[bool, str], ranks: tuple[str, ...] = (), highest: str = ""
) -> list[tuple[str, str]]:
    given_seats = [
        Seat(ranks[index] if ranks else "", WORDS[won], points) for index, (won, points) in enumerate(seats)
    ]
    return [(seat.rank, seat.points) for seat in finish_seats(given_seats, highest)]


def test_more_points_are_better_where_the_winner_has_most() -> None:
    assert finished((False, "71"), (True, "88"), (False, "64")) == [("2", "71"), ("1", "88"), ("3", "64")]


def test_fewer_points_are_better_where_the_winner_has_least_and_are_not_told() -> None:
    assert finished((True, "31"), (False, "44"), (False, "40")) == [("1", ""), ("3", ""), ("2", "")]


def test_points_that_do_not_fit_the_winner_say_nothing() -> None:
    assert finished((False, "9"), (True, "5"), (False, "1")) == [("2", ""), ("1", ""), ("2", "")]
    assert finished((True, "5"), (False, "9"), highest="true") == [("1", ""), ("2", "")]


def test_a_tie_that_was_broken_has_places_and_no_points() -> None:
    assert finished((True, "70"), (False, "70")) == [("1", ""), ("2", "")]


def test_without_points_those_who_won_are_first_and_the_others_equal() -> None:
    assert finished((True, ""), (False, ""), (True, ""), (False, "")) == [
        ("1", ""),
        ("3", ""),
        ("1", ""),
        ("3", ""),
    ]


@pytest.mark.parametrize("won", [True, False])
def test_where_all_won_or_nobody_did_the_points_decide(*, won: bool) -> None:
    assert finished((won, "5"), (won, "7")) == [("2", "5"), ("1", "7")]
    assert finished((won, "5"), (won, "7"), highest="false") == [("1", ""), ("2", "")]
    assert finished((won, ""), (won, "")) == [("", ""), ("", "")]


def test_places_that_are_given_stay() -> None:
    assert finished((True, "1"), (False, "2"), ranks=("2", "1")) == [("2", "1"), ("1", "2")]


def test_a_word_that_says_neither_is_named() -> None:
    with pytest.raises(LineError) as failed:
        finish_seats([Seat("", "perhaps", ""), Seat("", "yes", "")], "")
    assert failed.value.message.startswith("won: 'perhaps' is none of 0, 1, false")
    with pytest.raises(LineError):
        finish_seats([Seat("", "no", ""), Seat("", "yes", "")], "up")


@given(SEATS, st.sampled_from(("", "true", "false")))
def test_who_won_is_never_behind_who_did_not(seats: list[tuple[bool, int]], highest: str) -> None:
    places = finished(*((won, str(points)) for won, points in seats), highest=highest)
    ranks = {
        side: [int(rank) for (rank, _), (won, _) in zip(places, seats, strict=True) if won is side]
        for side in (True, False)
    }

    if ranks[True] and ranks[False]:
        assert set(ranks[True]) == {1}
        assert min(ranks[False]) > 1


@given(SEATS, st.sampled_from(("", "true", "false")))
def test_points_that_are_told_are_in_the_order_of_the_places(
    seats: list[tuple[bool, int]], highest: str
) -> None:
    places = finished(*((won, str(points)) for won, points in seats), highest=highest)
    told = [(int(rank), float(points)) for rank, points in places if points]

    assert all((a[0] < b[0]) == (a[1] > b[1]) for a in told for b in told)
