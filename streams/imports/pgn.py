"""Finished games of chess from PGN: players, result and time from the tags alone.

When a game ended: `EndDate` (else `Date`) with `EndTime`, or `EndDate`; else when it began, `UTCDate` with
`UTCTime` or `Date` with `Time`. Of a `Date` with unknown parts, `EventDate` if it lies within; else as the
mapping says, in the order of the file. Times that name no zone are UTC where the file has UTC tags, else in
the mapping's zone.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache, partial
from typing import Any

from streams.files.report import FileReport, LineError, PassedOverError
from streams.imports.conversion import Conversion, present
from streams.imports.encodings import plain_pieces
from streams.imports.games import Games
from streams.imports.links import link_id
from streams.imports.mapping import ImportMapping, MappingError
from streams.imports.moments import DATE_ONLY, PartialDates, partial_days, place, utc_text
from streams.imports.pgn_reader import TagSection, read_tag_sections
from streams.imports.results import Result, read_result
from streams.imports.words import is_forfeit, is_unplayed, rated_event, rated_flag

_DATE = re.compile(r"(\d{4})[.\-/](\d{1,2})[.\-/](\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(\S.*)?")
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d{2}):?(\d{2})")
# RFC 5322, 4.3: the only names of zones that mean one offset.
_ZONES = {
    **dict.fromkeys(("UT", "UTC", "GMT", "Z"), 0),
    **dict.fromkeys(("EDT",), -4),
    **dict.fromkeys(("EST", "CDT"), -5),
    **dict.fromkeys(("CST", "MDT"), -6),
    **dict.fromkeys(("MST", "PDT"), -7),
    **dict.fromkeys(("PST",), -8),
}
_HOURS_A_DAY = 24
_FIELDS_WITH_VALUES = ("result", "rated")
_CONSTANTS = ("ladder", "game_type")
_PLAIN = ("standard", "from position")

START_ONLY = "games that tell only when they began, taken as their end"
RESULT_OF_MOVES = "games without a Result tag, of which the moves end with it"
OF_EVENT = "dates with unknown parts, taken from EventDate"
RATED_UNKNOWN = "games that do not say whether they are rated, taken as rated"


def import_pgn(conversion: Conversion) -> FileReport:
    """Write the games of a PGN file as game-finished lines, and return the report.

    Raises MappingError when the mapping is not one for PGN. A game that cannot be told is left out, and the
    report is told.
    """
    _check(conversion.mapping)
    sink = conversion.sink()
    reader = _PgnReader(conversion)
    for section in read_tag_sections(*plain_pieces(conversion.lines, conversion.mapping.encoding)):
        sink.take(section.line, partial(reader.game, section))
    sink.close()
    return conversion.report


def _check(mapping: ImportMapping) -> None:
    """Raise MappingError when a mapping says what PGN cannot follow."""
    for key in mapping.columns:
        raise MappingError(f"columns.{key}: PGN has tags and no columns; --map is for CSV")
    for key in mapping.values:
        if key not in _FIELDS_WITH_VALUES:
            raise MappingError(f"values.{key}: in PGN only {' and '.join(_FIELDS_WITH_VALUES)} can be mapped")
    for key in mapping.constants:
        if key not in _CONSTANTS:
            raise MappingError(f"set.{key}: in PGN only {' and '.join(_CONSTANTS)} can be set")
    if mapping.comment is not None:
        raise MappingError("comment: PGN has comments of its own")
    if mapping.ladder is None and "ladder" not in mapping.constants:
        raise MappingError("ladder: PGN does not say which ladder; give one (--ladder NAME)")


class _PgnReader:
    """Makes events of games' tags."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._mapping = conversion.mapping
        self._zone = conversion.mapping.zone()
        self._report = conversion.report
        self._games = Games(conversion.mapping, conversion.report)
        constants = conversion.mapping.constants
        self._ladder = conversion.mapping.ladder or constants.get("ladder")
        self._game_type = conversion.mapping.game_type or constants.get("game_type")
        self._partial_dates = PartialDates(conversion.mapping.partial_dates, conversion.report.note)

    def game(self, section: TagSection) -> dict[str, Any]:
        """Return a game. Raises LineError when its tags do not tell it, PassedOverError when it is none."""
        if section.fault is not None:
            raise section.fault
        self._select(section)
        termination = section.text("Termination") or ""
        if is_unplayed(termination):
            raise PassedOverError("unplayed", f"[Termination {termination!r}]: the game was not played")
        players = [
            {"player_id": self._player(section, color), "side": side}
            for side, color in enumerate(("White", "Black"))
        ]
        result = self._result(section)
        self._games.take_result(players, result)
        started_at, ended_at = self._times(section)
        game = {
            "game_id": self._game_id(section),
            "ladder": self._ladder,
            "game_type": self._game_type or _variant(section),
            "started_at": started_at,
            "ended_at": ended_at,
            "players": players,
        }
        return self._games.finish(
            present(game),
            forfeit=result.forfeit or is_forfeit(termination),
            rated=self._rated(section),
            line=section.line,
        )

    def _select(self, section: TagSection) -> None:
        """Raise PassedOverError for a game that is not asked for."""
        for tag, texts in self._mapping.skip.items():
            if section.value(tag) in texts:
                raise PassedOverError("skipped", f"[{tag} {section.value(tag)!r}] (--skip)")
        for tag, texts in self._mapping.only.items():
            if section.value(tag) not in texts:
                raise PassedOverError("skipped", f"[{tag} {section.value(tag) or ''!r}] (--only)")

    def _player(self, section: TagSection, color: str) -> str:
        name = section.value(color)
        if name is None or name == "?":
            raise section.error("players", color, "no player")
        try:
            return self._games.player(name, f"[{color}]")
        except PassedOverError as error:
            raise PassedOverError(error.reason, error.message, section.line_of(color)) from error

    def _result(self, section: TagSection) -> Result:
        """Return what the tag says, or without one the moves, which end with it."""
        text, label = section.value("Result"), "[Result]"
        if text is None or not text.strip():
            text, label = section.ending(), "the end of the moves"
            if text is not None:
                self._report.note(RESULT_OF_MOVES, section.line)
        text = self._mapping.values.get("result", {}).get(text or "", text)
        try:
            result = read_result(text, label, nil_is_forfeit=True)
        except LineError as error:
            raise type(error)(error.reason, error.message, section.line_of("Result")) from error
        if result.points is not None and sum(result.points) != 1:
            # Of a match, perhaps.
            message = f"{label}: {text!r} is none of a game: 1-0, 0-1, 1/2-1/2"
            raise LineError("result", message, section.line_of("Result"))
        return result

    def _game_id(self, section: TagSection) -> str:
        given = section.text("GameId")
        if given is not None:
            return given
        for tag in ("Link", "GameURL", "Site"):
            game_id = link_id(section.text(tag) or "")
            if game_id is not None:
                return game_id
        return self._conversion.made_id(section.line)

    def _rated(self, section: TagSection) -> bool | None:
        if self._mapping.rated is not None:
            return None
        values = self._mapping.values.get("rated", {})
        for tag in ("Rated", "Mode"):
            text = section.text(tag)
            said = None if text is None else rated_flag(values.get(text, text))
            if said is not None:
                return said
        event = section.text("Event") or ""
        said = rated_flag(values[event]) if event in values else rated_event(event)
        if said is None:
            self._report.note(RATED_UNKNOWN, section.line)
        return said

    def _times(self, section: TagSection) -> tuple[str | None, str]:
        """Return when the game began, if its tags say so, and when it ended."""
        local = UTC if _full(section, "UTCDate") else self._zone
        end_date = "EndDate" if _full(section, "EndDate") else "Date"
        if section.text("EndTime") and _full(section, end_date):
            started = self._moment(section, "UTCDate", "UTCTime", UTC) if section.text("UTCTime") else None
            return started, self._moment(section, end_date, "EndTime", local)
        if _full(section, "EndDate"):
            return None, self._moment(section, "EndDate", None, self._zone)
        self._report.note(START_ONLY, section.line)
        if _full(section, "UTCDate"):
            return None, self._moment(section, "UTCDate", "UTCTime", UTC)
        if _full(section, "Date"):
            return None, self._moment(section, "Date", "Time", self._zone)
        return None, self._partial(section)

    def _partial(self, section: TagSection) -> str:
        """Return when a game ended whose date has unknown parts: by its event, or as asked for."""
        days = partial_days(section.text("Date") or "")
        if days is None:
            # What is no date at all is an error as it is of any other.
            return self._moment(section, "Date", "Time", self._zone)
        if _full(section, "EventDate"):
            day = _day(section, "EventDate")
            if days[0] <= day <= days[1]:
                self._report.note(OF_EVENT, section.line)
                return self._placed(section, datetime.combine(day, time()), self._zone)
        if not self._partial_dates.are_taken:
            first, last = days
            raise section.error(
                "partial-date", "Date", f"may be any day from {first} to {last}; --partial-dates takes one"
            )
        return self._placed(section, self._partial_dates.local(days, section.line), self._zone)

    def _moment(self, section: TagSection, date_tag: str, time_tag: str | None, zone: tzinfo) -> str:
        day = _day(section, date_tag)
        text = None if time_tag is None else section.text(time_tag)
        if time_tag is None or text is None or "?" in text:
            self._report.note(DATE_ONLY, section.line)
            return self._placed(section, datetime.combine(day, time()), zone)
        match = _TIME.fullmatch(text)
        clock = None if match is None else _clock(match)
        if match is None or clock is None:
            raise section.error("time", time_tag, "not a time of day such as 20:30:00")
        if match[4] is not None:
            zone = _zone(section, time_tag, match[4])
        return self._placed(section, datetime.combine(day, clock), zone)

    def _placed(self, section: TagSection, local: datetime, zone: tzinfo) -> str:
        try:
            moment, note = place(local, zone)
        except OverflowError as error:
            raise LineError("time", f"{local} is no moment this program can tell", section.line) from error
        if zone is self._zone:
            self._report.note(f"times without a UTC offset, read in {zone}", section.line)
        if note is not None:
            self._report.note(note, section.line)
        return utc_text(moment)


def _variant(section: TagSection) -> str | None:
    variant = section.text("Variant")
    return None if variant is None or variant.lower() in _PLAIN else variant


def _full(section: TagSection, tag: str) -> bool:
    return "?" not in (section.text(tag) or "?")


def _clock(match: re.Match[str]) -> time | None:
    """Return the time of day that hours, minutes and perhaps seconds are; None when they are none."""
    try:
        return time(int(match[1]), int(match[2]), int(match[3] or 0))
    except ValueError:
        return None


def _day(section: TagSection, tag: str) -> date:
    day = _date(section.text(tag) or "")
    if day is None:
        raise section.error("time", tag, "not a full date such as 2026.11.29")
    return day


# Games of a day stand together, or those of a tournament's days.
@lru_cache(maxsize=1000)
def _date(text: str) -> date | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def _zone(section: TagSection, tag: str, name: str) -> tzinfo:
    offset = _OFFSET.fullmatch(name)
    if offset is not None and int(offset[2]) < _HOURS_A_DAY:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    if name in _ZONES:
        return timezone(timedelta(hours=_ZONES[name]))
    raise section.error("time", tag, f"{name!r} is not a zone such as UTC, PST or GMT+0100")
