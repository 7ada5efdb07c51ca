"""The commands of replay: `replay`, `audit`, `snapshot` and `compare`, and how they show what comes of it."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli.deployments import deployed, deployment_by, deployment_of, is_given
from streams.cli.json_output import echo_json, json_option, named
from streams.cli.options import (
    app_id_option,
    connection_options,
    file_errors,
    gathered,
    gathered_settings,
    ladders_option,
    options,
    output_prefix_option,
    prefix_option,
    read_rules,
)
from streams.cli.settings_model import command
from streams.core.outcomes import OutcomeCounts
from streams.core.rules import LadderRules
from streams.files.progress import progress
from streams.files.tables import ExportError
from streams.replay.errors import NoPartitionError, ReplayError, RequestError
from streams.replay.positions import Position, parse_position
from streams.replay.requests import CompareRequest, Extent, Log, LogFiles, ReplayRequest, SnapshotRequest
from streams.replay.sinks import ReplayFiles
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.core.compare import Comparison
    from streams.replay.differences import AuditReport
    from streams.replay.requests import Telling
    from streams.replay.whatif import Outcome

_TITLE = "What if: ratings under other rules"


@dataclass(frozen=True)
class LogOptions:
    """Where the log is, as given."""

    settings: Settings | None
    app_id: str
    files: Sequence[str]

    def log(self) -> Log:
        """Return the log: files, when any are given. Raises click.UsageError when nothing is."""
        if self.files:
            return LogFiles(self.files, self.app_id)
        if self.settings is None:
            raise click.UsageError("say where the log is: --bootstrap-servers, or FILES")
        return deployed(self.settings)


@dataclass(frozen=True)
class _Showing:
    """How a comparison is shown."""

    top: int
    html: Path | None
    as_json: bool


class _PositionType(click.ParamType):
    name = "offset|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Position:
        try:
            return value if isinstance(value, Position) else parse_position(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _gathered_log(command: Callable[..., Any]) -> Callable[..., Any]:
    """Hand a command the options that say where the log is as its argument `log`."""

    @wraps(command)
    def call(*, app_id: str, files: Sequence[str], **given: Any) -> Any:
        def with_log(settings: Settings | None, **others: Any) -> Any:
            return command(log=LogOptions(settings, app_id, files), **others)

        return gathered_settings(with_log)(app_id=app_id, **given)

    return call


_kafka = options(connection_options(), prefix_option, output_prefix_option, app_id_option, gathered_settings)
kafka_or_files = options(
    connection_options(required=False),
    prefix_option,
    output_prefix_option,
    app_id_option,
    _gathered_log,
)
_files = click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
_snapshot = click.option(
    "--from-snapshot", "snapshot", type=click.Path(), help="Go on from the rows in this file."
)
_assume_empty = click.option(
    "--assume-empty", is_flag=True, help="Begin with nobody rated where the records begin; not exact."
)


@command("replay", short_help="Fold the log again, into events or final rows.")
@kafka_or_files
@ladders_option
@click.option("--from", "start", type=_PositionType(), help="Put out what follows from records from here on.")
@click.option("--to", "end", type=_PositionType(), help="Fold up to here, not with it; else to the end.")
@click.option("--partition", "only", multiple=True, type=click.IntRange(0), help="Only this one; repeatable.")
@_snapshot
@_assume_empty
@click.option(
    "--out", "changed", help="rating-changed events: .jsonl, .csv (both also .gz, .zst) or .parquet."
)
@click.option("--closed", help="Where competition-closed events go.")
@click.option("--ignored", help="Where game-ignored events go.")
@click.option("--rejected", help="Where rejected records go, with the reason.")
@click.option("--tables", help="Where the final rows go.")
@click.option("--processes", default=1, type=click.IntRange(1), help="That share the partitions.")
@_files
@gathered("extent", Extent)
@gathered("outputs", ReplayFiles)
def replay_command(
    log: LogOptions,
    ladders: Path,
    extent: Extent,
    outputs: ReplayFiles,
    only: Sequence[int],
    processes: int,
) -> None:
    """Fold game-finished again, from the broker or from FILES, which are one log together.

    Without --out and without other files, rating-changed events go to standard output. A replay is exact from
    the beginning of the log, or from a snapshot on; any other start has to be asked for (--assume-empty).
    Offsets hold for every partition, times are those of the records; in FILES an offset counts events.
    """
    from streams.replay.answers import replay

    where, rules = _log_and_rules(log, ladders)
    started = time.monotonic()
    with replay_errors(), told_progress("replay") as telling:
        request = ReplayRequest(rules, where, extent, outputs, only, processes)
        counts = replay(request, telling)
    sys.stdout.flush()
    _show_counts(counts, time.monotonic() - started)


@command("audit", short_help="Compare what was published with a fold of the log.")
@_kafka
@ladders_option
@_snapshot
@click.option("--limit", default=20, type=click.IntRange(0), help="Differences shown of each kind.")
@click.option(
    "--textfile",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write how it ended as metrics, for the textfile collector of Prometheus' node exporter.",
)
@json_option
def audit_command(
    settings: Settings,
    ladders: Path,
    snapshot: str | None,
    limit: int,
    textfile: Path | None,
    *,
    as_json: bool,
) -> None:
    """Fold game-finished and compare everything published, and the changelog, with what follows from it.

    Workers may run meanwhile: what they do after this began is not counted as a difference. The exit status
    is 0 when there is none, else 1.
    """
    from streams.replay.audit import AuditRequest, audit

    known = deployment_of(settings, ladders)
    request = AuditRequest(known.settings, known.rules, snapshot, limit)
    with replay_errors(), told_progress("audit", "records") as telling:
        report = asyncio.run(audit(request, telling.start))
    if textfile is not None:
        _write_metrics(textfile, report)
    if as_json:
        echo_json(_audit_fields(report))
    else:
        _show_audit(report)
    if report.totals:
        sys.exit(1)


def _write_metrics(file: Path, report: "AuditReport") -> None:
    from streams.runtime.clock import clock_of_environment
    from streams.runtime.metrics import write_audit

    with file_errors():
        write_audit(file, sum(report.totals.values()), clock_of_environment().now())


@command("snapshot", short_help="Write all rows and their offsets to a file.")
@_kafka
@ladders_option
@click.option("--out", required=True, type=click.Path(), help="The file, of JSON lines; also .gz or .zst.")
def snapshot_command(settings: Settings, ladders: Path, out: str) -> None:
    """Write the rows of every partition as of its last transaction, for `replay --from-snapshot`.

    Workers may run meanwhile.
    """
    from streams.replay.answers import take_snapshot

    known = deployment_of(settings, ladders)
    request = SnapshotRequest(known.settings, known.rules, out)
    with replay_errors(), told_progress("snapshot", "partitions") as telling:
        rows, offsets = take_snapshot(request, telling)
    click.echo(f"{rows} rows; offsets {', '.join(map(str, offsets))}", err=True)


@command("compare", short_help="What if: the same games under other rules.")
@kafka_or_files
@ladders_option
@click.option(
    "--with", "other", required=True, type=click.Path(path_type=Path), help="The other ladder file."
)
@_assume_empty
@click.option("--top", default=10, type=click.IntRange(0), help="Players shown of each system.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as a page, with graphs, too.")
@json_option
@_files
@gathered("extent", Extent)
@gathered("showing", _Showing)
def compare_command(log: LogOptions, ladders: Path, other: Path, extent: Extent, showing: _Showing) -> None:
    """Fold the log (or FILES) under the ladder file and under another, and say whose rating moves how far."""
    from streams.replay.answers import fold_twice

    others = read_rules(other)
    where, rules = _log_and_rules(log, ladders)
    with replay_errors(), told_progress("compare") as telling:
        outcomes = fold_twice(CompareRequest(rules, others, where, extent), telling)
    by_file = isinstance(where, LogFiles) or is_given("--ladders")
    before = ladders.name if by_file else "the deployment's rules"
    _show_comparisons(outcomes, f"Before: {before}. After: {other.name}.", showing)


def _log_and_rules(options: LogOptions, ladders: Path) -> tuple[Log, Mapping[str, LadderRules]]:
    """Return the log and by which rules to fold it: the file's for files, or where one is given."""
    log = options.log()
    if isinstance(log, LogFiles):
        return log, read_rules(ladders)
    known = deployment_by(log, ladders)
    return known.settings, known.rules


@contextmanager
def told_progress(what: str, unit: str = "games", delay: float = 0.0) -> Iterator["Telling"]:
    """Yield what shows the progress of one thing, in a bar from its start on, and warnings.

    There is a bar for what lasts longer than `delay`, in seconds.
    """
    from streams.replay.requests import Telling

    with ExitStack() as stack:

        def start(total: int | None) -> Callable[[int], None]:
            update: Callable[[int], None] = stack.enter_context(progress(what, total, unit, delay)).update
            return update

        yield Telling(start, lambda sentence: click.echo(sentence, err=True))


@contextmanager
def replay_errors() -> Iterator[None]:
    """Show what the user can do something about as a message."""
    from aiokafka.errors import KafkaError

    try:
        with file_errors():
            yield
    except NoPartitionError as error:
        raise click.BadParameter(str(error)) from error
    except RequestError as error:
        raise click.UsageError(str(error)) from error
    except (ReplayError, ExportError) as error:
        raise click.ClickException(str(error)) from error
    except KafkaError as error:
        raise click.ClickException(f"Kafka: {error or type(error).__name__}") from error


def _show_counts(counts: OutcomeCounts, seconds: float) -> None:
    pace = f"{seconds:.1f} s, {counts.read / max(seconds, 1e-9):,.0f} a second"
    click.echo(f"{counts.read} read: {counts.outcomes()}; {pace}", err=True)


def _audit_fields(report: "AuditReport") -> dict[str, Any]:
    """Return what an audit found, by name."""
    return {
        "differences": sum(report.totals.values()),
        "totals": {str(kind): total for kind, total in report.totals.items()},
        "shown": list(map(asdict, report.differences)),
        "notes": report.notes,
        "counts": report.counts.shown(),
        "offsets": report.offsets,
        "rows": report.rows,
        "published": report.published,
    }


def _show_audit(report: "AuditReport") -> None:
    for difference in report.differences:
        click.echo(difference.text())
    for note in report.notes:
        click.echo(f"note: {note}")
    click.echo(
        f"{report.counts.read} records read: {report.counts.outcomes()}; up to offsets "
        f"{', '.join(map(str, report.offsets))}; {report.rows} rows and {report.published} published records"
    )
    for kind, total in report.totals.items():
        click.echo(f"{total} {kind}")
    click.echo("differences were found" if report.totals else "no differences")


def _show_comparisons(outcomes: tuple["Outcome", "Outcome"], about: str, showing: _Showing) -> None:
    """Show a comparison as text or JSON, and write it as a page when one is wanted."""
    from streams.core.compare import text
    from streams.replay.page import page
    from streams.replay.whatif import comparisons, one_sided

    compared = list(comparisons(*outcomes))
    if showing.html is not None:
        with replay_errors():
            showing.html.write_text(page(_TITLE, about, compared, showing.top), encoding="utf-8")
    if showing.as_json:
        shown = [_comparison_fields(comparison, showing.top) for comparison in compared]
        echo_json({"about": about, "comparisons": shown, "one_sided": one_sided(*outcomes)})
        return
    for comparison in compared:
        click.echo(text(comparison, showing.top) + "\n")
    for line in one_sided(*outcomes):
        click.echo(line)


def _comparison_fields(comparison: "Comparison", top: int) -> dict[str, Any]:
    """Return one comparison, with the `top` players who move farthest, by name."""
    return {
        **vars(comparison),
        "players": [named(moved) for moved in comparison.players[:top]],
        "spread": None if comparison.spread is None else asdict(comparison.spread),
        "histogram": list(map(named, comparison.histogram)),
        "tally": list(map(named, comparison.tally)),
    }
