"""Times as files have them, made into RFC 3339 in UTC.

A time without a UTC offset is read in the given zone. In the hour that a change of clocks repeats it is
the first of the two; in the hour that a change skips it is moved on by as much as the clocks were. Both are
noted in the report, and so is a date without a time, which stands for the start of its day.
"""

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from streams.files.report import LineError

ISO = "iso"
UNIX = "unix"
UNIX_MS = "unix-ms"
_PER_SECOND = {UNIX: 1.0, UNIX_MS: 1000.0}
_HAS_TIME = re.compile(r"%[-#]?[HIcXs]")

REPEATED = "times in the hour that a change of clocks repeats, taken as the first of the two"
SKIPPED = "times in the hour that a change of clocks skips, moved on by as much"
DATE_ONLY = "dates without a time, taken as the start of the day"


_PARTIAL = re.compile(r"(\d{4})(?:[.\-/](\d{1,2}|\?{1,2})(?:[.\-/](\d{1,2}|\?{1,2}))?)?")
_PARTIAL_TAKEN = {
    "start": "dates with unknown parts, taken as the first day that they may mean (--partial-dates start)",
    "end": "dates with unknown parts, taken as the last day that they may mean (--partial-dates end)",
}


def partial_days(text: str) -> tuple[date, date] | None:
    """Return the first and the last day that a date with unknown parts may mean; None when it is none.

    `1997`, `1997-05`, `1997.??.??` and `1997.05.??` are such dates.
    """
    match = _PARTIAL.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = int(match[1]), match[2] or "??", match[3] or "??"
    if day.isdigit() or year == 0:
        return None
    if not month.isdigit():
        return date(year, 1, 1), date(year, 12, 31)
    try:
        return date(year, int(month), 1), date(year, int(month), monthrange(year, int(month))[1])
    except ValueError:
        return None


class PartialDates:
    """Chooses a day where only the month or the year is known: `start`, `end`, or none of them (`skip`)."""

    def __init__(self, which: str, note: Callable[[str, int], None]) -> None:
        self.are_taken = which != "skip"
        self._which = which
        self._note = note
        # How many have ended on a day that is not known, so that they stay in order.
        self._on_day: Counter[date] = Counter()

    def local(self, days: tuple[date, date], line: int) -> datetime:
        """Return when a game ended between two days: a second after the one before it of the same day."""
        day = days[0] if self._which == "start" else days[1]
        self._note(_PARTIAL_TAKEN[self._which], line)
        self._on_day[day] += 1
        return datetime.combine(day, time()) + timedelta(seconds=self._on_day[day] - 1)


def utc_text(moment: datetime) -> str:
    """Return a moment as RFC 3339 in UTC."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat().removesuffix("+00:00") + "Z"


def place(local: datetime, zone: tzinfo) -> tuple[datetime, str | None]:
    """Return the moment of a local time, and what is to be noted of it at a change of clocks."""
    if zone is UTC:
        return local.replace(tzinfo=UTC), None
    first = local.replace(tzinfo=zone, fold=0)
    moment = first.astimezone(UTC)
    if first.utcoffset() == local.replace(tzinfo=zone, fold=1).utcoffset():
        return moment, None
    there = moment.astimezone(zone).replace(tzinfo=None, fold=0)
    return moment, REPEATED if there == local.replace(fold=0) else SKIPPED


class Moments:
    """Reads times in the given zone and formats: `iso`, `unix`, `unix-ms` or those of `strptime`."""

    def __init__(
        self,
        zone: tzinfo,
        formats: Sequence[str],
        note: Callable[[str, int], None],
        partial_dates: str = "skip",
    ) -> None:
        self._zone = zone
        self._formats = formats or (ISO,)
        self._note = note
        self._partial_dates = PartialDates(partial_dates, note)
        self._in_zone = f"times without a UTC offset, read in {zone}"

    def read(self, text: str, line: int) -> str:
        """Return a time in UTC as events have it. Raises ValueError with what is wrong.

        Raises LineError for a date with unknown parts when these are not to be taken.
        """
        for form in self._formats:
            try:
                return self._read(text, form, line)
            except (ValueError, OverflowError, OSError):
                continue
        days = partial_days(text) if ISO in self._formats else None
        if days is not None:
            return self._partial(text, days, line)
        raise ValueError(f"{text!r} is not a time {_described(self._formats)}")

    def _partial(self, text: str, days: tuple[date, date], line: int) -> str:
        if not self._partial_dates.are_taken:
            raise LineError(
                "partial-date",
                f"{text!r} may be any day from {days[0]} to {days[1]}; --partial-dates start or end takes "
                f"one",
            )
        return utc_text(place(self._partial_dates.local(days, line), self._zone)[0])

    def _read(self, text: str, form: str, line: int) -> str:
        if form in _PER_SECOND:
            return utc_text(datetime.fromtimestamp(float(text) / _PER_SECOND[form], UTC))
        moment = _parsed(text, form)
        if moment.tzinfo is not None:
            return utc_text(moment)
        placed, note = place(moment, self._zone)
        written = utc_text(placed)
        self._note(self._in_zone, line)
        if note is not None:
            self._note(note, line)
        if _is_date(text, form):
            self._note(DATE_ONLY, line)
        return written


def _parsed(text: str, form: str) -> datetime:
    """Return what a text says in a format, without an offset when it has none. Raises ValueError."""
    if form == ISO:
        return datetime.fromisoformat(text.upper())
    return datetime.strptime(text, form)  # noqa: DTZ007 - a time without an offset is placed in the zone


def _is_date(text: str, form: str) -> bool:
    if form != ISO:
        return _HAS_TIME.search(form) is None
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _described(formats: Sequence[str]) -> str:
    if tuple(formats) == (ISO,):
        return "such as 2026-11-29T20:30:00+01:00 or 2026-11-29 20:30 (another format: --time-format)"
    return "in the format " + " or ".join(formats)
