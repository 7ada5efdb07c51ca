"""Files of the kinds that people have, one of each, with all that becomes of them.

Beside each file of `files` stands one with `.expected` behind its name: the commands, their events and,
behind `!`, what they say; then how they end. They are made anew, to be looked at as a difference, with
LADDERLOG_WRITE_GOLDEN=1.
"""

import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli.imports import import_command

FILES = Path(__file__).parent / "files"
EXPECTED = ".expected"
COMMAND = "$ import "
KINDS = sorted(path.name.removesuffix(EXPECTED) for path in FILES.glob(f"*{EXPECTED}"))


def outcome(file: Path, options: str) -> list[str]:
    """Return what a command makes of a file, line by line."""
    result = CliRunner().invoke(import_command, [*shlex.split(options), file.name])
    said = [line for line in result.stderr.splitlines() if not line.startswith("import: ")]
    return [
        f"{COMMAND}{options}".rstrip(),
        *result.stdout.splitlines(),
        *(f"! {line}".rstrip() for line in said),
        f"= {result.exit_code}",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_becomes_the_events_that_are_written_beside_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FILES)
    golden = FILES / f"{kind}{EXPECTED}"
    expected = golden.read_text(encoding="utf-8").splitlines()
    commands = [line.removeprefix(COMMAND.rstrip()).strip() for line in expected if line.startswith("$")]

    lines = [line for options in commands for line in outcome(FILES / kind, options)]

    if os.environ.get("LADDERLOG_WRITE_GOLDEN"):
        golden.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    assert commands
    assert lines == expected


def test_every_file_has_what_is_expected_of_it() -> None:
    others = {path.name for path in FILES.iterdir() if not path.name.endswith(EXPECTED)}

    assert {name for name in others if name not in KINDS and not name.endswith(".aliases")} == set()
