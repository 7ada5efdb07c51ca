"""`ladderlog rate`: the games of a file, rated without a broker."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from streams.cli.options import file_errors, gathered, ladders_option, read_rules
from streams.cli.settings_model import command
from streams.cli.telling import Telling
from streams.core.tally import Tally, tally_text
from streams.files.jsonl import open_lines
from streams.files.pipeline import StageError
from streams.files.progress import file_progress
from streams.files.rate import RateFiles, rate_lines
from streams.files.unapplied import Unapplied


@command("rate")
@ladders_option
@click.option("--closed", type=click.File("wb", lazy=False), help="Where competition-closed events go.")
@click.option("--ignored", type=click.File("wb", lazy=False), help="Where game-ignored events go.")
@click.option(
    "--rejected", type=click.File("wb", lazy=False), help="Where rejected lines go, with the reason."
)
@click.option("--tally", is_flag=True, help="Print how often the higher-rated won, instead of events.")
@click.option("--keep-going", is_flag=True, help="End with status 0 although lines were rejected.")
@click.argument("file")
@gathered("files", RateFiles)
def rate_command(ladders: Path, file: str, files: RateFiles, *, tally: bool, keep_going: bool) -> None:
    """Rate the games of a file without a broker; rating-changed events go to standard output.

    A line that is no valid event is named and passed over, and the exit status is then 1.
    """
    rules = read_rules(ladders)
    counted = Tally(rules) if tally else None
    unapplied = Unapplied()
    files = replace(files, changed=None if tally else sys.stdout.buffer)
    telling = Telling("--rejected", elsewhere=files.rejected is not None)
    with file_errors(), open_lines(file) as lines, file_progress("rate", lines) as bar:
        try:
            report = rate_lines(lines, rules, files, bar, counted, telling, unapplied)
        except StageError as error:
            raise click.ClickException(str(error)) from error
        sys.stdout.flush()
    telling.end()
    if counted is not None:
        click.echo(tally_text(counted))
    click.echo(
        f"{report.read} read: {report.rated} rated, {report.ignored} ignored, {report.rejected} rejected, "
        f"{report.noted} noted",
        err=True,
    )
    if unapplied.words:
        click.echo(unapplied.text(), err=True)
    if report.rejected and not keep_going:
        sys.exit(1)
