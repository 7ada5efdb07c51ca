"""Rejected records as they go to game-rejected: as they came, or cut to what every topic takes."""

import orjson
from aiokafka.structs import ConsumerRecord

from streams.core.events import Rejected
from streams.wire.encode import ERROR_HEADER, MAX_PUBLISHED_BYTES, Headers, record_size, rejection_headers

# What is kept of a record that is larger: enough to see what it was.
_KEPT_KEY = 1024
_KEPT_VALUE = 64 * 1024
_KEPT_ID = 128
_KEPT_HEADERS = 64 * 1024


def named_game(value: bytes | None) -> str | None:
    """Return which game a rejected record is about, when it says so in spite of what is wrong with it.

    An id that is too long to be one is cut.
    """
    try:
        content = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return None
    game_id = content.get("game_id") if isinstance(content, dict) else None
    return game_id[:_KEPT_ID] if isinstance(game_id, str) else None


def rejected_record(rejected: Rejected, record: ConsumerRecord) -> tuple[bytes | None, bytes | None, Headers]:
    """Return key, value and headers for game-rejected.

    A record that is larger, unpacked, than MAX_PUBLISHED_BYTES is cut and says so; the whole of it stays in
    the input topic, at the position in its headers. The bound is the same whatever the topic is set to, so
    that an audit knows what was published.
    """
    key, value, headers = record.key, record.value, list(record.headers)
    size = record_size(key, value, headers)
    cut = size > MAX_PUBLISHED_BYTES
    if cut:
        key = key and key[:_KEPT_KEY]
        value = value and value[:_KEPT_VALUE]
        headers = headers if record_size(None, None, headers) <= _KEPT_HEADERS else []
    headers = rejection_headers(rejected, record.topic, record.partition, record.offset, headers)
    if cut:
        headers.append((f"{ERROR_HEADER}cut-from-bytes", str(size).encode()))
    return key, value, headers
