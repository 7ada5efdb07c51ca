"""Finished games of chess from PGN: players, result and time from the tags alone.

When a game ended: `EndDate` (else `Date`) with `EndTime`, or `EndDate`; else when it began, `UTCDate` with
`UTCTime` or `Date` with `Time`. Times that name no zone are UTC where the file has UTC tags, else in the
mapping's zone.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import partial
from typing import Any

from streams.files.report import FileReport, LineError
from streams.imports.conversion import Conversion, present
from streams.imports.encodings import plain_pieces
from streams.imports.mapping import MappingError
from streams.imports.moments import DATE_ONLY, place, utc_text
from streams.imports.pgn_reader import TagSection, read_tag_sections
from streams.imports.results import read_result

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
# "Rated Blitz game", "Casual Chess960 tournament …" as lichess.org writes; other events may say anything.
_RATED = re.compile(
    r"(rated|casual|unrated) (ultrabullet|bullet|blitz|rapid|classical|correspondence|standard|chess960"
    r"|antichess|crazyhouse|atomic|horde|king of the hill|racing kings|three-check|from position) "
    r"(game|match|tournament|swiss)\b.*",
    re.IGNORECASE,
)
_HOURS_A_DAY = 24
_RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
_LINK_ID = re.compile(
    r"https?://(?:lichess\.org/(\w{8})(?:/white|/black)?"
    r"|(?:www\.)?chess\.com/(?:(?:live|daily)/)?game/(?:(?:live|daily)/)?(\d+))/?"
)
_PLAIN = ("standard", "from position")

START_ONLY = "games that tell only when they began, taken as their end"
RATED_UNKNOWN = "games that do not say whether they are rated, taken as rated"


def import_pgn(conversion: Conversion) -> FileReport:
    """Write the games of a PGN file as game-finished lines, and return the report.

    Raises MappingError when the mapping is not one for PGN. A game that cannot be told is left out, and the
    report is told.
    """
    mapping = conversion.mapping
    if mapping.ladder is None:
        raise MappingError("ladder: PGN does not say which ladder; give one (--ladder NAME)")
    sink = conversion.sink()
    reader = _PgnReader(conversion)
    for section in read_tag_sections(*plain_pieces(conversion.lines, mapping.encoding)):
        sink.take(section.line, partial(reader.game, section))
    sink.close()
    return conversion.report


class _PgnReader:
    """Makes events of games' tags."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._mapping = conversion.mapping
        self._zone = conversion.mapping.zone()
        self._report = conversion.report

    def game(self, section: TagSection) -> dict[str, Any]:
        """Return a game. Raises LineError when its tags do not tell it."""
        if section.fault is not None:
            raise section.fault
        white, black = (_player(section, color) for color in ("White", "Black"))
        points = _points(section)
        started_at, ended_at = self._times(section)
        game = {
            "game_id": self._game_id(section),
            "ladder": self._mapping.ladder,
            "game_type": self._mapping.game_type or _variant(section),
            "started_at": started_at,
            "ended_at": ended_at,
            "rated": self._rated(section),
            "players": [
                {"player_id": white, "points": points[0]},
                {"player_id": black, "points": points[1]},
            ],
        }
        return present(game)

    def _game_id(self, section: TagSection) -> str:
        given = section.text("GameId")
        if given is not None:
            return given
        for tag in ("Link", "GameURL", "Site"):
            link = _LINK_ID.fullmatch(section.text(tag) or "")
            if link is not None:
                return link[1] or link[2]
        return self._conversion.made_id(section.line)

    def _rated(self, section: TagSection) -> bool | None:
        said = _RATED.fullmatch(section.text("Event") or "")
        if said is None:
            self._report.note(RATED_UNKNOWN, section.line)
            return None
        return said[1].lower() == "rated"

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
        return None, self._moment(section, "Date", "Time", self._zone)

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


def _player(section: TagSection, color: str) -> str:
    player = section.text(color)
    if player is None:
        raise section.error("players", color, "no player")
    return player


def _points(section: TagSection) -> tuple[float, float]:
    value = section.value("Result")
    if value not in _RESULTS:
        raise section.error("result", "Result", f"none of {', '.join(_RESULTS)}")
    if value == "*":
        raise section.error("unfinished", "Result", "the game is not over")
    return read_result(value, "[Result]")


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
    match = _DATE.fullmatch(section.text(tag) or "")
    try:
        if match is not None:
            return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        pass
    raise section.error("time", tag, "not a full date such as 2026.11.29")


def _zone(section: TagSection, tag: str, name: str) -> tzinfo:
    offset = _OFFSET.fullmatch(name)
    if offset is not None and int(offset[2]) < _HOURS_A_DAY:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    if name in _ZONES:
        return timezone(timedelta(hours=_ZONES[name]))
    raise section.error("time", tag, f"{name!r} is not a zone such as UTC, PST or GMT+0100")
