"""Places in a log as they are named on the command line: an offset, or a moment.

Pure: standard library only.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Position:
    """A place in every partition: an offset, or the first record whose timestamp is not before a moment."""

    text: str
    offset: int | None = None
    epoch_ms: int | None = None


def parse_position(text: str) -> Position:
    """Read an offset, or a moment as in RFC 3339. Raises ValueError when it is neither."""
    if text.isdecimal():
        return Position(text, offset=int(text))
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ValueError(
            f"{text!r} is neither an offset nor a moment such as 2026-11-02T20:00:00Z"
        ) from error
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset; write 2026-11-02T20:00:00Z or …+01:00")
    return Position(text, epoch_ms=round(moment.timestamp() * 1000))
