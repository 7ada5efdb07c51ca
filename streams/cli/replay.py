"""The commands of replay: `replay`, `audit`, `snapshot` and `compare`, as the command line has them."""

# What they do is imported when they do it: Kafka is slow to import, and other commands need it not.
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Any

import click

from streams.cli.options import (
    app_id_option,
    bootstrap_option,
    ladders_option,
    options,
    output_prefix_option,
    prefix_option,
    read_rules,
)
from streams.replay.positions import Position, parse_position

_kafka = options(bootstrap_option(), prefix_option, output_prefix_option, app_id_option)
_kafka_or_files = options(
    bootstrap_option(required=False), prefix_option, output_prefix_option, app_id_option
)
_files = click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
_snapshot = click.option(
    "--from-snapshot", "snapshot", type=click.Path(), help="Go on from the rows in this file."
)
_assume_empty = click.option(
    "--assume-empty", is_flag=True, help="Begin with nobody rated where the records begin; not exact."
)


class _Place(click.ParamType):
    name = "offset|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Position:
        try:
            return value if isinstance(value, Position) else parse_position(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command("replay", short_help="Fold the log again, into events or final rows.")
@_kafka_or_files
@ladders_option
@click.option("--from", "start", type=_Place(), help="Put out what follows from records from here on.")
@click.option("--to", "end", type=_Place(), help="Fold up to here, not with it; else to the end.")
@click.option(
    "--partition", "partitions", multiple=True, type=click.IntRange(0), help="Only this one; repeatable."
)
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
def replay_command(**given: Any) -> None:
    """Fold game-finished again, from the broker or from FILES, which are one log together.

    Without --out and without other files, rating-changed events go to standard output. A replay is exact from
    the beginning of the log, or from a snapshot on; any other start has to be asked for (--assume-empty).
    Offsets hold for every partition, times are those of the records; in FILES an offset counts events.
    """
    from streams.cli.replay_actions import replay

    replay(read_rules(given.pop("ladders")), given)


@click.command("audit", short_help="Compare what was published with a fold of the log.")
@_kafka
@ladders_option
@_snapshot
@click.option("--limit", default=20, type=click.IntRange(0), help="Differences shown of each kind.")
def audit_command(ladders: Path, snapshot: str | None, limit: int, **kafka: Any) -> None:
    """Fold game-finished and compare everything published, and the changelog, with what follows from it.

    Workers may run meanwhile: what they do after this began is not counted as a difference. The exit status
    is 0 when there is none, else 1.
    """
    from streams.cli.replay_actions import audited
    from streams.replay.audit import AuditRequest
    from streams.runtime.settings import Settings

    audited(AuditRequest(Settings(**kafka), read_rules(ladders), snapshot, limit))


@click.command("snapshot", short_help="Write all rows and their offsets to a file.")
@_kafka
@ladders_option
@click.option("--out", required=True, type=click.Path(), help="The file, of JSON lines; also .gz or .zst.")
def snapshot_command(ladders: Path, out: str, **kafka: Any) -> None:
    """Write the rows of every partition as of its last transaction, for `replay --from-snapshot`.

    Workers may run meanwhile.
    """
    from streams.cli.replay_actions import take_snapshot
    from streams.runtime.settings import Settings

    take_snapshot(Settings(**kafka), read_rules(ladders), out)


@click.command("compare", short_help="What if: the same games under other rules.")
@_kafka_or_files
@ladders_option
@click.option(
    "--with", "other", required=True, type=click.Path(path_type=Path), help="The other ladder file."
)
@_assume_empty
@click.option("--top", default=10, type=click.IntRange(0), help="Players shown of each system.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as a page, with graphs, too.")
@_files
def compare_command(ladders: Path, other: Path, top: int, html: Path | None, **given: Any) -> None:
    """Fold the log (or FILES) under the ladder file and under another, and say whose rating moves how far."""
    from streams.cli.replay_actions import compared, show_comparisons

    outcomes = compared(read_rules(ladders), read_rules(other), given)
    show_comparisons(outcomes, f"Before: {ladders.name}. After: {other.name}.", top, html)
