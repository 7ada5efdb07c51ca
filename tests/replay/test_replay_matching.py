"""Comparing what was expected with what was found, in order."""

import pytest

from streams.replay.matching import Finding, Kind, Marks, Matching

Found = list[Finding | None]


def marked(name: str, content: str = "", timestamp: int = 0) -> Marks:
    return Marks(hash(name), hash((name, content)), timestamp)


def matched(expected: str, found: str, **options: bool) -> tuple[Matching, Found]:
    """Compare records named by letters; a capital letter is the same record with other content."""
    matching = Matching(**options)
    for offset, name in enumerate(expected):
        matching.expect(marked(name), offset)
    return matching, [
        matching.find(marked(name.lower(), "other" if name.isupper() else "")) for name in found
    ]


def kinds(found: Found) -> list[tuple[Kind, int]]:
    return [tuple(finding) for finding in found if finding is not None]


def test_equal_records_in_order_are_no_difference() -> None:
    matching, found = matched("abcd", "abcd")

    assert kinds(found) == []
    assert matching.missing(4) == []


@pytest.mark.parametrize(
    ("found", "differences", "missing"),
    [
        ("abd", [], [2]),
        ("bcd", [], [0]),
        ("abc", [], [3]),
        ("", [], [0, 1, 2, 3]),
        ("aBcd", [(Kind.DIFFERENT, 1)], []),
        ("aCd", [(Kind.DIFFERENT, 2)], [1]),
        ("abbcd", [(Kind.DOUBLE, 1)], []),
        ("abcda", [(Kind.DOUBLE, 0)], []),
        ("abcdx", [(Kind.UNEXPECTED, -1)], []),
        ("xabcd", [(Kind.UNEXPECTED, -1)], []),
        ("acbd", [(Kind.DISORDER, 1)], []),
        ("bcda", [(Kind.DISORDER, 0)], []),
    ],
)
def test_each_kind_of_difference_is_told(
    found: str, differences: list[tuple[Kind, int]], missing: list[int]
) -> None:
    matching, findings = matched("abcd", found)

    assert kinds(findings) == differences
    assert matching.missing(4) == missing


def test_what_follows_from_later_inputs_may_be_missing_but_not_wrong() -> None:
    matching, found = matched("abcd", "abc")

    assert matching.missing(2) == []
    assert matching.missing(3) == []
    assert kinds(found) == []
    assert kinds(matched("abcd", "abcD")[1]) == [(Kind.DIFFERENT, 3)]


def test_what_was_published_before_the_first_expected_is_passed_over() -> None:
    matching, found = matched("cd", "abcd", from_start=False)

    assert kinds(found) == []
    assert matching.passed_over == 2
    assert kinds(matched("cd", "abcxd", from_start=False)[1]) == [(Kind.UNEXPECTED, -1)]


def test_what_was_deleted_before_the_first_found_is_passed_over() -> None:
    matching, found = matched("abcd", "cd", whole=False)

    assert kinds(found) == []
    assert matching.passed_over == 2
    assert matching.missing(4) == []
    assert matched("abcd", "", whole=False)[0].missing(4) == []
    assert matched("abcd", "bd", whole=False)[0].missing(4) == [2]


def test_a_record_that_comes_twice_by_right_is_expected_twice() -> None:
    matching, found = matched("abab", "abab")

    assert kinds(found) == []
    assert matching.missing(4) == []


def test_another_timestamp_is_a_difference_unless_it_is_the_brokers() -> None:
    matching = Matching()
    for offset in range(3):
        matching.expect(marked(str(offset), timestamp=7), offset)

    assert matching.find(marked("0", timestamp=7)) is None
    assert matching.find(marked("1", timestamp=8)) == Finding(Kind.DIFFERENT, 1)
    assert matching.find(marked("2", timestamp=-1)) is None
