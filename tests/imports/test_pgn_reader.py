"""Where tags and games begin in PGN, however the file is cut, and whatever ends its lines."""

import io
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imported import NoProgress, imported_by

from streams.files.report import LineError
from streams.imports import Conversion, MappingError, import_pgn, parse_mapping
from streams.imports.pgn_reader import TagSection, read_tag_sections

GAMES = """[Event "Club evening"]
[White "Zoé"]
[Black "bob"]
[Result "1-0"]

1. e4 { a comment
[Event in it, which is no tag] } 1... e5
; [Black "nobody"] {
% [Black "nobody"] {
2. Nf3 1-0 {resigned}

[Event "Club evening"]
[White "a \\"b\\" c"] [Black "cyd"]
[Black "dan"]

1/2-1/2
[Event "no moves"]
[Event "nor here"]
"""
LINES = st.lists(
    st.sampled_from(
        (
            *(
                '[Event "x"]',
                '[White "a"]',
                '[Black "b"] [Round "1"]',
                "[Black b]",
                '[Site ""]',
                '[Site "\\"q"]',
            ),
            *(" ", "1. e4 *", "{ open", "closed } 1-0", "{ a } { b", "; {", "% {", '[White "é"]'),
        )
    ),
    max_size=12,
)


def shown(section: TagSection) -> tuple[object, ...]:
    fault = None if section.fault is None else (section.fault.line, section.fault.message)
    return section.line, section.tags, fault, section.ending()


def sections(pieces: list[bytes]) -> list[tuple[object, ...]]:
    return [shown(section) for section in read_tag_sections(pieces, "utf-8")]


def cut(content: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def test_games_of_a_file_with_comments_escapes_and_games_without_moves() -> None:
    found = list(read_tag_sections([GAMES.encode()], "utf-8"))

    assert [(section.line, {name: tag.value for name, tag in section.tags.items()}) for section in found] == [
        (1, {"Event": "Club evening", "White": "Zoé", "Black": "bob", "Result": "1-0"}),
        (12, {"Event": "Club evening", "White": 'a "b" c', "Black": "dan"}),
        (17, {"Event": "no moves"}),
        (18, {"Event": "nor here"}),
    ]
    assert [section.ending() for section in found] == ["1-0", "1/2-1/2", None, None]
    assert found[1].tags["Black"].line == 14


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_however_a_file_is_cut_and_whatever_ends_its_lines_its_games_are_the_same(
    size: int, end: str
) -> None:
    content = GAMES.replace("\n", end).encode()

    assert sections(list(cut(content, size))) == sections([GAMES.encode()])


@given(LINES, st.integers(1, 40), st.lists(st.sampled_from(("\n", "\r\n", "\r")), min_size=12, max_size=12))
def test_lines_of_any_kind_are_read_alike_in_pieces_of_any_size(
    lines: list[str], size: int, ends: list[str]
) -> None:
    mixed = "".join(line + end for line, end in zip(lines, ends, strict=False)).encode()
    plain = "".join(f"{line}\n" for line in lines).encode()

    assert sections(list(cut(mixed, size))) == sections(list(plain.splitlines(keepends=True)))


class Endless(io.RawIOBase):
    """A file of many megabytes that nobody has to keep."""

    def __init__(self, game: bytes, count: int) -> None:
        self._games = (game.replace(b"NUMBER", b"%d" % number) for number in range(count))
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        while len(self._rest) < size and (game := next(self._games, b"")):
            self._rest += game
        text, self._rest = self._rest[:size], self._rest[size:]
        return text


def test_a_hundred_megabytes_take_a_few_of_memory() -> None:
    moves = b"1. e4 { [%clk 0:00:30] } 1... e5\n" * 3000
    game = (
        b'[Event "x"]\n[GameId "g-NUMBER"]\n[White "a"]\n[Black "b"]\n[Date "2026.11.25"]\n[Result "1-0"]\n\n'
    )
    content = Endless(game + moves + b"1-0\n\n", 1000)
    with Path(os.devnull).open("wb") as out:
        conversion = Conversion(
            cast(IO[bytes], content), parse_mapping({"ladder": "chess"}), out, NoProgress()
        )
        tracemalloc.start()
        try:
            report = import_pgn(conversion)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert report.written == 1000
    assert peak < 8_000_000


def test_what_has_no_lines_is_said_to_be_no_pgn() -> None:
    with pytest.raises(MappingError, match="a line of more than 16 MiB: this is no PGN"):
        sections([b"x" * (1 << 20)] * 17)


def test_a_byte_order_mark_before_any_game_is_no_text() -> None:
    content = '[A "1"]\n\n1-0\n\n'.encode("utf-8-sig") * 2

    assert sections([content]) == sections([content.replace(b"\xef\xbb\xbf", b"")])


def test_a_bad_byte_in_a_tag_that_nobody_needs_does_not_lose_the_game() -> None:
    content = GAMES.replace("Zoé", "Zoe").encode() + '[Annotator "é"]\n[White "ann"]\n'.encode("latin-1")
    *_, last = read_tag_sections([content], "utf-8")

    assert last.text("White") == "ann"
    with pytest.raises(LineError) as failed:
        last.text("Annotator")
    assert failed.value.line == 19
    assert failed.value.message == r'[Annotator "\xe9"] is not text in utf-8 (another one: --encoding)'


def test_a_game_whose_annotator_is_not_text_is_written() -> None:
    content = '[White "ann"]\n[Black "bob"]\n[Date "2026.11.25"]\n[Result "1-0"]\n[Annotator "é"]\n\n1-0\n'
    found = imported_by(import_pgn, content.encode("latin-1"), "club", {})

    assert found.report.written == 1
