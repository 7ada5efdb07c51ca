"""The JSON Schemas of all events, compiled once.

They stand in `schemas/` of the project and travel inside the installed package.
"""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

from streams.core.player_events import ACTIVITY_IGNORED, PLAYER_EVENTS, PLAYER_STATUS

VERSION = "v1"
# Of games, then of players.
EVENTS = (
    "game-finished",
    "rating-imported",
    "week-ended",
    "game-voided",
    "corrections-applied",
    "rating-changed",
    "game-ignored",
    "competition-closed",
    *PLAYER_EVENTS,
    PLAYER_STATUS,
    ACTIVITY_IGNORED,
)


def type_of(event: str) -> bytes:
    """Return what the header ce_type of an event says, such as `game-finished.v1`."""
    return f"{event}.{VERSION}".encode()


def schema_directory() -> Path:
    """Return the folder of the schemas: in the installed package, or of a checkout beside it."""
    package = Path(__file__).parent.parent
    installed = package / "schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


def schema(event: str) -> dict[str, Any]:
    """Read the JSON Schema of an event, such as `game-finished`."""
    document: dict[str, Any] = orjson.loads((schema_directory() / f"{event}.{VERSION}.json").read_bytes())
    return document


@cache
def validator(event: str) -> Any:
    """Compile the JSON Schema of an event, such as `game-finished`, with its formats checked."""
    return jsonschema_rs.validator_for(schema(event), validate_formats=True)


def first_error(event: str, value: Any) -> str:
    """Say where and why a value does not fit the event's schema: the field, the reason and the value."""
    error = next(iter(validator(event).iter_errors(value)), None)
    if error is None:
        return "fits the schema"
    path = ""
    for part in error.instance_path:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{path.lstrip('.') or 'the event'}: {_shortened(error.message)}"


def _shortened(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
