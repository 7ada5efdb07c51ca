"""The options of `import` that say what becomes of a game, whatever the format of its file."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from streams.cli.options import options
from streams.imports.mapping import MappingError

_PAIR = 2


@dataclass(frozen=True)
class ChoiceOptions:
    """Which games are written, and how their players are called; None for what was not said."""

    rated: str | None
    forfeits: str | None
    partial_dates: str | None
    without_result: str | None
    comment: str | None
    aliases: Path | None
    trim: bool
    nfc: bool
    casefold: bool
    constants: Sequence[str] = ()
    skip: Sequence[str] = ()
    only: Sequence[str] = ()

    def over(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a mapping's document with these put over it.

        Raises MappingError for a file of aliases that cannot be read, click.BadParameter for an option.
        """
        said = {
            "forfeits": self.forfeits,
            "partial_dates": self.partial_dates,
            "without_result": self.without_result,
            "comment": self.comment,
            "rated": None if self.rated is None else self.rated == "yes",
            **{name: True for name in ("trim", "nfc", "casefold") if getattr(self, name)},
        }
        document = {**document, **{name: value for name, value in said.items() if value is not None}}
        for key, given in (("set", self.constants), ("skip", self.skip), ("only", self.only)):
            if given:
                pairs = _pairs(f"--{key}", given)
                table = {name: texts[-1] for name, texts in pairs.items()} if key == "set" else pairs
                document[key] = {**document.get(key, {}), **table}
        if self.aliases is not None:
            document["aliases"] = {**document.get("aliases", {}), **_read_aliases(self.aliases)}
        return document


choice_options: Callable[[Any], Any] = options(
    click.option(
        "--set", "constants", multiple=True, metavar="FIELD=VALUE", help="Of every game; repeatable."
    ),
    click.option(
        "--skip", multiple=True, metavar="COLUMN=TEXT", help="Leave rows with this aside; of PGN, a tag."
    ),
    click.option("--only", multiple=True, metavar="COLUMN=TEXT", help="Take rows with this alone."),
    click.option("--comment", metavar="TEXT", help="What lines begin with that are none of the table."),
    click.option("--rated", type=click.Choice(["yes", "no"]), help="Of every game, whatever the file says."),
    click.option(
        "--forfeits",
        type=click.Choice(["rated", "unrated", "skip"]),
        help="Games decided without being played; unrated when not given.",
    ),
    click.option(
        "--partial-dates",
        type=click.Choice(["start", "end", "skip"]),
        help="Take dates such as 1997.05.?? as their first or last day; left out when not given.",
    ),
    click.option(
        "--without-result",
        type=click.Choice(["leave-out", "keep"]),
        help="Games of which nobody knows who won; left out when not given.",
    ),
    click.option("--trim", is_flag=True, help="Of players' names: no spaces around, one between."),
    click.option("--nfc", is_flag=True, help="Of players' names: é is one character, however it is written."),
    click.option("--casefold", is_flag=True, help="Of players' names: small letters."),
    click.option(
        "--aliases",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="A CSV of two columns: a name, and whose it is.",
    ),
)


def _pairs(option: str, given: Iterable[str]) -> dict[str, list[str]]:
    pairs: dict[str, list[str]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"{text!r} is not NAME=TEXT", param_hint=option)
        pairs.setdefault(name.strip(), []).append(value.strip())
    return pairs


def _read_aliases(file: Path) -> dict[str, str]:
    """Return names and whose they are. Raises MappingError, which names the file and the line."""
    aliases: dict[str, str] = {}
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, strict=True)
            for row in reader:
                if any(name.strip() for name in row):
                    _take_alias(aliases, row, f"{file}, line {reader.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MappingError(f"{file}: {error}") from error
    return aliases


def _take_alias(aliases: dict[str, str], row: Sequence[str], where: str) -> None:
    names = [name.strip() for name in row]
    if len(names) != _PAIR or not all(names):
        raise MappingError(f"{where}: expected a name and whose it is, not {row}")
    if aliases.setdefault(names[0], names[1]) != names[1]:
        raise MappingError(f"{where}: {names[0]!r} is {aliases[names[0]]!r} already")
