"""Results as people write them: each is read as it is meant, or refused."""

import pytest

from streams.files.report import LineError, PassedOverError
from streams.imports.results import Result, read_result

DRAWN = Result((0.5, 0.5))
READ = {
    "1-0": Result((1, 0)),
    "0-1": Result((0, 1)),
    "1:0": Result((1, 0)),
    "1 - 0 ": Result((1, 0)),
    "\ufeff1-0": Result((1, 0)),
    "1\u20130": Result((1, 0)),
    "1/2": DRAWN,
    "1/2-1/2 ": DRAWN,
    "½-½": DRAWN,
    "=": DRAWN,
    "0.5": DRAWN,
    ".5": DRAWN,
    ".5-.5": DRAWN,
    "Draw": DRAWN,
    "remis": DRAWN,
    "1½-2½": Result((1.5, 2.5)),
    "2 1/2-1 1/2": Result((2.5, 1.5)),
    "10-8": Result((10, 8)),
    "0-0": Result((0, 0)),
    # By forfeit.
    "+/-": Result((1, 0), forfeit=True),
    "+:-": Result((1, 0), forfeit=True),
    "-/+": Result((0, 1), forfeit=True),
    "1-0F": Result((1, 0), forfeit=True),
    "0-1 (forfeit)": Result((0, 1), forfeit=True),
    "0-1 W/O": Result((0, 1), forfeit=True),
    "W/O": Result(None, forfeit=True),
    "wo": Result(None, forfeit=True),
    # Somebody gave up: who was behind may have stayed.
    "ret.": Result(None),
    "6-4 2-1 ret.": Result(None),
    # Sets, with tie-breaks.
    "6-4 7-5": Result((2, 0)),
    "6-4, 3-6, 7-6(4)": Result((2, 1)),
    "7-6 (7-3) 6-2": Result((2, 0)),
    "11:9 9:11 11:5": Result((2, 1)),
    # After extra time, after penalties, with the score at half time.
    "3:1 (n.P.)": Result((3, 1)),
    "2-1 aet": Result((2, 1)),
    "2:1 (1:0)": Result((2, 1)),
    "1:1 (0:1)": Result((1, 1)),
    "1-1 (4-2 pens)": Result((1, 1), ranks=(1, 2)),
    "1-1 (2:4 n.P.)": Result((1, 1), ranks=(2, 1)),
}
REFUSED = ("abc", "4", "1-1 pens", "1-0-0", "6-4 x", "-1-0", "one-nil", "1-0 ?")
UNPLAYED = ("-/-", "-:-", "0-0F", "unplayed", "postponed", "Bye")
UNFINISHED = (None, "", " ", "*", "?")


@pytest.mark.parametrize("text", READ)
def test_a_result_is_read_as_it_is_meant(text: str) -> None:
    assert read_result(text, "result") == READ[text]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(LineError, match="is not a result such as") as refused:
        read_result(text, "column 'Score'")

    assert (refused.value.reason, refused.value.message.split(": ")[0]) == ("result", "column 'Score'")


@pytest.mark.parametrize("text", UNPLAYED)
def test_a_game_that_was_not_played_is_none(text: str) -> None:
    with pytest.raises(PassedOverError) as passed_over:
        read_result(text, "result")

    assert passed_over.value.reason == "unplayed"


@pytest.mark.parametrize("text", UNFINISHED)
def test_a_game_without_a_result_is_not_over(text: str | None) -> None:
    with pytest.raises(LineError, match="the game is not over"):
        read_result(text, "result")


def test_in_chess_nobody_wins_when_both_are_absent() -> None:
    with pytest.raises(PassedOverError, match="both have lost by forfeit"):
        read_result("0-0", "result", nil_is_forfeit=True)


def test_a_decimal_comma_is_no_comma_between_sets() -> None:
    assert read_result("0,5-0,5", "result", ",") == DRAWN
    assert read_result("6-4, 7-5", "result", ",") == Result((2, 0))
