"""The tags of PGN games, one game after the other, without looking at the moves.

A reader of our own, because the package that has one is under the GPL and gives no line numbers.
Tags are `[Name "value"]` at the start of a line, outside comments; quotes within a value need no backslash,
for many files have none. A `[Event` tag begins a game even where a comment was never closed.

The file is looked through a piece at a time, not a line at a time: usual tags are taken all at once, and what
is between two games' tags is passed over in one step.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from streams.files.report import LineError
from streams.imports.mapping import MappingError

_NAME = rb"\[\s*([A-Za-z0-9][\w+#=:-]*)\s+"
_TAG = re.compile(_NAME + rb'"(.*)"\s*\]\s*')
_TAGS = re.compile(_NAME + rb'"((?:[^"\\]|\\.)*)"\s*\]')
# What nearly every tag is: alone in its line, and without a quote or a backslash in its value.
_USUAL_TAG = re.compile(r'\[(\w+) "([^"\\\n]*)"\] *\n', re.ASCII)
_USUAL_BYTES = re.compile(_USUAL_TAG.pattern.encode())
_USUAL_TAGS = re.compile(rb'(?:\[\w+ "[^"\\\n]*"\] *\n)+')
_ESCAPED = re.compile(r'\\(["\\])')
_BOM = b"\xef\xbb\xbf"
# What a tag says that is not known.
_UNKNOWN = frozenset(("", "?", "-"))
# A result, or the end of one, behind the moves; a comment may follow it.
_ENDING = re.compile(rb"(\S+)\s*(?:\{[^{}]*\}\s*)*\Z")
_ENDING_BYTES = 1000
# What has no line ends for so many bytes is something else; the longest games have a hundredth of that.
_LONGEST_LINE = 1 << 24


@dataclass
class Tag:
    """A tag's value and its line."""

    value: str
    line: int


@dataclass(slots=True)
class _Lines:
    """Lines of a file, of which the first is `first`."""

    first: int
    text: bytes

    def tag_line(self, name: bytes) -> int | None:
        """Return the last line with a tag of that name; None when there is none."""
        line = None
        for number, text in enumerate(self.text.split(b"\n"), self.first):
            if any(match[1] == name for match in re.finditer(_NAME, text)):
                line = number
        return line


@dataclass
class TagSection:
    """What a game says of itself; `line` is its first one, `fault` the first of its lines that is no tag.

    Values are text when they are asked for: a byte that is none in a tag that nobody needs does no harm.
    """

    line: int
    encoding: str = "utf-8"
    fault: LineError | None = None
    # Bytes where a line is no text.
    _values: dict[str, str | bytes] = field(default_factory=dict)
    _lines: list[_Lines] = field(default_factory=list)
    _moves: bytes = b""

    def __contains__(self, name: str) -> bool:
        """Say whether there is such a tag, whatever its value."""
        return name in self._values

    def value(self, name: str) -> str | None:
        """Return a tag's value; None when it is absent. Raises LineError when its bytes are no text."""
        value = self._values.get(name)
        if not isinstance(value, bytes):
            return value
        try:
            return _text(value, self.encoding)
        except UnicodeDecodeError as error:
            shown = value.decode("ascii", errors="backslashreplace")
            raise LineError(
                "encoding",
                f'[{name} "{shown}"] is not text in {self.encoding} (another one: --encoding)',
                self.line_of(name),
            ) from error

    def text(self, name: str) -> str | None:
        """Return a tag's value; None when it is absent, empty or says that it is not known."""
        value = self.value(name)
        return None if value is None or value.strip() in _UNKNOWN else value

    @cached_property
    def tags(self) -> dict[str, Tag]:
        """Return all tags by name, which takes its time; bytes that are no text are escaped."""
        return {
            name: Tag(
                _text(value, self.encoding, "backslashreplace") if isinstance(value, bytes) else value,
                self.line_of(name),
            )
            for name, value in self._values.items()
        }

    def line_of(self, name: str) -> int:
        """Return a tag's line; the game's first one when it is absent."""
        found = [lines.tag_line(name.encode()) for lines in self._lines]
        return next((line for line in reversed(found) if line is not None), self.line)

    def error(self, reason: str, name: str, message: str) -> LineError:
        """Return an error that names a tag and its value."""
        if name not in self:
            return LineError(reason, f"[{name}]: {message}", self.line)
        return LineError(reason, f"[{name} {self.value(name)!r}]: {message}", self.line_of(name))

    def ending(self) -> str | None:
        """Return the last word behind the moves, such as `1-0`; None when there are none."""
        match = _ENDING.search(self._moves[-_ENDING_BYTES:])
        return None if match is None else match[1].decode("ascii", errors="replace")

    def take(self, other: "TagSection") -> None:
        """Take the tags that stand below these."""
        self._values |= other._values  # noqa: SLF001 - of the same class
        self._lines += other._lines  # noqa: SLF001 - of the same class
        self.fault = self.fault or other.fault

    def repeats(self, other: "TagSection") -> bool:
        """Say whether there is a tag that the other section has as well."""
        return not self._values.keys().isdisjoint(other._values)  # noqa: SLF001 - of the same class

    def end_with(self, moves: bytes) -> None:
        """Remember the moves that came last."""
        self._moves = moves


def read_tag_sections(pieces: Iterable[bytes], encoding: str) -> Iterator[TagSection]:
    """Yield every game's tags, of a file in pieces of any size. A line that is not a tag is the game's fault.

    The encoding is one that writes ASCII as ASCII does.
    """
    scanner = _Scanner(encoding)
    for lines in _whole_lines(pieces):
        yield from scanner.sections(lines)
    if scanner.game is not None:
        yield scanner.game


class _Scanner:
    """Goes through whole lines, and knows of the game it is in what later lines depend on."""

    def __init__(self, encoding: str) -> None:
        self.game: TagSection | None = None
        self._encoding = encoding
        self._line = 1
        self._moves = self._blank = self._in_comment = False

    def sections(self, lines: bytes) -> Iterator[TagSection]:
        """Yield the games that are known to be over with these lines."""
        position = 0
        while position < len(lines):
            if lines[position] == ord("[") and (
                not self._in_comment or lines.startswith(b'[Event "', position)
            ):
                section, position = self._read_tags(lines, position)
                if self.game is None:
                    self.game = section
                elif self._moves or self._begins(section):
                    yield self.game
                    self.game = section
                else:
                    self.game.take(section)
                self._moves = self._blank = self._in_comment = False
            else:
                end = lines.find(b"\n[", position) + 1 or len(lines)
                self._pass_over(lines[position:end])
                position = end

    def _begins(self, section: TagSection) -> bool:
        """Say whether tags without moves before them are another game's: a blank line may stand amid them."""
        if self.game is None or not section.repeats(self.game):
            return False
        return self._blank or ("Event" in section and "Event" in self.game)

    def _goes_on_with(self, section: TagSection) -> bool:
        """Say whether tags have some that the game has already, without moves between them."""
        return not self._moves and self.game is not None and section.repeats(self.game)

    def _read_tags(self, lines: bytes, position: int) -> tuple[TagSection, int]:
        """Return usual tags that stand together, or those of one line, and where they end."""
        line = self._line
        usual = _USUAL_TAGS.match(lines, position)
        if usual is not None:
            end, block = usual.end(), usual[0]
            pairs = _usual_tags(block, self._encoding)
            values = dict(pairs)
            section = TagSection(line, self._encoding, None, values, [_Lines(line, block)])
            # A tag twice may be two games without moves: they are looked at line by line.
            if len(values) == len(pairs) and not self._goes_on_with(section):
                self._line += len(pairs)
                return section, end
        end = lines.find(b"\n", position) + 1 or len(lines)
        self._line += 1
        return _read_tag_line(lines[position:end], line, self._encoding), end

    def _pass_over(self, text: bytes) -> None:
        """Go on behind lines that are no tags."""
        first = self._line
        self._line += text.count(b"\n")
        if text.isspace():
            self._blank = True
            return
        if b";" in text or b"\n%" in text or text.startswith(b"%"):
            self._pass_over_lines(text, first)
            return
        self._begin_moves(first + text[: len(text) - len(text.lstrip())].count(b"\n"), text)
        # The last brace decides, for comments do not nest.
        closed, opened = text.rfind(b"}"), text.rfind(b"{")
        if closed != opened:
            self._in_comment = opened > closed

    def _pass_over_lines(self, text: bytes, first: int) -> None:
        """Do the same where a `;` or a `%` may make a line one in which nothing counts."""
        for number, line in enumerate(text.splitlines(keepends=True), first):
            if line.isspace():
                self._blank = True
            elif self._in_comment or line[:1] != b"%":
                self._begin_moves(number, line)
                self._in_comment = _ends_in_comment(line, in_comment=self._in_comment)

    def _begin_moves(self, line: int, text: bytes) -> None:
        self._moves = True
        if self.game is None:
            self.game = TagSection(line, self._encoding)
        self.game.end_with(text)


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces of whole lines that end with a line feed, and no byte order mark before a tag.

    Raises MappingError where there are no lines.
    """
    rest = b""
    for piece in pieces:
        text = rest + piece
        # A CR at the end may be half of a line's end.
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, len(text) - 1)) + 1
        rest = text[end:]
        if len(rest) > _LONGEST_LINE:
            raise MappingError(f"a line of more than {_LONGEST_LINE >> 20} MiB: this is no PGN")
        if end:
            yield _plain_lines(text[:end])
    if rest:
        yield _plain_lines(rest)


def _plain_lines(text: bytes) -> bytes:
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if _BOM in text:
        text = text.removeprefix(_BOM).replace(b"\n" + _BOM, b"\n")
    return text


def _usual_tags(block: bytes, encoding: str) -> list[tuple[str, str | bytes]]:
    """Return names and values of usual tags; the values as bytes where one of them is no text."""
    try:
        return _USUAL_TAG.findall(block.decode(encoding))
    except UnicodeDecodeError:
        return [(name.decode(), value) for name, value in _USUAL_BYTES.findall(block)]


def _text(value: bytes, encoding: str, errors: str = "strict") -> str:
    """Return a value as text, without what escapes quotes in it. Raises UnicodeDecodeError."""
    return _ESCAPED.sub(r"\1", value.decode(encoding, errors))


def _read_tag_line(line: bytes, number: int, encoding: str) -> TagSection:
    text = line.rstrip()
    section = TagSection(number, encoding, _lines=[_Lines(number, text)])
    whole = _TAG.fullmatch(text)
    if whole is not None and not (b'"]' in whole[2] or b'" ]' in whole[2]):
        section._values[whole[1].decode()] = whole[2]  # noqa: SLF001 - it is made here
    elif not _TAGS.sub(b"", text).strip():
        pairs = [(name.decode(), value) for name, value in _TAGS.findall(text)]
        section._values.update(pairs)  # noqa: SLF001 - it is made here
    else:
        shown = text.decode(encoding, errors="backslashreplace")
        section.fault = LineError("pgn", f'{shown!r} is not a tag such as [White "Ann"]', number)
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
