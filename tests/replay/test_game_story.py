"""The story of a game as it is told of what was said and published."""

from helpers import LADDER, played, ranked

from streams.core.corrections import CorrectionsMarker
from streams.core.events import Counts, Game, GameVoided, RatingChanged, Reason
from streams.replay.game_story import Place, Published, Said, Standing, change_text, tell

ALL = {0: 100}


def won(version: int = 1) -> Game:
    return played("1", ranked("ann", 1), ranked("bob", 2), version=version)


def said(offset: int, event: Game | GameVoided | None, partition: int = 0, **fields: str) -> Said:
    return Said(Place("in", partition, offset), 0, event, **fields)


def change(before: float, after: float, system: str = "fundox") -> RatingChanged:
    return RatingChanged("id", LADDER, system, "ann", "1", 1, before, after, statistics=Counts(1, 1, 0, 0))


def outcomes(records: list[Said], published: Published, applied: dict[int, int] | None = None) -> list[str]:
    story = tell(LADDER, "1", records, published, [], ALL if applied is None else applied, home=0)
    return [told.outcome for told in story.records]


def test_the_first_report_that_was_not_ignored_is_the_one_that_was_rated() -> None:
    published = Published({"in/0/2": [Reason("fundox", "duplicate")]}, changes=[change(1600, 1608)])

    assert outcomes([said(1, won()), said(2, won()), said(3, won(2))], published) == [
        "rated",
        "ignored",
        "noted",
    ]


def test_a_game_that_one_of_two_systems_counted_was_rated() -> None:
    published = Published({"in/0/1": [Reason("points", "no-points")]}, changes=[change(1600, 1608)])

    assert outcomes([said(1, won())], published) == ["rated"]


def test_a_record_away_from_home_was_forwarded_and_its_copy_rated() -> None:
    records = [said(7, won(), partition=1), said(3, won(), copy_of="in/1/7")]

    assert outcomes(records, Published(changes=[change(1600, 1608)]), {0: 100, 1: 100}) == [
        "forwarded",
        "rated",
    ]


def test_what_lies_behind_the_last_transaction_is_unread() -> None:
    assert outcomes([said(99, won()), said(100, won())], Published(), {0: 100}) == ["unknown", "unread"]


def test_a_game_of_which_nothing_published_is_left_is_not_guessed_at() -> None:
    assert outcomes([said(1, won()), said(2, None)], Published()) == ["unknown", "unknown"]


def test_a_marker_puts_into_force_what_lies_below_its_limit() -> None:
    void = GameVoided(LADDER, "1", "cheat")
    markers = [CorrectionsMarker(offset=9, until=5)]
    records = [said(1, won()), said(4, void), said(5, void)]

    story = tell(LADDER, "1", records, Published(), markers, ALL, home=0)

    assert [(told.standing, told.rebuilt_at) for told in story.records[1:]] == [
        (Standing.REBUILT, 9),
        (Standing.PENDING, None),
    ]


def test_a_void_before_every_report_holds_at_once() -> None:
    records = [said(1, GameVoided(LADDER, "1", "cheat"))]

    story = tell(LADDER, "1", records, Published(), [], ALL, home=0)

    assert [told.standing for told in story.records] == [Standing.AT_ONCE]


def test_a_change_is_shown_as_the_difference_of_what_is_shown() -> None:
    assert [change_text(change(*pair)) for pair in ((1600.04, 1600.18), (0.18, 0.04), (1.0, 1.01))] == [
        "+0.2",
        "-0.2",
        "0.0",
    ]
