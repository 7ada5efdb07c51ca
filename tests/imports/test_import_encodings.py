"""In which encoding a file is found to be, and what is said of it."""

import codecs
import io
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from streams.cli.imports import import_command
from streams.imports.encodings import Again, find_encoding, recoded

CSV = "ended_at,player1,player2,result\n2026-11-25,Zoé,bob,1-0\n2026-11-26,Zoé,Łukasz,0-1\n"
WESTERN = CSV.replace("Łukasz", "Jürgen")
PGN = '[Event "x"]\n[White "Zoé"]\n[Black "bob"]\n[Result "1-0"]\n[Date "2026.11.25"]\n\n1-0\n'


def imported(file: Path, content: bytes, *options: str) -> Result:
    file.write_bytes(content)
    return CliRunner().invoke(import_command, ["--ladder", "chess", *options, str(file)])


def players(result: Result) -> list[str]:
    return [orjson.loads(line)["players"][0]["player_id"] for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "utf-8"),
        (b"plain\n", "utf-8"),
        ("Zoé\n".encode(), "utf-8"),
        ("Zoé\n".encode("utf-8-sig"), "utf-8"),
        ("Zoé\n".encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + "Zoé\n".encode("utf-16-be"), "utf-16"),
        (CSV.encode("utf-16-le"), "utf-16-le"),
        (CSV.encode("utf-16-be"), "utf-16-be"),
        ("Zoé\n".encode("utf-32"), "utf-32"),
        ("Zoé\n".encode("cp1252"), "cp1252"),
        ("Zoé \u201cZ\u201d\n".encode("cp1252"), "cp1252"),
        ("Zoé\x81\n".encode("latin-1"), "latin-1"),
        ("Zoé Zoé Zoé".encode() + b"\xe9", "utf-8"),
        (b"Zo\xc3", "cp1252"),
    ],
)
def test_the_encoding_is_told_from_the_bytes(content: bytes, name: str) -> None:
    assert find_encoding([content]).name == name
    if not name.startswith("utf-16"):
        assert find_encoding([content[:1], content[1:]]).name == name or content[:1] > b"\x7f"


@given(st.text(), st.integers(1, 9))
def test_text_in_utf_8_is_never_taken_for_another(text: str, size: int) -> None:
    content = text.replace("\0", "").encode()
    pieces = [content[start : start + size] for start in range(0, len(content), size)]

    assert find_encoding(pieces).name == "utf-8"


@given(st.text(), st.integers(1, 9))
def test_recoded_text_is_the_same(text: str, size: int) -> None:
    content = text.encode("utf-16")
    pieces = [content[start : start + size] for start in range(0, len(content), size)]

    assert b"".join(recoded(pieces, "utf-16")).decode() == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_of_any_kind_needs_no_option(tmp_path: Path, encoding: str) -> None:
    table = imported(tmp_path / "club.csv", CSV.encode(encoding))
    chess = imported(tmp_path / "club.pgn", PGN.encode(encoding))

    assert (table.exit_code, players(table)) == (0, ["Zoé", "Zoé"])
    assert (chess.exit_code, players(chess)) == (0, ["Zoé"])


@pytest.mark.parametrize("name", ["club.csv", "club.pgn"])
def test_a_western_file_is_read_as_one_and_that_is_said(tmp_path: Path, name: str) -> None:
    text = WESTERN if name.endswith(".csv") else PGN
    result = imported(tmp_path / name, text.encode("cp1252"))

    assert result.exit_code == 0, result.output
    assert set(players(result)) == {"Zoé"}
    assert (
        "read as cp1252, for it is not UTF-8 (--encoding to say otherwise); so there stands" in result.stderr
    )
    assert "Zoé" in result.stderr


def test_an_encoding_that_was_given_is_not_doubted(tmp_path: Path) -> None:
    result = imported(tmp_path / "club.csv", WESTERN.encode("cp1252"), "--encoding", "utf-8")

    assert result.exit_code == 1
    assert "is not text in utf-8 (another one: --encoding)" in result.stderr


def test_standard_input_is_looked_at_as_well() -> None:
    result = CliRunner().invoke(import_command, ["--ladder", "chess", "-"], input=WESTERN.encode("cp1252"))

    assert (result.exit_code, players(result)) == (0, ["Zoé", "Zoé"])
    assert "read as cp1252" in result.stderr


def test_a_bad_byte_in_a_file_of_utf_8_loses_the_row_that_needs_it_only(tmp_path: Path) -> None:
    content = CSV.encode() + b"2026-11-27,Zo\xe9,bob,1-0\n"
    result = imported(tmp_path / "club.csv", content)

    assert (result.exit_code, players(result)) == (1, ["Zoé", "Zoé"])
    assert "line 4: encoding: column 'player1'" in result.stderr


def test_what_was_looked_at_is_read_again() -> None:
    assert io.BufferedReader(Again(b"ab", io.BytesIO(b"cd"))).read() == b"abcd"
