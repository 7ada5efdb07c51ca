"""`ladderlog export`: history as a table."""

import sys

import click

from streams.cli.settings_model import command
from streams.files.jsonl import DAMAGED, open_lines
from streams.files.progress import file_progress
from streams.files.report import FileReport, LeftOut
from streams.files.tables import ENDINGS, ExportError, export_lines, open_writer


@command("export", short_help="Write rating-changed events as CSV or Parquet.")
@click.option("--out", required=True, help=f"The file: {ENDINGS}; `-` is standard output.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv", "parquet"]), help="Else by the ending.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
def export_command(file: str, out: str, form: str | None) -> None:
    """Write the rating-changed events of FILE, as `rate` prints them, as a table; `-` is standard input.

    A line that is no such event is named and left out, and the exit status is then 1.
    """
    report = FileReport(_tell)
    try:
        with (
            open_writer(out, form) as writer,
            open_lines(file) as lines,
            file_progress("export", lines, "changes") as bar,
        ):
            export_lines(lines, writer, bar, report)
    except ExportError as error:
        raise click.ClickException(str(error)) from error
    except DAMAGED as error:
        raise click.ClickException(f"{file}: the packed file is damaged: {error}") from error
    click.echo(report.summary(), err=True)
    if report.left_out:
        sys.exit(1)


def _tell(left_out: LeftOut) -> None:
    click.echo(f"line {left_out.line}: {left_out.message}", err=True)
