"""Records whose header names are not UTF-8 are read by every consumer of the process."""

from collections.abc import Sequence

import pytest
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.structs import TopicPartition

from streams.runtime import header_names, reader, transport

NAME, BAD_NAME = b"na--e", b"na\xff\xfee"
# No check of CRCs, which a changed name makes wrong; committed records only.
CHECK_AND_ISOLATION = (False, 1)
# As no valid name can be decoded.
DECODED = "na\udcff\udcfee"


def batch(start: int, names: Sequence[str]) -> bytes:
    """Make a batch of a record for each header name, the first at offset `start`."""
    builder = DefaultRecordBatchBuilder(
        2,
        DefaultRecordBatch.CODEC_NONE,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=0,
        batch_size=1_000_000,
    )
    for number, name in enumerate(names):
        value = b"value " * 50
        builder.append(number, 1_000 + number, key=b"key", value=value, headers=[(name, b"1"), ("b", None)])
    encoded = bytearray(builder.build())
    encoded[:8] = start.to_bytes(8, "big")
    return bytes(encoded)


def read(content: bytes, start: int = 0) -> list[tuple[int, str]]:
    """Return offset and first header name of the records that a fetch from `start` on has."""
    tp = TopicPartition("topic", 0)
    records = fetcher.PartitionRecords(
        tp, fetcher.MemoryRecords(content), [], start, None, None, *CHECK_AND_ISOLATION
    )
    return [(record.offset, record.headers[0][0]) for record in records]


def test_a_name_that_is_not_utf8_is_read_and_so_is_what_lies_around_it() -> None:
    bad = batch(2, ["fine", NAME.decode(), "good"]).replace(NAME, BAD_NAME)
    content = batch(0, ["first", "second"]) + bad + batch(5, ["last"])

    assert read(content) == [
        (0, "first"),
        (1, "second"),
        (2, "fine"),
        (3, DECODED),
        (4, "good"),
        (5, "last"),
    ]


@pytest.mark.parametrize("start", [2, 3, 4])
def test_a_fetch_may_begin_within_a_batch_with_such_a_name(start: int) -> None:
    bad = batch(2, ["fine", NAME.decode(), "good"]).replace(NAME, BAD_NAME)

    assert (
        read(bad + batch(5, ["last"]), start)
        == [
            (2, "fine"),
            (3, DECODED),
            (4, "good"),
            (5, "last"),
        ][start - 2 :]
    )


def test_a_name_that_is_utf8_is_read_as_it_is_beside_one_that_is_not() -> None:
    content = batch(0, [NAME.decode(), "größe"]).replace(NAME, BAD_NAME)

    assert read(content) == [(0, DECODED), (1, "größe")]


def test_both_makers_of_consumers_see_to_it() -> None:
    for module in (reader, transport):
        assert module.header_names is header_names
    assert fetcher.MemoryRecords.__module__ == header_names.__name__
