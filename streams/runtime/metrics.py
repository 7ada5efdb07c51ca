"""Every metric of a worker, as Prometheus reads it: declared here, and nowhere else.

Seconds and records, counters that end in `_total`. No label is a player or a game: there are too many. What
follows from records is counted once for a batch, when its transaction is committed.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import write_to_textfile
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from streams.core.events import CompetitionClosed, GameIgnored, RatingChanged
from streams.core.ladder import Folded
from streams.core.ladders import Ladders
from streams.core.manifest import FOLD_VERSION
from streams.core.outcomes import FORWARDED, IGNORED, NOTED, RATED, REJECTED, OutcomeCounts
from streams.core.publications import GameRated, Publication

# Of no use here, and a third of all lines.
disable_created_metrics()  # type: ignore[no-untyped-call]

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

RECORDS = Counter(
    "ladderlog_records",
    "Records read, by what became of them; with a reason where they were ignored or rejected.",
    ("outcome", "reason"),
    registry=REGISTRY,
)
CHANGES = Counter("ladderlog_changes_published", "Rating changes published.", ("system",), registry=REGISTRY)
WEEK_CLOSINGS = Counter(
    "ladderlog_week_closings",
    "Weeks closed, and closed for good (final); those published again in between are not counted.",
    ("final",),
    registry=REGISTRY,
)
TRANSACTIONS = Counter("ladderlog_transactions", "Transactions with records, committed.", registry=REGISTRY)
TRANSACTION_GAMES = Histogram(
    "ladderlog_transaction_games",
    "Records of a transaction.",
    buckets=(1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000),
    registry=REGISTRY,
)
TRANSACTION_SECONDS = Histogram(
    "ladderlog_transaction_seconds",
    "From the first record folded to the commit, for a transaction.",
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
    registry=REGISTRY,
)
LOADING_SECONDS = Histogram(
    "ladderlog_loading_seconds",
    "From beginning to own a partition to the first record, for a partition.",
    buckets=(0.1, 0.3, 1, 3, 10, 30, 100, 300),
    registry=REGISTRY,
)
REBALANCES = Counter(
    "ladderlog_rebalances", "Times the group gave this worker its partitions anew.", registry=REGISTRY
)
FENCINGS = Counter(
    "ladderlog_fencings",
    "Times another process took a partition of this worker over while it ran; kept over its restarts.",
    registry=REGISTRY,
)
BUILD_INFO = Gauge(
    "ladderlog_build_info",
    "1, with the versions of the program and of its folds.",
    ("version", "fold_version"),
    registry=REGISTRY,
)

for _outcome in (RATED, NOTED, FORWARDED):
    RECORDS.labels(_outcome, "")
for _final in ("false", "true"):
    WEEK_CLOSINGS.labels(_final)
BUILD_INFO.labels(version("ladderlog"), str(FOLD_VERSION)).set(1)


def write_audit(file: Path, differences: int, now: datetime) -> None:
    """Write how an audit ended, for the textfile collector of Prometheus' node exporter.

    The file is replaced at once or not at all. Raises OSError.
    """
    registry = CollectorRegistry()
    Gauge("ladderlog_audit_differences", "Differences that the last audit found.", registry=registry).set(
        differences
    )
    Gauge("ladderlog_audit_timestamp_seconds", "When the last audit ended.", registry=registry).set(
        now.timestamp()
    )
    write_to_textfile(str(file), registry)


class Observed(Protocol):
    """A partition as its metrics see it."""

    is_open: bool
    ladders: Ladders
    # In seconds since 1970, by the project's clock; 0 before the first.
    last_transaction: float

    @property
    def number(self) -> int:
        """Return the number of the partition."""


class Backlog(NamedTuple):
    """How much a partition is behind: committed records not done yet, and how old the first of them is."""

    records: int
    seconds: float


NO_BACKLOG = Backlog(0, 0.0)


class PartitionGauges(Collector):
    """What is so at the moment when somebody asks: of the partitions this worker owns, and their ladders."""

    def __init__(
        self,
        partitions: Callable[[], Sequence[Observed]],
        backlogs: Callable[[], Mapping[int, Backlog]],
        now: Callable[[], datetime],
    ) -> None:
        self._partitions = partitions
        self._backlogs = backlogs
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges."""
        partitions = self._partitions()
        yield GaugeMetricFamily(
            "ladderlog_partitions_owned", "Partitions that this worker owns.", len(partitions)
        )
        loaded = [partition for partition in partitions if partition.is_open]
        yield _by_partition(
            "partition_ready",
            "1 when the rows are loaded and records are taken, else 0.",
            ((partition.number, partition.is_open) for partition in partitions),
        )
        backlogs = self._backlogs()
        yield _by_partition(
            "lag_records",
            "Committed records of the input that are not done yet.",
            ((number, backlog.records) for number, backlog in backlogs.items()),
        )
        yield _by_partition(
            "lag_seconds",
            "How old the first record is, by its timestamp, that is not done yet; 0 without one.",
            ((number, backlog.seconds) for number, backlog in backlogs.items()),
        )
        yield _by_partition(
            "last_transaction_timestamp_seconds",
            "When the last transaction with records was committed, or else the rows were loaded.",
            ((partition.number, partition.last_transaction) for partition in loaded),
        )
        for name, text, of in _ROWS:
            yield _by_partition(
                name, text, ((partition.number, of(partition.ladders)) for partition in loaded)
            )
        yield self._overdue(loaded)

    def _overdue(self, partitions: Iterable[Observed]) -> GaugeMetricFamily:
        gauge = GaugeMetricFamily(
            "ladderlog_week_end_overdue_seconds",
            "For how long a week should have been closed, or closed for good; 0 when none should.",
            labels=("ladder",),
        )
        now = self._now()
        for partition in partitions:
            for ladder, seconds in partition.ladders.weeks_overdue(now).items():
                gauge.add_metric((ladder,), seconds)
        return gauge


_ROWS: tuple[tuple[str, str, Callable[[Ladders], int]], ...] = (
    ("rows", "Rows of players.", lambda ladders: ladders.players),
    ("remembered_games", "Games told from their duplicates.", lambda ladders: ladders.remembered_games),
    (
        "pending_corrections",
        "Voids and versions that no rebuild has put into force.",
        lambda ladders: ladders.pending_corrections,
    ),
)


def _by_partition(name: str, text: str, values: Iterable[tuple[int, float]]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(f"ladderlog_{name}", text, labels=("partition",))
    for number, value in values:
        gauge.add_metric((str(number),), float(value))
    return gauge


class BatchAccount:
    """What a transaction is to count, gathered while its records are folded."""

    def __init__(self) -> None:
        self._reasons: Tally[tuple[str, str]] = Tally()
        self._changes: Tally[str] = Tally()
        self._closings: Tally[bool] = Tally()

    def note(self, folded: Sequence[Folded]) -> None:
        """Take in what became of some records; once for a hundred, for all that is done here costs."""
        changes = self._changes
        for outcome, published, rejected in folded:
            if outcome is not RATED:
                self._note_other(outcome, published, rejected)
            for publication in published:
                if type(publication) is GameRated:
                    for of_system in publication.changes:
                        changes[of_system.system] += len(of_system.changes)

    def _note_other(self, outcome: str, published: Sequence[Publication], rejected: object) -> None:
        if outcome == REJECTED:
            self._reasons[outcome, getattr(rejected, "reason", "")] += 1
        elif outcome == IGNORED:
            ignored = (item for item in published if isinstance(item, GameIgnored))
            reason = next((item.reasons[0].reason for item in ignored), "")
            self._reasons[outcome, reason] += 1
        else:
            for item in published:
                # Its parts, if it has any, are one; a revision in between was closed before.
                if isinstance(item, CompetitionClosed) and (item.final or item.revision == 1):
                    self._closings[item.final] += 1
                elif isinstance(item, RatingChanged):
                    self._changes[item.system] += 1

    def commit(self, counts: OutcomeCounts, seconds: float) -> None:
        """Count what was noted, and the other outcomes of the transaction."""
        for outcome in (RATED, NOTED, FORWARDED):
            RECORDS.labels(outcome, "").inc(getattr(counts, outcome))
        for (outcome, reason), number in self._reasons.items():
            RECORDS.labels(outcome, reason).inc(number)
        for system, number in self._changes.items():
            CHANGES.labels(system).inc(number)
        for final, number in self._closings.items():
            WEEK_CLOSINGS.labels(str(final).lower()).inc(number)
        TRANSACTIONS.inc()
        TRANSACTION_GAMES.observe(counts.read)
        TRANSACTION_SECONDS.observe(seconds)
