"""Parameters of a system: a frozen dataclass whose fields say what they accept.

Pure: standard library only.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import timedelta
from typing import Any

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(\d+)([smhdw])")
# What is longer is a slip of the keyboard, and would soon leave the years that a date can have.
_LONGEST = timedelta(days=365_000)
# Beyond it a rating would lose its decimals, or overflow.
_LARGEST = 10**12


class LadderFileError(ValueError):
    """A mistake in the ladder file; the message starts with the key."""


@dataclass(frozen=True)
class Bound:
    """The least value a number may have; `exclusive` when it must be more than that."""

    least: float
    exclusive: bool = False


def number(default: float, least: float = -math.inf, *, exclusive: bool = False) -> Any:
    """Declare a number parameter with its default and its least value."""
    return field(default=default, metadata={"kind": "number", "bound": Bound(least, exclusive)})


def whole(default: int, least: int = 0) -> Any:
    """Declare a whole-number parameter with its default and its least value."""
    return field(default=default, metadata={"kind": "whole", "bound": Bound(least)})


def choice(default: str, *others: str) -> Any:
    """Declare a parameter that is one of some words."""
    return field(default=default, metadata={"kind": "choice", "choices": (default, *others)})


def duration(default: timedelta) -> Any:
    """Declare a span of time, written as 30m, 24h or 7d."""
    return field(default=default, metadata={"kind": "duration"})


def parse(parameters: type, table: Any, where: str) -> Any:
    """Make `parameters` from a table of the ladder file.

    `where` is the table's key, as in `ladders.belote.fundox`. Raises LadderFileError naming the key.
    """
    if not isinstance(table, Mapping):
        raise LadderFileError(f"{where}: expected a table of parameters, not {table!r}")
    known = {item.name: item for item in fields(parameters)}
    for name in table:
        if name not in known:
            raise LadderFileError(f"{where}.{name}: no such parameter; there are {', '.join(known)}")
    values = {
        name: parse_value(table[name], item.metadata, f"{where}.{name}")
        for name, item in known.items()
        if name in table
    }
    return parameters(**values)


def parse_value(value: Any, metadata: Mapping[str, Any], where: str) -> Any:
    """Check one value against what its field says. Raises LadderFileError naming the key `where`."""
    match metadata["kind"]:
        case "choice":
            if value not in metadata["choices"]:
                raise LadderFileError(f"{where}: {value!r} is none of {', '.join(metadata['choices'])}")
            return value
        case "duration":
            return parse_duration(value, where)
        case "whole":
            if not isinstance(value, int) or isinstance(value, bool):
                raise LadderFileError(f"{where}: expected a whole number, not {value!r}")
            return _bounded(value, metadata["bound"], where)
        case _:
            if not _is_finite(value):
                raise LadderFileError(f"{where}: expected a finite number, not {value!r}")
            return _bounded(value, metadata["bound"], where)


def parse_duration(value: Any, where: str) -> timedelta:
    """Read a span of time such as 30m, 24h or 7d. Raises LadderFileError naming the key `where`."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise LadderFileError(f'{where}: expected a span of time such as "30m", "24h" or "7d", not {value!r}')
    unit = timedelta(**{_UNITS[match[2]]: 1})
    count = int(match[1])
    if count > _LONGEST // unit:
        raise LadderFileError(f"{where}: at most {_LONGEST // unit}{match[2]} (1,000 years), not {value!r}")
    return count * unit


def duration_text(span: timedelta) -> str:
    """Return a span of time as the ladder file has it, in the largest unit that divides it, such as 36h."""
    seconds = int(span.total_seconds())
    for unit, name in reversed(_UNITS.items()):
        length = int(timedelta(**{name: 1}).total_seconds())
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def described(parameters: Any) -> dict[str, Any]:
    """Return every parameter as plain JSON, as the ladder file has it: `parse` takes it back."""
    values = {item.name: getattr(parameters, item.name) for item in fields(parameters)}
    return {name: duration_text(v) if isinstance(v, timedelta) else v for name, v in values.items()}


def defaults(parameters: type) -> dict[str, Any]:
    """Return the default of every parameter, as declared."""
    return {item.name: item.default for item in fields(parameters) if item.default is not MISSING}


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _bounded(value: float, bound: Bound, where: str) -> float:
    if abs(value) > _LARGEST:
        raise LadderFileError(f"{where}: must be at most {_LARGEST:,} either way, not {value!r}")
    if value < bound.least or (bound.exclusive and value == bound.least):
        wanted = f"more than {bound.least:g}" if bound.exclusive else f"{bound.least:g} or more"
        raise LadderFileError(f"{where}: must be {wanted}, not {value!r}")
    return value
