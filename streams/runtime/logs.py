"""A worker's log: a line for each thing that matters, with its moment in UTC, as text or as JSON.

Of Faust and of Kafka's client only warnings are shown, but for the level `debug`: their tables of what was
assigned to whom say nothing that our own lines do not.
"""

import logging
import sys
import time
from typing import Any

from pythonjsonlogger.json import JsonFormatter

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)

# Faust's own classes log under the name of the module that extends them.
_LIBRARIES = ("faust", "mode", "aiokafka", "asyncio", "aiohttp", "streams.runtime.transport")


class _Utc(logging.Formatter):
    """Lines such as `2026-12-01T12:31:20.045Z WARNING rejected games/3/17: …`."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


class _UtcJson(JsonFormatter):
    """A JSON object a line: time, level, logger, message, and what the line is about."""

    default_time_format = _Utc.default_time_format
    default_msec_format = _Utc.default_msec_format


def set_up_logging(level: str, form: str) -> None:
    """Let everything go to standard output, in a form of `FORMATS`, from a level on."""
    handler = logging.StreamHandler(sys.stdout)
    formatter = _formatter(form)
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    least = level if level in ("debug", "error") else "warning"
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(least.upper())
    # They would be shown twice: `warnings` go through the log as well.
    logging.captureWarnings(True)  # noqa: FBT003 - by position only


def _formatter(form: str) -> logging.Formatter:
    if form == JSON:
        return _UtcJson(
            "{asctime}{levelname}{name}{message}",
            style="{",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
        )
    return _Utc("%(asctime)s %(levelname)s %(message)s")


def about(topic: str, partition: int, offset: int, **others: Any) -> dict[str, Any]:
    """Return the `extra` of a line about one record: where it lies, and what else is known (not None)."""
    known = {name: value for name, value in others.items() if value is not None}
    return {"topic": topic, "partition": partition, "offset": offset, **known}
