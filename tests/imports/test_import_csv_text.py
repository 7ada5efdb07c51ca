"""What stands in CSV's cells: times, numbers, and text in some encoding, between some delimiter."""

from typing import Any

import pytest
from imported import Imported, imported_by

from streams.imports import import_csv


def imported(text: str | bytes, *, name: str = "games", **mapping: Any) -> Imported:
    return imported_by(import_csv, text, name, mapping)


def two(ended_at: str, **mapping: Any) -> Imported:
    """Import one game of ann and bob that ended then."""
    return imported(f"game_id,ended_at,player1,player2,result\ng,{ended_at},ann,bob,1-0\n", **mapping)


@pytest.mark.parametrize(
    ("local", "utc", "note"),
    [
        # Paris, spring: 02:00 to 03:00 of 29 March does not exist.
        ("2026-03-29 01:59:59", "2026-03-29T00:59:59Z", None),
        ("2026-03-29 02:00", "2026-03-29T01:00:00Z", "skips"),
        ("2026-03-29 02:30", "2026-03-29T01:30:00Z", "skips"),
        ("2026-03-29 03:00", "2026-03-29T01:00:00Z", None),
        # Paris, autumn: 02:00 to 03:00 of 25 October is there twice.
        ("2026-10-25 01:59", "2026-10-24T23:59:00Z", None),
        ("2026-10-25 02:00", "2026-10-25T00:00:00Z", "repeats"),
        ("2026-10-25 02:59", "2026-10-25T00:59:00Z", "repeats"),
        ("2026-10-25 03:00", "2026-10-25T02:00:00Z", None),
        # With an offset nothing is ambiguous.
        ("2026-10-25 02:30+01:00", "2026-10-25T01:30:00Z", None),
        ("2026-11-25", "2026-11-24T23:00:00Z", "dates"),
        ("1890-01-01 00:00", "1889-12-31T23:50:39Z", None),
    ],
)
def test_local_times(local: str, utc: str, note: str | None) -> None:
    found = two(local, timezone="Europe/Paris")

    assert found.events[0]["ended_at"] == utc
    remarks = [text for text in found.report.notes if "change of clocks" in text or "dates" in text]
    assert len(remarks) == (note is not None)
    assert note is None or note in remarks[0]


def test_a_clock_change_of_half_an_hour() -> None:
    assert (
        two("2026-04-05 01:45", timezone="Australia/Lord_Howe").events[0]["ended_at"]
        == "2026-04-04T14:45:00Z"
    )
    assert (
        two("2026-10-04 02:15", timezone="Australia/Lord_Howe").events[0]["ended_at"]
        == "2026-10-03T15:45:00Z"
    )


@pytest.mark.parametrize(
    ("text", "formats", "utc"),
    [
        ("1764100800", "unix", "2025-11-25T20:00:00Z"),
        ("1.7641008E+12", "unix-ms", "2025-11-25T20:00:00Z"),
        ("25.11.2025", ["iso", "%d.%m.%Y"], "2025-11-25T00:00:00Z"),
        ("2025-11-25T20:00Z", ["iso", "%d.%m.%Y"], "2025-11-25T20:00:00Z"),
        ("Nov 25 2025 8:00PM -0500", "%b %d %Y %I:%M%p %z", "2025-11-26T01:00:00Z"),
    ],
)
def test_formats_of_times(text: str, formats: Any, utc: str) -> None:
    assert two(text, time_format=formats).events[0]["ended_at"] == utc


@pytest.mark.parametrize(
    "text", ["25/11/2026", "tomorrow", "2026-02-30", "2026-11-25T20:00:60Z", "0001-01-01"]
)
def test_what_is_no_time_names_line_column_and_value(text: str) -> None:
    found = two(text, timezone="Asia/Tokyo")

    assert found.lines == [(2, "time")]
    assert found.left_out[0].message.startswith(f"column 'ended_at': {text!r}")


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("utf-8", "\ufeffended_at,player1,player2,result\n2026-11-25,Zoé,bob,1-0\n".encode()),
        ("cp1252", "ended_at,player1,player2,result\n2026-11-25,Zoé,bob,1-0\n".encode("cp1252")),
        ("utf-16", "ended_at,player1,player2,result\n2026-11-25,Zoé,bob,1-0\n".encode("utf-16")),
    ],
)
def test_encodings(encoding: str, content: bytes) -> None:
    assert imported(content, encoding=encoding).events[0]["players"][0]["player_id"] == "Zoé"


def test_bytes_that_are_not_in_the_encoding_are_the_mistake_of_their_line() -> None:
    found = imported(
        "ended_at,player1,player2,result,x\n2026-11-25,Zoé,bob,1-0,\n2026-11-25,ann,bob,1-0,é\n".encode(
            "latin-1"
        )
    )

    assert found.lines == [(2, "encoding")]
    assert "column 'player1'" in found.left_out[0].message
    assert "--encoding" in found.left_out[0].message
    assert found.report.written == 1


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_told_from_the_first_line(delimiter: str) -> None:
    text = "ended_at,player1,points1,player2,points2\n2026-11-25,ann,3,bob,2\n".replace(",", delimiter)

    assert imported(text).report.written == 1
    assert imported(f"sep={delimiter}\n{text}", name="s").events[0]["game_id"] == "s-3"


def test_decimal_commas() -> None:
    text = "ended_at;player1;points1;player2;points2\n2026-11-25;ann;3,5;bob;2\n2026-11-25;ann;1.000;bob;2\n"
    found = imported(text, decimal=",")

    assert found.events[0]["players"][0]["points"] == 3.5
    assert found.lines == [(3, "number")]
