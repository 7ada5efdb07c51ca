"""Lets aiokafka's consumers read records whose header names are not UTF-8.

Kafka's protocol has the names of headers in UTF-8, but no broker looks. aiokafka raises at such a record, in
the middle of a fetch and again at every start: one record of one careless client, and a partition is dead for
good. Here the rest of that fetch is read once more, by aiokafka's own parser in Python, which lets bytes that
are no UTF-8 through as lone surrogates. No valid name has any: `streams.wire.decode` rejects the record by
them. A fetch without such a record is read as ever, at no cost.

aiokafka has no public way to do this. What is used of its inside is listed in `install`, which raises when it
is not there, and tests/runtime/test_header_names.py reads such records. When one of them fails after an
update of aiokafka: look how its consumer/fetcher.py makes records of bytes and put these classes in there; or
remove this module, if such a name no longer raises.
"""

from typing import Any

import aiokafka
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record import default_records, memory_records

# The first format of batches that has headers.
_MAGIC = 2


class _Bytes(bytearray):
    """Bytes whose parts are decoded whatever they are."""

    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        return _Bytes(part) if isinstance(part, bytearray) else part

    def decode(self, encoding: str = "utf-8", errors: str = "surrogateescape") -> str:
        """Return the text; what is none in this encoding stands there as lone surrogates."""
        return super().decode(encoding, errors)


class _LenientBatch(default_records._DefaultRecordBatchPy):  # noqa: SLF001 - no public way
    """A batch of records whose header names may be any bytes."""

    _buffer: bytearray

    def __iter__(self) -> Any:
        super().__iter__()
        self._buffer = _Bytes(self._buffer)
        return self


class _LenientRecords(memory_records._MemoryRecordsPy):  # noqa: SLF001 - no public way
    """The batches of a fetch, read leniently."""

    def next_batch(self) -> Any:
        """Return the next batch; None behind the last one."""
        content = self._next_slice
        batch = super().next_batch()
        return _LenientBatch(content) if getattr(batch, "magic", 0) >= _MAGIC else batch


class _Records(memory_records.MemoryRecords):
    """The batches of a fetch as aiokafka reads them, and the bytes that they are made of."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.content = content


class _PartitionRecords(fetcher.PartitionRecords):
    """The records of a fetch: as aiokafka reads them, and leniently from the first on where it raises."""

    def __init__(
        self, tp: Any, records: Any, aborted_transactions: Any, fetch_offset: int, *options: Any
    ) -> None:
        super().__init__(tp, records, aborted_transactions, fetch_offset, *options)
        self._options = (aborted_transactions, options)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except (UnicodeDecodeError, CorruptRecordException):
            if not isinstance(self._records, _Records):
                raise
            return self._begin_again()

    def _begin_again(self) -> Any:
        """Return the record that could not be read; those before it were given out."""
        resume = self.next_fetch_offset
        aborted_transactions, options = self._options
        content = _LenientRecords(self._records.content)
        # The whole fetch, or aborted transactions would not be told from others.
        self.__init__(self._tp, content, aborted_transactions, resume, *options)  # type: ignore[misc]
        record = super().__next__()
        while record.offset < resume:
            record = super().__next__()
        return record


def install() -> None:
    """Let every consumer of this process read such records; once is enough.

    Raises RuntimeError when aiokafka is not made as it was, so that this would do nothing.
    """
    if fetcher.MemoryRecords is _Records:
        return
    is_known = (
        fetcher.MemoryRecords is memory_records.MemoryRecords
        and hasattr(memory_records._MemoryRecordsPy, "_cache_next")  # noqa: SLF001 - no public way
        and hasattr(default_records._DefaultRecordBatchPy, "_read_msg")  # noqa: SLF001 - no public way
        and hasattr(fetcher.PartitionRecords, "_unpack_records")
    )
    if not is_known:
        raise RuntimeError(
            f"aiokafka {aiokafka.__version__} reads records in another way than the version that Ladderlog "
            f"was written for: {__name__} says what to do"
        )
    fetcher.MemoryRecords = _Records
    fetcher.PartitionRecords = _PartitionRecords
