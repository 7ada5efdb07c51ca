"""The guard runs as a script without site-packages, so it may need nothing of them."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

from project import PROJECT

GUARD = PROJECT / "streams" / "embedded" / "guard.py"


def test_the_guard_imports_the_standard_library_only() -> None:
    nodes = list(ast.walk(ast.parse(GUARD.read_text(encoding="utf-8"))))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}

    assert {module.split(".")[0] for module in modules} - sys.stdlib_module_names == set()


def test_the_guard_runs_its_commands_and_passes_on_the_last_words_and_the_status(tmp_path: Path) -> None:
    speak = [sys.executable, "-c", "import sys; print('last words'); sys.exit(3)"]
    order = {"commands": [speak], "data": str(tmp_path), "temporary": False, "parent": os.getpid()}

    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as guard:
        assert guard.stdout is not None
        words = guard.stdout.read()

    assert (words, guard.returncode) == ("last words\n", 3)
