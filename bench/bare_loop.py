"""A bare aiokafka loop over partition 0 of a topic: what Python can read, without anything written.

    python bench/bare_loop.py BOOTSTRAP_SERVERS TOPIC fetch|decode|rows

`fetch` only fetches, `decode` decodes every record as the worker does, `rows` parses every value as the
loading of rows does. Prints one JSON object: records, seconds, CPU seconds.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson
from aiokafka import TopicPartition

from streams.runtime.connection import Connection
from streams.runtime.reader import end_offset, new_reader
from streams.wire.decode import decode_record

_MAX_POLL_RECORDS = 10_000


def _fetch(_: Any) -> None:
    pass


def _decode(record: Any) -> None:
    decode_record(record.value, record.headers, record.timestamp)


def _rows(record: Any) -> None:
    orjson.loads(record.value)


_WORK: dict[str, Callable[[Any], None]] = {"fetch": _fetch, "decode": _decode, "rows": _rows}


async def read(bootstrap: str, topic: str, work: Callable[[Any], None]) -> dict[str, float]:
    """Read a topic from its beginning to its end as of now, and give how long that took."""
    reader = new_reader(Connection(bootstrap), max_poll_records=_MAX_POLL_RECORDS)
    await reader.start()
    try:
        tp = TopicPartition(topic, 0)
        end = await end_offset(reader, tp)
        started, cpu = time.perf_counter(), time.process_time()
        reader.assign([tp])
        await reader.seek_to_beginning(tp)
        records = 0
        while await reader.position(tp) < end:
            for fetched in (await reader.getmany(tp, timeout_ms=500)).values():
                records += len(fetched)
                for record in fetched:
                    work(record)
        return {
            "records": records,
            "seconds": time.perf_counter() - started,
            "cpu": time.process_time() - cpu,
        }
    finally:
        await reader.stop()


def main() -> None:
    bootstrap, topic, work = sys.argv[1:]
    sys.stdout.buffer.write(orjson.dumps(asyncio.run(read(bootstrap, topic, _WORK[work]))))


if __name__ == "__main__":
    main()
