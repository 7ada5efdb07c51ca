"""In which format times are, told from some of them, and whether days and months could be the other way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from streams.imports.moments import ISO, UNIX, UNIX_MS

_DAYS_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%y", "%d.%m.%y", "%d-%m-%y")
_OTHERS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y"),
    *("%B %d, %Y", "%b %d %Y", "%a %d %b %Y", "%A, %d %B %Y", "%A %d %B %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M%p", ", %H:%M", ", %H:%M:%S", "T%H:%M:%S", " %Hh%M")
# Games that people have were played in these years.
_YEARS = range(1800, 2101)


# Of a hundred times, a few may be words, or mistakes.
_MOST = 0.8


@dataclass(frozen=True)
class TimeGuess:
    """A format that nearly all times are in; `other` is one with months first that as many could be in."""

    form: str
    other: str | None = None


def guess_times(texts: Sequence[str]) -> TimeGuess | None:
    """Return the format that nearly all texts are in; None when there is none, or no text."""
    if not texts:
        return None
    enough = len(texts) * _MOST
    for form in (ISO, *_numbers(texts)):
        if _count(texts, form) >= enough:
            return TimeGuess(form)
    for clock in _CLOCKS:
        for day in (*_DAYS_FIRST, *_OTHERS):
            form, swapped = day + clock, _swapped(day) + clock
            fit, fit_swapped = _count(texts, form), _count(texts, swapped)
            if max(fit, fit_swapped) >= enough:
                other = swapped if fit == fit_swapped and swapped != form else None
                return TimeGuess(form if fit >= fit_swapped else swapped, other)
    return None


def _count(texts: Sequence[str], form: str) -> int:
    """Return how many texts are in a format."""
    return sum(_is(text, form) for text in texts)


def _numbers(texts: Sequence[str]) -> Sequence[str]:
    """Return the formats of numbers that these may be: today seconds have 10 digits, milliseconds 13."""
    lengths = {len(text.partition(".")[0]) for text in texts if text.replace(".", "").isdecimal()}
    return [form for form, digits in ((UNIX, {9, 10}), (UNIX_MS, {12, 13})) if lengths and lengths <= digits]


def _swapped(day: str) -> str:
    """Return a format with months before days; one that is not of figures as it is."""
    return f"%m{day[2]}%d{day[5:]}" if day in _DAYS_FIRST else day


def _is(text: str, form: str) -> bool:
    try:
        return _moment(text, form).year in _YEARS
    except (ValueError, OverflowError, OSError):
        return False


def _moment(text: str, form: str) -> datetime:
    if form == ISO:
        return datetime.fromisoformat(text.upper())
    if form in (UNIX, UNIX_MS):
        return datetime.fromtimestamp(float(text) / (1000 if form == UNIX_MS else 1), UTC)
    return datetime.strptime(text, form)  # noqa: DTZ007 - only the year is looked at
