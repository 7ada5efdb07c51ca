"""`ladderlog import`: CSV, JSON and PGN into JSON lines for `rate`, `produce` and `run --games`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import click

from streams.cli.import_options import ChoiceOptions, choice_options
from streams.cli.options import gathered
from streams.cli.settings_model import command
from streams.cli.suggesting import show_suggestion
from streams.cli.telling import Telling
from streams.core.ratings import SYSTEMS
from streams.files.jsonl import DAMAGED, open_lines
from streams.files.progress import file_progress
from streams.files.report import FileReport
from streams.imports.conversion import Conversion
from streams.imports.csv_games import import_csv
from streams.imports.encodings import find_encoding, looked_at, pieces_of
from streams.imports.event_sink import LineSink
from streams.imports.figures import import_ratings
from streams.imports.json_games import import_json
from streams.imports.mapping import FORMATS, ImportMapping, MappingError, parse_mapping
from streams.imports.pgn import import_pgn
from streams.imports.presets import merged, preset, read_document
from streams.imports.sorting import SortedLines
from streams.runtime.clock import clock_of_environment

_TEXT_OPTIONS = (
    "format",
    "records",
    "ladder",
    "system",
    "game_type",
    "timezone",
    "delimiter",
    "decimal",
    "encoding",
)


_IMPORTERS = {"csv": import_csv, "json": import_json, "pgn": import_pgn, "ratings": import_ratings}
_ENDINGS = {"pgn": "pgn", "json": "json", "jsonl": "json", "ndjson": "json"}


@dataclass(frozen=True)
class _MappingOptions:
    """The options that say how to read a file; `mapping` is a file that says the same."""

    preset: str | None
    presets: Path | None
    mapping: Path | None
    format: str | None
    records: str | None
    ladder: str | None
    system: str | None
    game_type: str | None
    timezone: str | None
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    no_header: bool
    time_format: Sequence[str] = ()
    columns: Sequence[str] = ()
    values: Sequence[str] = ()

    @property
    def says_columns(self) -> bool:
        """Whether somebody has said how to read the file, rightly or not."""
        return bool(self.preset or self.mapping or self.columns)

    def document(self) -> dict[str, Any]:
        """Return the document of the preset, with the mapping file's and the options put over it.

        Raises MappingError when the file cannot be read, click.BadParameter for an option.
        """
        document: dict[str, Any] = {} if self.preset is None else preset(self.preset, self.presets)
        if self.mapping is not None:
            document = merged(document, _read_document(self.mapping))
        document |= {key: text for key in _TEXT_OPTIONS if (text := getattr(self, key)) is not None}
        if self.time_format:
            document["time_format"] = list(self.time_format)
        if self.no_header:
            document["header"] = False
        columns = _column_options(self.columns)
        if columns:
            document["columns"] = {**document.get("columns", {}), **columns}
        if self.values:
            document["values"] = _with_values(document.get("values", {}), self.values)
        return document


@dataclass(frozen=True)
class _Job:
    """Which file to read, whether it has figures or games, and whether these are sorted afterwards."""

    file: str
    ratings: bool
    sort: bool

    def run(self, mapping: ImportMapping, out: IO[bytes], report: FileReport) -> None:
        """Write the file's events as lines."""
        if not self.sort:
            self._convert(mapping, out, report)
            return
        sorted_lines = SortedLines(out, report)
        self._convert(mapping, sorted_lines, report)
        sorted_lines.finish()

    def run_or_show_how(
        self, options: _MappingOptions, choices: ChoiceOptions, out: IO[bytes], report: FileReport
    ) -> None:
        """Write the file's events; where nobody has said how, and it does not say so itself, tell how to."""
        document = choices.over(options.document())
        try:
            self.run(parse_mapping(document), out, report)
        except MappingError as error:
            if self.ratings or self.file == "-" or options.says_columns:
                raise
            click.echo(f"Error: {self.file}: {error}", err=True)
            show_suggestion(self.file, document, options.presets, _format(self.file))
            sys.exit(1)

    def _convert(self, mapping: ImportMapping, out: LineSink, report: FileReport) -> None:
        with open_lines(self.file) as file, file_progress("import", file, "records") as bar:
            mapping, lines = self._in_encoding(mapping, file, report)
            conversion = Conversion(
                lines,
                mapping,
                out,
                bar,
                report,
                _stem(self.file),
                ordered=self.sort,
                now=clock_of_environment().now().timestamp(),
            )
            _IMPORTERS["ratings" if self.ratings else mapping.format or _format(self.file)](conversion)

    def _in_encoding(
        self, mapping: ImportMapping, lines: IO[bytes], report: FileReport
    ) -> tuple[ImportMapping, IO[bytes]]:
        """Return the mapping with the file's encoding, if nobody says another, and the file to be read."""
        if mapping.encoding_given:
            return mapping, lines
        if self.file == "-":
            encoding, lines = looked_at(lines)
        else:
            with open_lines(self.file) as first:
                encoding = find_encoding(pieces_of(first))
        if encoding.note is not None:
            report.note(encoding.note, encoding.line)
        return replace(mapping, encoding=encoding.name), lines


@command("import", short_help="Make JSON lines of games in CSV, JSON or PGN, or of starting figures.")
@click.option("--preset", help="A mapping that comes along, such as lichess or bgstats.")
@click.option(
    "--presets",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="LADDERLOG_PRESETS",
    show_envvar=True,
    help="A folder with mappings of yours, by name.",
)
@click.option("--format", type=click.Choice(FORMATS), help="Else by the file's ending.")
@click.option("--records", metavar="PATH", help="Of JSON: where the list of games stands.")
@click.option("--ratings", is_flag=True, help="The CSV has players' starting figures, not games.")
@click.option("--ladder", help="The games' ladder, unless a column says it.")
@click.option(
    "--system",
    type=click.Choice(list(SYSTEMS)),
    help="With --ratings: the system that the figures start.",
)
@click.option("--game-type", help="The games' type, unless a column says it.")
@click.option(
    "--mapping", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A TOML file of all this."
)
@click.option(
    "--map", "columns", multiple=True, metavar="FIELD=COLUMN", help="A field's column, or #N; repeatable."
)
@click.option(
    "--value", "values", multiple=True, metavar="FIELD:TEXT=MEANING", help="What a cell's text stands for."
)
@choice_options
@click.option("--timezone", help="Of times without a UTC offset; UTC when not given.")
@click.option(
    "--time-format", multiple=True, metavar="FORMAT", help="iso, unix, unix-ms, or as '%d/%m/%Y %H:%M'."
)
@click.option("--delimiter", help="Between cells; else the one the first line has most of.")
@click.option("--decimal", type=click.Choice([".", ","]), help="Of numbers; '.' when not given.")
@click.option("--encoding", help="Such as cp1252; when not given, it is looked for.")
@click.option("--no-header", is_flag=True, help="The first line is data; columns are #1, #2 …")
@click.option("--out", type=click.File("wb", lazy=False), default="-", help="Where the lines go.")
@click.option("--sort", is_flag=True, help="Write games by when they ended.")
@click.option(
    "--left-out", type=click.File("wb", lazy=False), help="Where what is left out goes, with the reason."
)
@click.option("--keep-going", is_flag=True, help="End with status 0 although something was left out.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@gathered("mapping", _MappingOptions)
@gathered("choices", ChoiceOptions)
def import_command(
    file: str,
    mapping: _MappingOptions,
    choices: ChoiceOptions,
    *,
    ratings: bool,
    out: IO[bytes],
    sort: bool,
    left_out: IO[bytes] | None,
    keep_going: bool,
) -> None:
    """Make JSON lines of the games in FILE: CSV, JSON or PGN, also .gz and .zst; `-` is standard input.

    \b
    Fields of a game: game_id, ladder, game_type, started_at, ended_at, rated,
    and of its players, one row per game: player1, rank1, points1, team1, left1,
    left_at1, player2 …; result for two players or teams; winner, and loser;
    one row per player: player, rank …
    Fields of --ratings: player, rating, games, week.
    A field that is not mapped is taken from the column of its own name. In JSON a column
    is a path: white.username, players[].name, players[].ref -> people[id].name.

    Of a file that says too little by itself, the command is printed that would read it.
    What cannot be read is named by its line and left out, and the exit status is then 1.
    """  # noqa: D301 - click takes the escape as: leave these lines as they are
    job = _Job(file, ratings, sort)
    telling = Telling("--left-out", left_out, source=file)
    report = FileReport(telling)
    with _readable(file):
        job.run_or_show_how(mapping, choices, out, report)
    out.flush()
    telling.end()
    click.echo(report.summary(), err=True)
    if report.left_out and not keep_going:
        sys.exit(1)


@contextmanager
def _readable(file: str) -> Iterator[None]:
    """Turn what stops an import into a message."""
    try:
        yield
    except MappingError as error:
        raise click.ClickException(f"{file}: {error}") from error
    except DAMAGED as error:
        raise click.ClickException(f"{file}: the packed file is damaged: {error}") from error


def _read_document(file: Path) -> dict[str, Any]:
    try:
        return read_document(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise MappingError(f"{file}: {error}") from error


def _column_options(options: Sequence[str]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for option in options:
        name, equals, column = option.partition("=")
        if not equals:
            raise click.BadParameter(f"{option!r} is not FIELD=COLUMN", param_hint="--map")
        columns.setdefault(name.strip(), []).append(column.strip())
    return columns


def _with_values(values: dict[str, Any], options: Sequence[str]) -> dict[str, Any]:
    """Return a mapping's tables of values with those of the options added."""
    tables = {name: dict(table) for name, table in values.items()}
    for option in options:
        name, colon, rest = option.partition(":")
        text, equals, meaning = rest.rpartition("=")
        if not colon or not equals:
            raise click.BadParameter(f"{option!r} is not FIELD:TEXT=MEANING", param_hint="--value")
        tables.setdefault(name.strip(), {})[text] = meaning
    return tables


def _format(file: str) -> str:
    return _ENDINGS.get(_unpacked(file).lower().rpartition(".")[2], "csv")


def _unpacked(file: str) -> str:
    return file.removesuffix(".gz").removesuffix(".zst")


def _stem(file: str) -> str:
    """Return what begins the ids of games without one, short enough for a line number behind it."""
    name = "import" if file == "-" else Path(_unpacked(file)).stem
    return "".join(character if character.isprintable() else "_" for character in name)[:100]
