"""The order of imported games: by when they ended, then by what does not depend on the file's order."""

import io
from itertools import permutations

import orjson
import pytest
from imported import imported_by

from streams.files.report import FileReport
from streams.imports import SortedLines, import_csv

HEADER = "game_id,ended_at,player1,player2,result\n"
ROWS = (
    "c,2026-11-27,a,b,1-0\n",
    "a,2026-11-25T00:00:00.5,a,b,1-0\n",
    "b,2026-11-26,a,b,1-0\n",
    "g-10,2026-11-25,a,b,1-0\n",
    "g-9,2026-11-25,c,b,1-0\n",
    "g-2,2026-11-25,d,e,1-0\n",
)


def by_end(text: str) -> tuple[list[str], list[str]]:
    """Return the ids of a file's games when they are sorted, and what is noted of them."""
    unsorted, out, report = imported_by(import_csv, text, "games", {}), io.BytesIO(), FileReport()
    lines = SortedLines(out, report)
    for line in unsorted.out.getvalue().splitlines(keepends=True):
        lines.write(line)
    lines.finish()
    return [orjson.loads(line)["game_id"] for line in out.getvalue().splitlines()], list(report.notes)


@pytest.mark.parametrize("rows", list(permutations(ROWS))[::97])
def test_sorted_games_come_by_their_end_and_then_by_their_ids(rows: tuple[str, ...]) -> None:
    ids, notes = by_end(HEADER + "".join(rows))

    assert ids == ["g-2", "g-9", "g-10", "a", "b", "c"]
    assert notes == [
        "games that ended at the moment of another one, in the order of their ids: 3",
        "games of a player who ended another one at the same moment; ratings depend on which is first: 2",
    ]


def test_games_out_of_order_are_noted_where_nothing_sorts_them() -> None:
    found = imported_by(import_csv, HEADER + "".join(ROWS), "games", {})

    assert found.notes[
        "games that ended before the game above them; ratings depend on the order (--sort)"
    ] == (2, 3)


def test_two_games_of_a_player_at_one_moment_are_counted_in_a_file_that_is_in_order() -> None:
    rows = "".join(
        f"{n},2026-11-25,{white},{black},1-0\n" for n, (white, black) in enumerate(("ab", "bc", "de"))
    )
    found = imported_by(import_csv, HEADER + rows, "games", {})

    assert (
        "games of a player who ended another one at the same moment; ratings depend on which is first: 2"
        in found.report.notes
    )


def test_games_at_different_moments_have_nothing_to_be_said_of_them() -> None:
    assert by_end(HEADER + ROWS[0] + ROWS[2])[1] == []
