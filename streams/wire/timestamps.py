"""Which timestamps of records are moments, and which one goes on what follows from a record."""

# Milliseconds since 1970, to the end of 2999. Beyond lie microseconds and nanoseconds since 1971.
MAX_TIMESTAMP_MS = 32_503_680_000_000
# Kafka's word for a record without one, which no topic refuses.
NO_TIMESTAMP = -1
# Before this, in April 1970, lie all of today's timestamps in seconds.
_SECONDS_UNTIL = 10_000_000_000


def is_moment(timestamp: int) -> bool:
    """Say whether a record's timestamp can be a moment in milliseconds since 1970."""
    return 0 <= timestamp < MAX_TIMESTAMP_MS


def published_timestamp(timestamp: int) -> int:
    """Return the timestamp of all that follows from a record with this one.

    It is the record's own, so that a replay makes the same records, unless that is no moment: another topic
    may refuse what the input took (`message.timestamp.after.max.ms`).
    """
    return timestamp if is_moment(timestamp) else NO_TIMESTAMP


def unit_hint(timestamp: int) -> str:
    """Return what to say of a timestamp in another unit than milliseconds; empty when it looks like these."""
    if timestamp == NO_TIMESTAMP:
        return "; the record has none"
    if timestamp >= MAX_TIMESTAMP_MS:
        return f"; {timestamp} looks like microseconds or finer, and Kafka wants milliseconds since 1970"
    if 0 < timestamp < _SECONDS_UNTIL:
        return f"; {timestamp} looks like seconds, and Kafka wants milliseconds since 1970"
    return ""
