"""The account of records: what became of those read.

Pure: standard library only.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class OutcomeCounts:
    """How many records were read and had each outcome: `read` is always the sum of the others."""

    read: int = 0
    rated: int = 0
    ignored: int = 0
    rejected: int = 0
    noted: int = 0

    def count_all(self, outcomes: Iterable[str]) -> None:
        """Count one record more for every outcome."""
        for outcome, count in Counter(outcomes).items():
            self.read += count
            setattr(self, outcome, getattr(self, outcome) + count)

    def shown(self) -> dict[str, int]:
        """Give the counts as JSON."""
        return dict(vars(self))
