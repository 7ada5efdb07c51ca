"""A site's subscriber to ratings and standings, with confluent-kafka (librdkafka).

    python subscriber_confluent.py client.properties ratings.sqlite

It goes on until it is ended, in whatever way; with --once it ends when it has read what there is. Start it
again and it goes on where its database ends. Several may run on one file: they share the partitions.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from client_properties import read_properties
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from ratings_db import RatingsDb

TOPICS = ("rating-changed", "competition-closed")
# Kept in one transaction of the database.
BATCH = 500


def subscribe(properties: dict[str, str], db: RatingsDb, prefix: str, group: str, *, once: bool) -> None:
    """Keep what is published; with `once` until the end of what there is.

    Raises KafkaException when it cannot go on, OtherHistoryError and TakenOverError.
    """
    consumer = Consumer(
        {
            **properties,
            "group.id": group,
            # What a transaction has not committed was not published.
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            # Where nothing is kept yet, or the topic no longer has what is next; what is known is skipped.
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    at_end: set[tuple[str, int]] = set()

    def go_on(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Set the consumer to where the database ends: the offsets that Kafka keeps are not asked for."""
        at_end.clear()
        for tp in partitions:
            tp.offset = db.begin(tp.topic, tp.partition)
        consumer.assign(partitions)

    consumer.subscribe([prefix + topic for topic in TOPICS], on_assign=go_on)
    try:
        while True:
            at_end |= _keep(db, consumer.consume(BATCH, timeout=0.5))
            if once and at_end and len(at_end) == len(consumer.assignment()):
                return
    finally:
        consumer.close()


def _keep(db: RatingsDb, messages: Sequence[Message]) -> set[tuple[str, int]]:
    """Keep what messages say, and return the partitions that have come to their end."""
    ended: set[tuple[str, int]] = set()
    by_partition: dict[tuple[str, int], list[Message]] = {}
    for message in messages:
        partition, error = (message.topic(), message.partition()), message.error()
        if error is None:
            by_partition.setdefault(partition, []).append(message)
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name in librdkafka
            ended.add(partition)
        elif not error.retriable():
            raise KafkaException(error)
    for (topic, number), read in by_partition.items():
        db.apply(topic, number, [message.value() for message in read], read[-1].offset() + 1)
    return ended


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
        subscribe(properties, db, options.prefix, options.group, once=options.once)
    except KeyboardInterrupt:
        return 0
    finally:
        db.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
