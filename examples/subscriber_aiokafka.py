"""A site's subscriber to ratings and standings, with aiokafka.

    python subscriber_aiokafka.py client.properties ratings.sqlite

It goes on until it is ended, in whatever way; with --once it ends when it has read what there is. Start it
again and it goes on where its database ends. Several may run on one file: they share the partitions.
"""

import argparse
import asyncio
import sys
from collections.abc import Collection
from pathlib import Path

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from client_properties import for_aiokafka, read_properties
from ratings_db import RatingsDb

TOPICS = ("rating-changed", "competition-closed")


class _GoOn(ConsumerRebalanceListener):
    """Sets the consumer to where the database ends: the offsets that Kafka keeps are not asked for."""

    def __init__(self, consumer: AIOKafkaConsumer, db: RatingsDb) -> None:
        self._consumer = consumer
        self._db = db

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Do nothing: what was read is kept by now."""

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Begin at the offsets of the database."""
        for tp in assigned:
            self._consumer.seek(tp, self._db.begin(tp.topic, tp.partition))


async def subscribe(
    properties: dict[str, str], db: RatingsDb, prefix: str, group: str, *, once: bool
) -> None:
    """Keep what is published; with `once` until the end of what there is.

    Raises KafkaError when it cannot go on, OtherHistoryError and TakenOverError.
    """
    consumer = AIOKafkaConsumer(
        **for_aiokafka(properties),
        group_id=group,
        # What a transaction has not committed was not published.
        isolation_level="read_committed",
        enable_auto_commit=False,
        # Where nothing is kept yet, or the topic no longer has what is next; what is known is skipped.
        auto_offset_reset="earliest",
    )
    consumer.subscribe([prefix + topic for topic in TOPICS], listener=_GoOn(consumer, db))
    await consumer.start()
    try:
        while True:
            for tp, records in (await consumer.getmany(timeout_ms=500)).items():
                values = [record.value for record in records]
                db.apply(tp.topic, tp.partition, values, records[-1].offset + 1)
            if once and await _is_at_end(consumer):
                return
    finally:
        await consumer.stop()


async def _is_at_end(consumer: AIOKafkaConsumer) -> bool:
    assigned = consumer.assignment()
    ends = await consumer.end_offsets(assigned)
    return bool(ends) and all([await consumer.position(tp) >= end for tp, end in ends.items()])


def main(arguments: list[str] | None = None) -> int:
    """Subscribe, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("properties", type=Path)
    parser.add_argument("database", type=Path)
    parser.add_argument("--prefix", default="", help="stands before the names of the topics")
    parser.add_argument("--group", default="ratings")
    parser.add_argument("--once", action="store_true", help="end when what there is was read")
    options = parser.parse_args(arguments)
    db = RatingsDb(options.database)
    try:
        properties = read_properties(options.properties)
        asyncio.run(subscribe(properties, db, options.prefix, options.group, once=options.once))
    except KeyboardInterrupt:
        return 0
    finally:
        db.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
