"""What is too long: files and functions of the project, by how many lines they have.

Run as a script, it names each as file:line, and ends with status 1 when there is any.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from project import PROJECT

FILE_LINES = 400
# A test tells a story from its beginning to its end, and a bench sets up what it measures.
FUNCTION_LINES = {"streams": 40, "examples": 40, "tests": 60, "bench": 60}


def too_long(root: Path = PROJECT) -> Iterator[str]:
    """Yield a line of text for each file and function that is too long."""
    for folder, most in FUNCTION_LINES.items():
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(root).as_posix()
            lines = len(text.splitlines())
            if lines > FILE_LINES:
                yield f"{name}:1 the file has {lines} lines, of at most {FILE_LINES}"
            for function, length in _functions(text):
                if length > most:
                    yield f"{name}:{function.lineno} {function.name} has {length} lines, of at most {most}"


def _functions(text: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    """Yield every function in a file's text with its lines, from `def` to its last."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, (node.end_lineno or node.lineno) - node.lineno + 1


if __name__ == "__main__":
    faults = list(too_long())
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    sys.exit(1 if faults else 0)
