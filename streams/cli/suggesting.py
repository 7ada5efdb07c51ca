"""Shows how a file could be imported that nobody has said how to read: the command, and its first games."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from streams.files.jsonl import open_lines
from streams.imports.mapping import MappingError
from streams.imports.wizard import Suggestion, suggest

_SHOWN_WIDTH = 100
_OPTIONS = ("format", "ladder", "time_format")


def show_suggestion(file: str, given: Mapping[str, Any], folder: Path | None, endings: str) -> None:
    """Say on standard error which command would import a file, or why that cannot be told.

    `endings` is the format that the file's name tells.
    """
    try:
        with open_lines(file) as lines:
            suggestion = suggest(file, lines, given, folder)
    except MappingError as error:
        click.echo(f"How it could be read cannot be told from the file: {error}", err=True)
        return
    for line in _described(suggestion, file, given, endings):
        click.echo(line, err=True)


def _described(suggestion: Suggestion, file: str, given: Mapping[str, Any], endings: str) -> Iterator[str]:
    yield ""
    yield "Nothing was written. By the look of the file, this would import it:"
    yield ""
    yield from _wrapped(["ladderlog", "import", file, *_options(suggestion, given, endings)])
    yield ""
    yield from (f"  {line}" for line in suggestion.guess.recognised)
    yield "The first games, as it understands them:"
    yield from (f"  {line}" for line in suggestion.examples)
    if suggestion.guess.remarks:
        yield "Before you run it:"
        yield from (f"  {line}" for line in suggestion.guess.remarks)


def _options(suggestion: Suggestion, given: Mapping[str, Any], endings: str) -> Iterator[str]:
    """Yield the options that say what is given, and what was guessed."""
    guess = suggestion.guess
    if guess.preset is not None:
        yield f"--preset {shlex.quote(guess.preset)}"
    document = {**given, **guess.document}
    for key, value in sorted(document.items(), key=lambda item: item[0] != "ladder"):
        if key == "header" and value is False:
            yield "--no-header"
        elif isinstance(value, str) and not (key == "format" and (value == endings or guess.preset)):
            yield f"--{key.replace('_', '-')} {shlex.quote(value)}"
    for name, columns in document.get("columns", {}).items():
        for column in [columns] if isinstance(columns, str) else columns:
            yield f"--map {shlex.quote(f'{name}={column}')}"
    for name, words in document.get("values", {}).items():
        for text, meaning in words.items():
            yield f"--value {shlex.quote(f'{name}:{text}={meaning}')}"


def _wrapped(words: list[str]) -> Iterator[str]:
    """Yield a command in lines that a shell takes as one."""
    line = " "
    for number, word in enumerate(words):
        shown = shlex.quote(word) if number in (1, 2) else word
        if len(line) + len(shown) > _SHOWN_WIDTH:
            yield f"{line} \\"
            line = "     "
        line += f" {shown}"
    yield line
