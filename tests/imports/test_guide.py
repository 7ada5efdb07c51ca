"""The page that says how to bring one's games: its commands print what it shows, and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path

from project import PROJECT

from streams.imports.presets import presets

PAGE = (PROJECT / "docs" / "guides" / "bring-your-games.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(script: str, folder: Path) -> tuple[str, str]:
    """Return what the commands of a block print as events, and what they say."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")}
    command = f'ladderlog() {{ "{sys.executable}" -m streams "$@"; }}\nset -e\n{script}'
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("import: ")]
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout, "".join(said)


def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    shown: list[tuple[str, str]] = []
    made: list[tuple[str, str]] = []
    for kind, text in BLOCK.findall(PAGE):
        if kind == "sh":
            events, said = printed(text, tmp_path)
            made += [("jsonl", events)] * bool(events) + [("text", said)] * bool(said)
        else:
            shown.append((kind, text))

    assert shown == made


def test_the_page_has_an_example_of_every_preset() -> None:
    assert [name for name in presets() if f"--preset {name}" not in PAGE] == []
