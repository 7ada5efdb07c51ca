"""Where a field stands in a record of JSON: `players.white.user.name`, `scores[].points`, `result[0]`.

`[]` means each element of a list: a field of a player. Several paths may have it, at the same lists. What
stands behind `->` is looked for elsewhere in the document: `playerRef -> players[id].name` is the name of the
one of `players` whose `id` is the record's `playerRef`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.files.report import LineError
from streams.imports.mapping import MappingError

_STEP = re.compile(r"([^.\[\]]+)|\[(\d*)\]")
_REFERENCE = re.compile(r"\s*([^\[\]]+)\[([^\[\]]+)\]\s*(?:\.(.+))?")
_EACH = ""

Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Reference:
    """A look into another list of the document: by which of its fields, and what of the element found."""

    source: Steps
    key: str
    rest: Steps


@dataclass(frozen=True)
class Path:
    """Where a value stands: the lists on the way, what comes behind the last of them, and references."""

    text: str
    lists: tuple[Steps, ...]
    rest: Steps
    references: tuple[Reference, ...] = ()


def parse_path(text: str) -> Path:
    """Return the path that a text is. Raises MappingError when it is none."""
    own, *others = text.split("->")
    *lists, rest = _split(_steps(own.strip(), text))
    return Path(text, tuple(lists), rest, tuple(_reference(other, text) for other in others))


def _reference(text: str, whole: str) -> Reference:
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise MappingError(
            f"columns: {whole!r}: behind -> there is a list and its key, as in players[id].name"
        )
    rest = _steps(match[3].strip(), whole) if match[3] is not None else ()
    if _EACH in rest:
        raise MappingError(f"columns: {whole!r}: [] has its place before ->")
    return Reference(_steps(match[1].strip(), whole), match[2].strip(), rest)


def _steps(text: str, whole: str) -> Steps:
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        if text[position] == "." and steps:
            position += 1
        match = _STEP.match(text, position)
        if match is None:
            raise MappingError(f"columns: {whole!r} is no path such as players[].name or white.username")
        if match[1] is not None:
            steps.append(match[1].strip())
        else:
            steps.append(int(match[2]) if match[2] else _EACH)
        position = match.end()
    return tuple(steps)


def _split(steps: Steps) -> Iterator[Steps]:
    """Yield the steps to each list, and those behind the last of them."""
    begin = 0
    for position, step in enumerate(steps):
        if step == _EACH:
            yield steps[begin:position]
            begin = position + 1
    yield steps[begin:]


def walk(value: Any, steps: Sequence[str | int]) -> Any:
    """Return what stands there; None when there is nothing."""
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def text_of(value: Any) -> str:
    """Return a value as a cell of a table has it. Raises ValueError for a list or an object."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise ValueError("a list" if isinstance(value, list) else "an object")


def longest_lists(paths: Sequence[Path]) -> tuple[Steps, ...]:
    """Return the lists that all paths go through. Raises MappingError when they are not the same ones."""
    longest = max(paths, key=lambda path: len(path.lists))
    for path in paths:
        if path.lists != longest.lists[: len(path.lists)]:
            raise MappingError(
                f"columns: {path.text!r} and {longest.text!r} go through different lists; "
                "the players of a game are in one"
            )
    return longest.lists


def elements(record: Any, lists: Sequence[Steps]) -> list[tuple[Any, ...]]:
    """Return for each element of the last list the elements of all lists that it is in, the record first."""
    chains: list[tuple[Any, ...]] = [(record,)]
    for steps in lists:
        inner = []
        for chain in chains:
            value = walk(chain[-1], steps)
            if value is not None and not isinstance(value, list):
                raise LineError("value", f"{_shown(steps)}: expected a list, not {value!r}")
            inner += [(*chain, element) for element in value or ()]
        chains = inner
    return chains


def _shown(steps: Steps) -> str:
    return ".".join(str(step) for step in steps) or "the record"


@dataclass
class Document:
    """The whole that records are in, for references."""

    root: Any = None
    _indexes: dict[Reference, dict[str, Any]] = field(default_factory=dict)

    def value(self, path: Path, chain: Sequence[Any]) -> Any:
        """Return what a path leads to from the elements that it goes through. Raises LineError."""
        value = walk(chain[len(path.lists)], path.rest)
        for reference in path.references:
            if value is None:
                return None
            value = self._look_up(reference, value, path)
        return value

    def _look_up(self, reference: Reference, value: Any, path: Path) -> Any:
        index = self._indexes.get(reference)
        if index is None:
            index = self._indexes[reference] = self._index(reference, path)
        referred = index.get(text_of(value))
        if referred is None:
            raise LineError("value", f"{path.text}: there is none with {reference.key} {value!r}")
        return walk(referred, reference.rest)

    def _index(self, reference: Reference, path: Path) -> dict[str, Any]:
        source = walk(self.root, reference.source)
        if not isinstance(source, list):
            raise MappingError(f"columns: {path.text!r}: the file has no list {_shown(reference.source)!r}")
        return {text_of(walk(element, (reference.key,))): element for element in source}
