"""Rejected records as they go to game-rejected: as they came, or cut when no topic would take them."""

from aiokafka.structs import ConsumerRecord

from streams.core.events import Rejected
from streams.runtime.topics import MAX_INPUT_BYTES
from streams.wire.encode import ERROR_HEADER, Headers, rejection_headers

# What is kept of a record that is larger, unpacked, than a topic takes: enough to see what it was.
_KEPT_KEY = 1024
_KEPT_VALUE = 64 * 1024


def rejected_record(rejected: Rejected, record: ConsumerRecord) -> tuple[bytes | None, bytes | None, Headers]:
    """Return key, value and headers for game-rejected.

    A topic limits the size of a batch as it is sent, compressed or not: a megabyte on the wire may be a
    hundred in memory. Such a record is cut and says so; the whole of it stays in the input topic, at the
    position in its headers.
    """
    key, value, headers = record.key, record.value, list(record.headers)
    size = len(key or b"") + len(value or b"") + sum(len(name) + len(text or b"") for name, text in headers)
    cut = size > MAX_INPUT_BYTES
    if cut:
        key = key and key[:_KEPT_KEY]
        value = value and value[:_KEPT_VALUE]
        headers = []
    headers = rejection_headers(rejected, record.topic, record.partition, record.offset, headers)
    if cut:
        headers.append((f"{ERROR_HEADER}cut-from-bytes", str(size).encode()))
    return key, value, headers
