"""Files and functions stay short enough to be read at once, and the check that says so counts right."""

from pathlib import Path

import pytest
from sizes import FILE_LINES, FUNCTION_LINES, too_long


def test_no_file_and_no_function_is_too_long() -> None:
    assert list(too_long()) == []


@pytest.mark.parametrize("folder", FUNCTION_LINES)
def test_a_function_may_have_so_many_lines_and_no_more(tmp_path: Path, folder: str) -> None:
    most = FUNCTION_LINES[folder]
    (tmp_path / folder).mkdir()
    body = "    pass\n"
    text = (
        f"def long():\n{body * (most - 1)}\n\nclass A:\n    async def longer(self):\n{f'    {body}' * most}"
    )
    (tmp_path / folder / "module.py").write_text(text)

    assert list(too_long(tmp_path)) == [
        f"{folder}/module.py:{most + 4} longer has {most + 1} lines, of at most {most}"
    ]


def test_a_file_may_have_so_many_lines_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "streams" / "core").mkdir(parents=True)
    (tmp_path / "streams" / "full.py").write_text("pass\n" * FILE_LINES)
    (tmp_path / "streams" / "core" / "over.py").write_text("pass\n" * (FILE_LINES + 1))

    assert list(too_long(tmp_path)) == ["streams/core/over.py:1 the file has 401 lines, of at most 400"]
