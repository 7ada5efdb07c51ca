"""Weeks of a competition: Monday 00:00 to Sunday 24:00 in a time zone, named by ISO 8601 (`2026-W48`).

Source: seed 004 (points count at the hour of the game's end; reset on Sunday at midnight). That the midnight
is the ladder's own, and the name ISO 8601's, is our decision. Labels of the years 0001 to 9999 sort as text.

Pure: standard library only.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo

FIRST_WEEK = "0001-W01"
LAST_WEEK = "9999-W52"

_LABEL = re.compile(r"([0-9]{4})-W([0-9]{2})")
_WEEK = timedelta(days=7)
# The edges of the calendar, where a time zone's offset would lead out of it.
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


def week_of(moment: datetime, zone: tzinfo) -> str:
    """Name the week that an aware moment falls in: the one whose `bounds` enclose it.

    The local date says so in all but a few hours of history, when clocks were changed across Monday's
    midnight (Toronto went from 23:30 to 00:30 in 1919): there the bounds decide, so that weeks never overlap.
    """
    try:
        local = moment.astimezone(zone)
    except OverflowError:
        return FIRST_WEEK if moment < _LAST_MOMENT - _WEEK else LAST_WEEK
    label = _label(local.date())
    start, end = bounds(label, zone)
    if moment < start and label != FIRST_WEEK:
        return previous_week(label)
    if moment >= end and label != LAST_WEEK:
        return next_week(label)
    return label


def bounds(label: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """Give a week's first moment and the first moment after it, in UTC.

    They are 168 hours apart, 167 or 169 when the clocks change, and 144 in Apia's week without a Friday
    (2011-W52). Raises ValueError when there is no such week.
    """
    monday = _monday(label)
    end = _LAST_MOMENT if label == LAST_WEEK else _midnight(monday + _WEEK, zone)
    return _midnight(monday, zone), end


def next_week(label: str) -> str:
    """Name the following week. Raises ValueError after the last one, or when there is no such week."""
    if label == LAST_WEEK:
        raise ValueError(f"{label} is the last week")
    return _label(_monday(label) + _WEEK)


def previous_week(label: str) -> str:
    """Name the week before. Raises ValueError before the first one, or when there is no such week."""
    if label == FIRST_WEEK:
        raise ValueError(f"{label} is the first week")
    return _label(_monday(label) - _WEEK)


def weeks_between(first: str, last: str) -> Iterator[str]:
    """Yield the weeks from `first` to `last`, both included, in order; none when `last` is earlier."""
    monday, stop = _monday(first), _monday(last)
    for weeks in range((stop - monday) // _WEEK + 1):
        yield _label(monday + weeks * _WEEK)


def is_week(label: str) -> bool:
    """Tell whether there is such a week: 2026 has a week 53, 2025 has none."""
    try:
        _monday(label)
    except ValueError:
        return False
    return True


def _label(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def _monday(label: str) -> date:
    match = _LABEL.fullmatch(label)
    if match is None:
        raise ValueError(f"{label!r} is not a week such as 2026-W48")
    return date.fromisocalendar(int(match[1]), int(match[2]), 1)


def _midnight(day: date, zone: tzinfo) -> datetime:
    """Give the moment of a day's 00:00; when the clocks jump ahead at 00:00, that of the jump."""
    try:
        return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
    except OverflowError:  # east of UTC the calendar's first day begins before the calendar does
        return _FIRST_MOMENT
