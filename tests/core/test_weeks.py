"""Weeks: their names and bounds through every change of the clocks and of the year."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.weeks import bounds, is_week, next_week, previous_week, week_of, weeks_between

HOUR = timedelta(hours=1)
PARIS = ZoneInfo("Europe/Paris")
ZONES = ["UTC", "Europe/Paris", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia"]
# Sundays on which clocks change in Paris or Los Angeles (spring, autumn), and the days Apia's clocks changed
# or, on 2011-12-30, did not show a Friday at all.
CHANGES = [
    date(2026, 3, 29),
    date(2026, 10, 25),
    date(2026, 3, 8),
    date(2026, 11, 1),
    date(2011, 9, 24),
    date(2011, 12, 30),
    date(2012, 4, 1),
]
LABELS = [
    "0000-W01",
    "2026-W00",
    "2026-W54",
    "2025-W53",
    "2026-W5",
    "2026-w48",
    "2026-W48 ",
    "26-W48",
    "10000-W01",
    "٢٠٢٦-W48",
    "",
]
YEARS = st.integers(2, 9998)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def hours_around(day: date) -> Iterator[datetime]:
    """Yield the hours of three weeks, and the last microsecond before each."""
    first = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=10)
    for hours in range(21 * 24):
        yield first + hours * HOUR - timedelta(microseconds=1)
        yield first + hours * HOUR


def hours(label: str, zone: str) -> float:
    start, end = bounds(label, ZoneInfo(zone))
    return (end - start) / HOUR


def test_a_game_from_sunday_2350_to_monday_0130_is_one_of_the_new_week() -> None:
    started = datetime(2026, 11, 29, 23, 50, tzinfo=PARIS)
    ended = datetime(2026, 11, 30, 1, 30, tzinfo=PARIS)

    assert (week_of(started, PARIS), week_of(ended, PARIS)) == ("2026-W48", "2026-W49")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("day", CHANGES, ids=str)
def test_every_hour_around_a_change_is_in_the_week_of_its_local_date(zone: str, day: date) -> None:
    local = ZoneInfo(zone)
    moments = list(hours_around(day))

    expected = [moment.astimezone(local).strftime("%G-W%V") for moment in moments]

    assert expected == [week_of(moment, local) for moment in moments]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("day", CHANGES, ids=str)
def test_every_hour_around_a_change_is_within_the_bounds_of_its_week(zone: str, day: date) -> None:
    local = ZoneInfo(zone)
    for moment in hours_around(day):
        start, end = bounds(week_of(moment, local), local)

        assert start <= moment < end


@pytest.mark.parametrize(
    ("zone", "label", "expected"),
    [
        ("Europe/Paris", "2026-W13", 167),
        ("Europe/Paris", "2026-W43", 169),
        ("America/Los_Angeles", "2026-W10", 167),
        ("America/Los_Angeles", "2026-W44", 169),
        ("Europe/Paris", "2026-W48", 168),
        ("Asia/Kolkata", "2026-W13", 168),
        ("UTC", "2026-W43", 168),
        ("Pacific/Apia", "2011-W52", 144),
    ],
)
def test_a_week_is_shorter_or_longer_when_the_clocks_change(zone: str, label: str, expected: int) -> None:
    assert expected == hours(label, zone)


def test_a_week_ends_at_the_local_midnight_of_sunday() -> None:
    expected = (datetime(2026, 11, 22, 23, tzinfo=UTC), datetime(2026, 11, 29, 23, tzinfo=UTC))

    assert expected == bounds("2026-W48", PARIS)


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (date(2020, 12, 31), "2020-W53"),
        (date(2021, 1, 3), "2020-W53"),
        (date(2021, 1, 4), "2021-W01"),
        (date(2025, 12, 28), "2025-W52"),
        (date(2025, 12, 29), "2026-W01"),
        (date(2026, 12, 31), "2026-W53"),
        (date(2027, 1, 3), "2026-W53"),
        (date(2027, 1, 4), "2027-W01"),
    ],
    ids=str,
)
def test_the_days_around_the_years_end_belong_to_iso_weeks(day: date, expected: str) -> None:
    assert expected == week_of(datetime(day.year, day.month, day.day, 12, tzinfo=PARIS), PARIS)


def test_clocks_that_jump_across_mondays_midnight_leave_no_moment_in_two_weeks() -> None:
    # Toronto's clocks went from Sunday 23:30 to Monday 00:30 on 1919-03-30.
    toronto = ZoneInfo("America/Toronto")
    moments = [datetime(1919, 3, 31, 4, minute, tzinfo=UTC) for minute in range(60)]
    moments += [datetime(1919, 3, 31, 5, minute, tzinfo=UTC) for minute in range(60)]

    for moment in moments:
        start, end = bounds(week_of(moment, toronto), toronto)

        assert start <= moment < end


@given(
    moment=st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=OFFSETS),  # noqa: DTZ001 - hypothesis adds the zone
    zone=st.sampled_from(ZONES).map(ZoneInfo),
)
def test_every_moment_is_within_the_bounds_of_its_week(moment: datetime, zone: ZoneInfo) -> None:
    start, end = bounds(week_of(moment, zone), zone)

    assert start <= moment < end


@given(
    first=st.datetimes(timezones=OFFSETS),
    second=st.datetimes(timezones=OFFSETS),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
)
def test_labels_sort_as_text_in_the_order_of_time(first: datetime, second: datetime, zone: ZoneInfo) -> None:
    earlier, later = sorted((first, second))

    assert week_of(earlier, zone) <= week_of(later, zone)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("offset", [-14, 0, 14])
def test_the_edges_of_the_calendar_belong_to_its_first_and_last_week(zone: str, offset: int) -> None:
    tz = timezone(timedelta(hours=offset))
    moments = datetime.min.replace(tzinfo=tz), datetime.max.replace(tzinfo=tz)

    assert [week_of(moment, ZoneInfo(zone)) for moment in moments] == ["0001-W01", "9999-W52"]


@given(year=YEARS, week=st.integers(1, 52))
def test_the_next_week_begins_when_a_week_ends(year: int, week: int) -> None:
    label = f"{year:04}-W{week:02}"

    assert bounds(label, PARIS)[1] == bounds(next_week(label), PARIS)[0]


@given(year=YEARS, week=st.integers(1, 52))
def test_the_week_before_the_next_one_is_the_week_itself(year: int, week: int) -> None:
    label = f"{year:04}-W{week:02}"

    assert label == previous_week(next_week(label))


def test_there_is_no_week_before_the_first() -> None:
    with pytest.raises(ValueError, match="first week"):
        previous_week("0001-W01")


def test_there_is_no_week_after_the_last() -> None:
    with pytest.raises(ValueError, match="last week"):
        next_week("9999-W52")


def test_weeks_between_two_are_given_with_both_of_them() -> None:
    assert list(weeks_between("2026-W52", "2027-W01")) == ["2026-W52", "2026-W53", "2027-W01"]


def test_there_are_no_weeks_between_a_week_and_an_earlier_one() -> None:
    assert list(weeks_between("2026-W48", "2026-W47")) == []


@pytest.mark.parametrize("label", ["2026-W53", "2020-W53", "2025-W52", "0001-W01", "9999-W52"])
def test_a_week_of_the_calendar_is_one(label: str) -> None:
    assert is_week(label)


@pytest.mark.parametrize("label", LABELS)
def test_a_label_that_names_no_week_is_none(label: str) -> None:
    assert not is_week(label)


@pytest.mark.parametrize("label", LABELS)
def test_a_label_that_names_no_week_has_no_bounds(label: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)week|year"):
        bounds(label, PARIS)
