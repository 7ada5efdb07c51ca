"""Whoever silences the linter says why."""

import io
import re
import tokenize

import pytest
from project import PROJECT

NOQA = re.compile(r"#\s*(?:ruff:\s*)?noqa\b(?P<rest>.*)")
REASON = re.compile(r"(?::\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*)\s+- \S.*")


def without_reason(text: str) -> list[int]:
    """Return the numbers of the lines that silence the linter without naming a rule and a reason."""
    lines = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        silenced = NOQA.search(token.string)
        if silenced is not None and REASON.fullmatch(silenced["rest"]) is None:
            lines.append(token.start[0])
    return lines


@pytest.mark.parametrize("folder", ["streams", "tests", "bench"])
def test_every_noqa_has_its_reason_beside_it(folder: str) -> None:
    bare = [
        f"{path.relative_to(PROJECT)}:{line}"
        for path in sorted((PROJECT / folder).rglob("*.py"))
        for line in without_reason(path.read_text(encoding="utf-8"))
    ]

    assert bare == []


@pytest.mark.parametrize(
    "comment",
    [
        "noqa: S603 - our own command",
        "type: ignore[misc]  # noqa: E402, F401 - so",
        "ruff: noqa: PLC0415 - why",
        "about noqas",
    ],
)
def test_a_reason_stands_behind_the_rule(comment: str) -> None:
    assert without_reason(f"x = 1  # {comment}\n") == []


@pytest.mark.parametrize(
    "comment", ["noqa", "noqa: S603", "noqa: S603, E402", "noqa - why", "noqa: S603 -", "ruff: noqa: S603"]
)
def test_a_rule_alone_is_no_reason(comment: str) -> None:
    assert without_reason(f'text = "# noqa"\nx = 1  # {comment}\n') == [2]
