"""Comparing records that should have been published with those that were, one after the other.

Expected records are kept as 64-bit hashes, 32 bytes a record, whatever their size: ten million fit in 320 MB.
Pure: standard library only.
"""

from array import array
from bisect import bisect_left
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """How what was found can differ from what was expected."""

    MISSING = "missing"
    DIFFERENT = "different"
    DOUBLE = "double"
    DISORDER = "out of order"
    UNEXPECTED = "unexpected"
    ROW = "row"
    ACCOUNT = "account"


class Marks(NamedTuple):
    """What tells a record: its identity and its content as hashes, its timestamp (-1: not the producer's)."""

    identity: int
    content: int
    timestamp: int


class Finding(NamedTuple):
    """Something wrong with a record found; `position` is that of the one expected, -1 without one."""

    kind: Kind
    position: int


class Matching:
    """The records of one input partition in one published partition: `expect` all, then `find` in order.

    `from_start` says that nothing was published before the first expected one; else what is found before it
    is passed over. `whole` says that nothing published was deleted; else what is missing before the first one
    found is passed over.
    """

    def __init__(self, *, from_start: bool = True, whole: bool = True) -> None:
        self.passed_over = 0
        self._from_start = from_start
        self._whole = whole
        self._begun = False
        self._identities = array("q")
        self._contents = array("q")
        self._timestamps = array("q")
        self._offsets = array("q")
        self._next = 0
        self._missing: set[int] = set()
        self._by_content: dict[int, list[int]] = {}
        self._by_identity: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._contents)

    def expect(self, marks: Marks, offset: int) -> None:
        """Expect one more record, that of the input at `offset`."""
        self._identities.append(marks.identity)
        self._contents.append(marks.content)
        self._timestamps.append(marks.timestamp)
        self._offsets.append(offset)

    def offset(self, position: int) -> int:
        """Return the input offset of an expected record."""
        return self._offsets[position]

    def content(self, position: int) -> int:
        """Return the hash of an expected record's content."""
        return self._contents[position]

    def is_next(self, marks: Marks) -> bool:
        """Say whether this record is the one expected next."""
        position = self._next
        return position < len(self._contents) and self._contents[position] == marks.content

    def find(self, marks: Marks) -> Finding | None:
        """Take the next record found, and say what is wrong with it."""
        position = self._next
        if position < len(self._contents) and self._contents[position] == marks.content:
            self._next += 1
            self._begun = True
            return self._check_timestamp(position, marks)
        return self._find_elsewhere(marks)

    def reached(self) -> int:
        """Return the offset behind the last input whose record was found; 0 when none was."""
        return self._offsets[self._next - 1] + 1 if self._begun else 0

    def first_from(self, offset: int) -> int | None:
        """Return the first input offset, from one on, of a record expected behind all that were found."""
        position = max(self._next, bisect_left(self._offsets, offset))
        return self._offsets[position] if position < len(self._offsets) else None

    def missing(self, due: int) -> list[int]:
        """Return what was expected of input offsets below `due` and not found, when all is read."""
        late = range(self._next, bisect_left(self._offsets, due))
        if not self._whole and not self._begun:
            # All that is left was published later: whatever these were is among what was deleted.
            self.passed_over += len(late)
            return []
        return sorted(self._missing | set(late))

    def _check_timestamp(self, position: int, marks: Marks) -> Finding | None:
        if marks.timestamp in (-1, self._timestamps[position]):
            return None
        return Finding(Kind.DIFFERENT, position)

    def _find_elsewhere(self, marks: Marks) -> Finding | None:
        self._index()
        positions = self._by_content.get(marks.content)
        same = positions is not None
        positions = positions or self._by_identity.get(marks.identity, [])
        if not positions:
            if not self._begun and not self._from_start:
                self.passed_over += 1
                return None
            return Finding(Kind.UNEXPECTED, -1)
        ahead = next((position for position in positions if position >= self._next), None)
        if ahead is not None:
            self._jump(ahead)
            return self._check_timestamp(ahead, marks) if same else Finding(Kind.DIFFERENT, ahead)
        late = next((position for position in positions if position in self._missing), None)
        if late is None:
            return Finding(Kind.DOUBLE, positions[-1])
        self._missing.discard(late)
        return Finding(Kind.DISORDER, late)

    def _jump(self, position: int) -> None:
        between = range(self._next, position)
        if self._begun or self._whole:
            self._missing.update(between)
        else:
            self.passed_over += len(between)
        self._next = position + 1
        self._begun = True

    def _index(self) -> None:
        """Look up positions by hash: only from the first difference on."""
        if self._by_content:
            return
        for position, (identity, content) in enumerate(zip(self._identities, self._contents, strict=True)):
            self._by_content.setdefault(content, []).append(position)
            self._by_identity.setdefault(identity, []).append(position)
