"""What the commands of replay do, from their options to their reports."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from aiokafka.errors import KafkaError

from streams.cli.options import file_errors
from streams.core.compare import text
from streams.core.outcomes import OutcomeCounts
from streams.files.progress import progress
from streams.files.tables import ExportError
from streams.replay.audit import AuditReport, AuditRequest, audit
from streams.replay.errors import ReplayError
from streams.replay.files import replay_lines
from streams.replay.folding import Rules
from streams.replay.log import partition_count, read_bounds
from streams.replay.offset_ranges import OffsetRange, exact_ranges, fresh_ranges
from streams.replay.page import page
from streams.replay.positions import Position
from streams.replay.sinks import FileSink, ReplayFiles, describe_line
from streams.replay.snapshot import Header, described, read_header, read_offsets, write_snapshot
from streams.replay.topic import Job, replay_topic
from streams.replay.whatif import Outcome, comparisons, one_sided, outcome_of_files, outcome_of_topic
from streams.runtime.changelog import PartitionState, read_state
from streams.runtime.settings import Settings

_STANDARD = "-"
_TITLE = "What if: ratings under other rules"

Given = Mapping[str, Any]


def replay(rules: Rules, given: Given) -> None:
    """Replay as asked, and tell the account of it."""
    wanted = ReplayFiles(**{name: given[name] for name in vars(ReplayFiles())})
    if not wanted.by_content():
        wanted = replace(wanted, changed=_STANDARD)
    started = time.monotonic()
    with _errors():
        counts = (_replay_files if given["files"] else _replay_topic)(rules, wanted, given)
    sys.stdout.flush()
    _tell_counts(counts, time.monotonic() - started)


def audited(request: AuditRequest) -> None:
    """Audit, show what was found, and end with status 1 when that is any difference."""
    with _errors(), ExitStack() as stack:

        def start(total: int) -> Callable[[int], None]:
            update: Callable[[int], None] = stack.enter_context(progress("audit", total, "records")).update
            return update

        report = asyncio.run(audit(request, start))
    _show_audit(report)
    if report.totals:
        sys.exit(1)


def take_snapshot(settings: Settings, rules: Rules, out: str) -> None:
    """Write the rows of every partition, one after the other."""
    offsets: list[int] = []

    def states(count: int) -> Iterator[PartitionState]:
        with progress("snapshot", count, "partitions") as bar:
            for partition in range(count):
                state = asyncio.run(read_state(settings, partition))
                offsets.append(state.offset)
                yield state
                bar.update(1)

    with _errors():
        count = asyncio.run(partition_count(settings, settings.changelog_topic))
        header = Header(settings.app_id, settings.input_topic, count, described(rules))
        rows = write_snapshot(out, header, states(count))
    click.echo(f"{rows} rows; offsets {', '.join(map(str, offsets))}", err=True)


def compared(rules: Rules, others: Rules, given: Given) -> tuple[Outcome, Outcome]:
    """Fold the log, or files, under both sets of rules."""
    with _errors():
        return (_compare_files if given["files"] else _compare_topic)(rules, others, given)


def show_comparisons(outcomes: tuple[Outcome, Outcome], about: str, top: int, html: Path | None) -> None:
    """Show a comparison as text, and as a page when one is wanted."""
    found = list(comparisons(*outcomes))
    if html is not None:
        with _errors():
            html.write_text(page(_TITLE, about, found, top), encoding="utf-8")
    for comparison in found:
        click.echo(text(comparison, top) + "\n")
    for line in one_sided(*outcomes):
        click.echo(line)


@contextmanager
def _errors() -> Iterator[None]:
    """Show what the user can do something about as a message."""
    try:
        with file_errors():
            yield
    except (ReplayError, ExportError) as error:
        raise click.ClickException(str(error)) from error
    except KafkaError as error:
        raise click.ClickException(f"Kafka: {error or type(error).__name__}") from error


def _settings(given: Given) -> Settings:
    if given["bootstrap_servers"] is None:
        raise click.UsageError("say where the log is: --bootstrap-servers, or FILES")
    names = ("bootstrap_servers", "topic_prefix", "output_prefix", "app_id")
    return Settings(**{name: given[name] for name in names})


def _replay_files(rules: Rules, wanted: ReplayFiles, given: Given) -> OutcomeCounts:
    if given["snapshot"] is not None or given["partitions"]:
        raise click.UsageError(
            "--from-snapshot and --partition are for a log on a broker; files have neither"
        )
    start, end = (_event_number(given[name]) for name in ("start", "end"))
    if start and not given["assume_empty"]:
        raise ReplayError(
            f"a replay from event {start} on needs the ratings of before: leave --from out for an exact "
            f"replay, or begin with nobody rated, --assume-empty"
        )
    with FileSink(wanted.by_content(), describe_line) as sink, progress("replay") as bar:
        fold = replay_lines(
            given["files"],
            rules,
            given["app_id"],
            sink,
            window=(start or 0, end),
            keep_rows=wanted.tables is not None,
            advance=bar.update,
        )
        sink.write_rows(fold.rows())
    return fold.counts


def _event_number(position: Position | None) -> int | None:
    if position is not None and position.offset is None:
        raise click.UsageError(f"{position.text}: files have no times of records; give a number of events")
    return None if position is None else position.offset


def _replay_topic(rules: Rules, wanted: ReplayFiles, given: Given) -> OutcomeCounts:
    settings = _settings(given)
    count = asyncio.run(partition_count(settings, settings.input_topic))
    partitions = sorted(set(given["partitions"])) or list(range(count))
    if partitions[-1] >= count:
        raise click.BadParameter(f"{settings.input_topic} has {count} partitions, and no {partitions[-1]}")
    if given["snapshot"] is not None:
        if given["assume_empty"]:
            raise click.UsageError("--assume-empty and --from-snapshot exclude each other")
        read_header(given["snapshot"]).check(settings.input_topic, count, rules)
    ranges = _ranges(settings, partitions, given)
    job = Job(settings, rules, given["snapshot"])
    with progress("replay", sum(found.end - found.start for found in ranges)) as bar:
        return replay_topic(job, ranges, wanted, given["processes"], bar.update)


def _ranges(settings: Settings, partitions: Sequence[int], given: Given) -> list[OffsetRange]:
    bounds = asyncio.run(read_bounds(settings, partitions, given.get("start"), given.get("end")))
    snapshot = given.get("snapshot")
    if not given["assume_empty"]:
        return exact_ranges(bounds, None if snapshot is None else read_offsets(snapshot))
    ranges = fresh_ranges(bounds)
    for found in ranges:
        if found.start > 0:
            click.echo(
                f"partition {found.partition}: nobody is rated before offset {found.start}; ratings, "
                f"sequences and statistics are not those of the whole log",
                err=True,
            )
    return ranges


def _compare_files(rules: Rules, others: Rules, given: Given) -> tuple[Outcome, Outcome]:
    files, app_id = given["files"], given["app_id"]
    if _STANDARD in files:
        raise ReplayError("standard input can be read once, and a comparison folds twice; give a file")
    with progress("compare") as bar:
        before = outcome_of_files(files, rules, app_id, bar.update)
        return before, outcome_of_files(files, others, app_id, bar.update)


def _compare_topic(rules: Rules, others: Rules, given: Given) -> tuple[Outcome, Outcome]:
    settings = _settings(given)
    count = asyncio.run(partition_count(settings, settings.input_topic))
    ranges = _ranges(settings, range(count), given)
    with progress("compare", 2 * sum(found.end - found.start for found in ranges)) as bar:
        before = outcome_of_topic(settings, rules, ranges, bar.update)
        return before, outcome_of_topic(settings, others, ranges, bar.update)


def _tell_counts(counts: OutcomeCounts, seconds: float) -> None:
    pace = f"{seconds:.1f} s, {counts.read / max(seconds, 1e-9):,.0f} a second"
    click.echo(f"{counts.read} read: {counts.outcomes()}; {pace}", err=True)


def _show_audit(report: AuditReport) -> None:
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
