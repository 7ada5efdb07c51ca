"""What must be in Kafka beside what an audit compares: everything done, and sequences without a gap."""

from collections.abc import Iterator, Mapping

import orjson
from aiokafka.structs import ConsumerRecord


def unfinished(
    records: Mapping[int, list[ConsumerRecord]], committed: Mapping[int, int], marks: Mapping[int, int]
) -> Iterator[str]:
    """Say which partitions' committed offset or watermark is not the end of the input."""
    for partition, found in records.items():
        end = found[-1].offset + 1 if found else 0
        if committed[partition] != end:
            yield f"partition {partition}: offset {committed[partition]} is committed, not {end}"
        if marks.get(partition, 0) != end:
            yield f"partition {partition}: the watermark is {marks.get(partition, 0)}, not {end}"


def sequence_differences(records: Mapping[int, list[ConsumerRecord]]) -> Iterator[str]:
    """Check what a subscriber sees of each player: sequences without gap or double, and befores."""
    last: dict[tuple[str, ...], tuple[int, float]] = {}
    for record in (record for found in records.values() for record in found):
        body = orjson.loads(record.value)
        key = (body["ladder"], body["system"], body.get("week", ""), body["player_id"])
        known = last.get(key)
        if known is None:
            if body["sequence"] != 1 and body.get("reason") != "import":
                yield f"{key} begins with sequence {body['sequence']}"
        elif (body["sequence"], body["before"]) != (known[0] + 1, known[1]):
            yield f"{key}: sequence {body['sequence']} from {body['before']} follows {known}"
        last[key] = (body["sequence"], body["after"])
