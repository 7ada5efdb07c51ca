"""The tags of PGN games, one game after the other, without looking at the moves.

A reader of our own, because the package that has one is under the GPL and gives no line numbers.
Tags are `[Name "value"]` at the start of a line, outside comments; quotes within a value need no backslash,
for many files have none. A `[Event` tag begins a game even where a comment was never closed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from streams.files.report import LineError

_NAME = r"\[\s*([A-Za-z0-9][\w+#=:-]*)\s+"
_TAG = re.compile(_NAME + r'"(.*)"\s*\]\s*')
_TAGS = re.compile(_NAME + r'"((?:[^"\\]|\\.)*)"\s*\]')
_ESCAPED = re.compile(r'\\(["\\])')
_BOM = b"\xef\xbb\xbf"


@dataclass
class Tag:
    """A tag's value and its line."""

    value: str
    line: int


@dataclass
class TagSection:
    """What a game says of itself; `fault` is the first line of it that is no tag."""

    line: int
    tags: dict[str, Tag] = field(default_factory=dict)
    fault: LineError | None = None

    def text(self, name: str) -> str | None:
        """Return a tag's value; None when it is absent, empty or says that it is not known."""
        tag = self.tags.get(name)
        return None if tag is None or tag.value in {"", "?", "-"} else tag.value

    def error(self, reason: str, name: str, message: str) -> LineError:
        """Return an error that names a tag and its value."""
        tag = self.tags.get(name)
        if tag is None:
            return LineError(reason, f"[{name}]: {message}", self.line)
        return LineError(reason, f"[{name} {tag.value!r}]: {message}", tag.line)


def read_tag_sections(lines: Iterable[bytes], encoding: str) -> Iterator[TagSection]:
    """Yield every game's tags. A tag that is not text in the encoding, or not a tag, is the game's fault."""
    game: TagSection | None = None
    moves = blank = in_comment = False
    for number, raw in enumerate(lines, 1):
        line = raw.removeprefix(_BOM) if number == 1 else raw
        if line[:1] == b"[" and (not in_comment or line.startswith(b'[Event "')):
            section = _read_tags(line, number, encoding)
            if game is None:
                game = section
            elif moves or _begins(section, game, blank=blank):
                yield game
                game = section
            else:
                game.tags.update(section.tags)
                game.fault = game.fault or section.fault
            moves = blank = in_comment = False
        elif line.isspace():
            blank = True
        elif in_comment or line[:1] != b"%":
            moves = True
            if game is None:
                game = TagSection(number)
            in_comment = _ends_in_comment(line, in_comment=in_comment)
    if game is not None:
        yield game


def _begins(section: TagSection, game: TagSection, *, blank: bool) -> bool:
    """Say whether tags without moves before them are another game's: a blank line may stand amid them."""
    again = game.tags.keys() & section.tags.keys()
    return "Event" in again or (blank and bool(again))


def _read_tags(line: bytes, number: int, encoding: str) -> TagSection:
    section = TagSection(number)
    try:
        text = line.decode(encoding).rstrip()
    except UnicodeDecodeError:
        shown = line.decode("ascii", errors="backslashreplace").rstrip()
        section.fault = LineError(
            "encoding", f"{shown} is not text in {encoding} (another one: --encoding)", number
        )
        return section
    whole = _TAG.fullmatch(text)
    if whole is not None and not ('"]' in whole[2] or '" ]' in whole[2]):
        section.tags[whole[1]] = Tag(_ESCAPED.sub(r"\1", whole[2]), number)
    elif _TAGS.sub("", text).isspace() or not _TAGS.sub("", text):
        for name, value in _TAGS.findall(text):
            section.tags[name] = Tag(_ESCAPED.sub(r"\1", value), number)
    else:
        section.fault = LineError("pgn", f'{text!r} is not a tag such as [White "Ann"]', number)
    return section


def _ends_in_comment(line: bytes, *, in_comment: bool) -> bool:
    """Say whether a line of moves ends within a `{comment}`; after a `;` nothing counts."""
    position = 0
    while True:
        if in_comment:
            position = line.find(b"}", position) + 1
            if position == 0:
                return True
            in_comment = False
        opened = line.find(b"{", position)
        if opened < 0 or line.find(b";", position, opened) >= 0:
            return False
        position, in_comment = opened + 1, True
