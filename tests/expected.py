"""What must be in Kafka beside what an audit compares and a subscriber checks: everything is done."""

from collections.abc import Iterator, Mapping

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
