"""Every metric of a worker, as Prometheus reads it: declared here, and nowhere else.

Seconds and records, counters that end in `_total`. No label is a player or a game: there are too many. What
follows from records is counted once for a batch, when its transaction is committed.
"""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
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


class Description(NamedTuple):
    """What a metric is, for its page."""

    name: str
    kind: str
    labels: Sequence[str]
    text: str


# In the order of declaration.
DESCRIPTIONS: list[Description] = []


def _counter(name: str, text: str, *labels: str) -> Counter:
    DESCRIPTIONS.append(Description(f"{name}_total", "counter", labels, text))
    return Counter(name, text, labels, registry=REGISTRY)


def _histogram(name: str, text: str, buckets: Sequence[float]) -> Histogram:
    DESCRIPTIONS.append(Description(name, "histogram", (), text))
    return Histogram(name, text, buckets=buckets, registry=REGISTRY)


def _gauge(name: str, text: str, *labels: str) -> Callable[[], GaugeMetricFamily]:
    """Declare a gauge, and return what makes it anew whenever somebody asks."""
    DESCRIPTIONS.append(Description(name, "gauge", labels, text))
    return lambda: GaugeMetricFamily(name, text, labels=labels)


RECORDS = _counter(
    "ladderlog_records",
    "Records read, by what became of them; with a reason where they were ignored or rejected.",
    "outcome",
    "reason",
)
CHANGES = _counter("ladderlog_changes_published", "Rating changes published.", "system")
WEEK_CLOSINGS = _counter(
    "ladderlog_week_closings",
    "Weeks closed, and closed for good (final); those published again in between are not counted.",
    "final",
)
TRANSACTIONS = _counter("ladderlog_transactions", "Transactions with records, committed.")
TRANSACTION_GAMES = _histogram(
    "ladderlog_transaction_games",
    "Records of a transaction.",
    (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000),
)
TRANSACTION_SECONDS = _histogram(
    "ladderlog_transaction_seconds",
    "From the first record folded to the commit, for a transaction.",
    (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
)
LOADING_SECONDS = _histogram(
    "ladderlog_loading_seconds",
    "From beginning to own a partition to the first record, for a partition.",
    (0.1, 0.3, 1, 3, 10, 30, 100, 300),
)
REBALANCES = _counter(
    "ladderlog_rebalances", "Times the group gave this worker its partitions, or none, anew."
)
FENCINGS = _counter(
    "ladderlog_fencings",
    "Times another process took a partition of this worker over while it ran; kept over its restarts.",
)
_OWNED = _gauge("ladderlog_partitions_owned", "Partitions that this worker owns.")
_READY = _gauge(
    "ladderlog_partition_ready", "1 when the rows are loaded and records are taken, else 0.", "partition"
)
_LAG_RECORDS = _gauge(
    "ladderlog_lag_records", "Committed records of the input that are not done yet.", "partition"
)
_LAG_SECONDS = _gauge(
    "ladderlog_lag_seconds",
    "How old the first record is, by its timestamp, that is not done yet; 0 without one.",
    "partition",
)
_LAST_TRANSACTION = _gauge(
    "ladderlog_last_transaction_timestamp_seconds",
    "When the last transaction with records was committed, or else the rows were loaded.",
    "partition",
)
_ROWS = _gauge("ladderlog_rows", "Rows of players.", "partition")
_REMEMBERED = _gauge("ladderlog_remembered_games", "Games told from their duplicates.", "partition")
_PENDING = _gauge(
    "ladderlog_pending_corrections", "Voids and versions that no rebuild has put into force.", "partition"
)
_OVERDUE = _gauge(
    "ladderlog_week_end_overdue_seconds",
    "For how long a week should have been closed, or closed for good; 0 when none should.",
    "ladder",
)
_BUILD_INFO = _gauge(
    "ladderlog_build_info", "1, with the versions of the program and of its folds.", "version", "fold_version"
)
_AUDIT_DIFFERENCES = _gauge("ladderlog_audit_differences", "Differences that the last audit found.")
_AUDIT_ENDED = _gauge("ladderlog_audit_timestamp_seconds", "When the last audit ended.")

for _outcome in (RATED, NOTED, FORWARDED):
    RECORDS.labels(_outcome, "")
for _final in ("false", "true"):
    WEEK_CLOSINGS.labels(_final)


def write_audit(file: Path, differences: int, now: datetime) -> None:
    """Write how an audit ended, for the textfile collector of Prometheus' node exporter.

    The file is replaced at once or not at all. Raises OSError.
    """
    registry = CollectorRegistry()
    registry.register(_Fixed([(_AUDIT_DIFFERENCES, differences), (_AUDIT_ENDED, now.timestamp())]))
    write_to_textfile(str(file), registry)


class _Fixed(Collector):
    """Gauges of which nothing will change."""

    def __init__(self, values: Sequence[tuple[Callable[[], GaugeMetricFamily], float]]) -> None:
        self._values = values

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges."""
        for new_gauge, value in self._values:
            yield _filled(new_gauge, [((), value)])


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
        # Read from the installed files once, not whenever somebody asks.
        self._build = (version("ladderlog"), str(FOLD_VERSION))

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges."""
        partitions = self._partitions()
        loaded = [partition for partition in partitions if partition.is_open]
        backlogs = self._backlogs()
        yield _filled(_OWNED, [((), len(partitions))])
        yield _by_partition(_READY, ((partition.number, partition.is_open) for partition in partitions))
        yield _by_partition(_LAG_RECORDS, ((number, lag.records) for number, lag in backlogs.items()))
        yield _by_partition(_LAG_SECONDS, ((number, lag.seconds) for number, lag in backlogs.items()))
        yield _by_partition(
            _LAST_TRANSACTION, ((partition.number, partition.last_transaction) for partition in loaded)
        )
        yield _by_partition(_ROWS, ((partition.number, partition.ladders.players) for partition in loaded))
        yield _by_partition(
            _REMEMBERED, ((partition.number, partition.ladders.remembered_games) for partition in loaded)
        )
        yield _by_partition(
            _PENDING, ((partition.number, partition.ladders.pending_corrections) for partition in loaded)
        )
        now = self._now()
        overdue = [partition.ladders.weeks_overdue(now) for partition in loaded]
        yield _filled(
            _OVERDUE, [((ladder,), seconds) for known in overdue for ladder, seconds in known.items()]
        )
        yield _filled(_BUILD_INFO, [(self._build, 1)])


def _by_partition(
    new_gauge: Callable[[], GaugeMetricFamily], values: Iterable[tuple[int, float]]
) -> GaugeMetricFamily:
    return _filled(new_gauge, (((str(number),), value) for number, value in values))


def _filled(
    new_gauge: Callable[[], GaugeMetricFamily], values: Iterable[tuple[Sequence[str], float]]
) -> GaugeMetricFamily:
    gauge = new_gauge()
    for labels, value in values:
        gauge.add_metric(labels, float(value))
    return gauge


class BatchAccount:
    """What a transaction is to count, gathered while its records are folded."""

    def __init__(self) -> None:
        self._reasons: Tally[tuple[str, str]] = Tally()
        self._changes: defaultdict[str, int] = defaultdict(int)
        self._closings: Tally[bool] = Tally()

    def note(self, folded: Sequence[Folded]) -> None:
        """Take in what became of some records; once for a hundred, for all that is done here costs."""
        changes = self._changes
        rated = [item for _, published, _ in folded for item in published if type(item) is GameRated]
        for game in rated:
            for made in game.changes:
                changes[made.system] += len(made.changes)
        if len(rated) < len(folded):
            for outcome, published, rejected in folded:
                if outcome is not RATED:
                    self._note_other(outcome, published, rejected)

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
