"""The account of records: what became of those read.

Pure: standard library only.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# The outcomes of a record: every one has exactly one.
RATED = "rated"
IGNORED = "ignored"
REJECTED = "rejected"
NOTED = "noted"
# It lies away from its ladder's home, where a copy of it has an outcome of its own.
FORWARDED = "forwarded"
OUTCOMES = (RATED, IGNORED, REJECTED, NOTED, FORWARDED)
READ = "read"


@dataclass
class OutcomeCounts:
    """How many records were read and had each outcome: `read` is always the sum of the others."""

    read: int = 0
    rated: int = 0
    ignored: int = 0
    rejected: int = 0
    noted: int = 0
    # Absent from the rows of deployments that began before there was forwarding.
    forwarded: int = 0

    def count_all(self, outcomes: Iterable[str]) -> None:
        """Count one record more for every outcome."""
        for outcome, count in Counter(outcomes).items():
            self.read += count
            setattr(self, outcome, getattr(self, outcome) + count)

    def add(self, other: "OutcomeCounts") -> None:
        """Count the records of another account too."""
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)

    def since(self, before: "OutcomeCounts") -> "OutcomeCounts":
        """Return the account of the records behind an earlier one."""
        return OutcomeCounts(**{name: count - getattr(before, name) for name, count in vars(self).items()})

    def outcomes(self) -> str:
        """Return the counts of the outcomes in words."""
        return ", ".join(f"{getattr(self, name)} {name}" for name in OUTCOMES)

    def shown(self) -> dict[str, int]:
        """Return the counts as JSON."""
        return dict(vars(self))
