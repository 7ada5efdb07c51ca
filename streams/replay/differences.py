"""What an audit found."""

from collections import Counter
from dataclasses import dataclass, field

from streams.core.outcomes import OutcomeCounts
from streams.replay.matching import Kind

_MAX_SHOWN = 2_000


@dataclass(frozen=True)
class Difference:
    """One difference: where it is, what should be there, and what is."""

    kind: Kind
    where: str
    expected: str = ""
    found: str = ""

    def text(self) -> str:
        """Show it as lines."""
        lines = [f"{self.kind}: {self.where}"]
        if self.expected:
            lines.append(f"  expected {self.expected[:_MAX_SHOWN]}")
        if self.found:
            lines.append(f"  found    {self.found[:_MAX_SHOWN]}")
        return "\n".join(lines)


@dataclass
class AuditReport:
    """What an audit found; nothing differs when `totals` is empty. The first `limit` of a kind are kept."""

    limit: int
    differences: list[Difference] = field(default_factory=list)
    totals: Counter[Kind] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    counts: OutcomeCounts = field(default_factory=OutcomeCounts)
    offsets: list[int] = field(default_factory=list)
    rows: int = 0
    published: int = 0

    def wants(self, kind: Kind) -> bool:
        """Say whether the next difference of a kind will be kept."""
        return self.totals[kind] < self.limit

    def add(self, difference: Difference) -> None:
        """Count a difference, and keep it when it is one of the first of its kind."""
        if self.wants(difference.kind):
            self.differences.append(difference)
        self.totals[difference.kind] += 1
