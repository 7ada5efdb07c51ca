"""The arrows point down: the pure core imports the standard library and itself, nothing else."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "streams"
PURE = sorted(
    [
        *PACKAGE.glob("ratings/*.py"),
        *(
            PACKAGE / f"{name}.py"
            for name in (
                "model",
                "row_keys",
                "weeks",
                "ladder_file",
                "ladders",
                "rankings",
                "preview",
                "tally",
                "outcomes",
                "corrections",
            )
        ),
        PACKAGE / "simulate.py",
        *(
            PACKAGE / "replay" / f"{name}.py"
            for name in ("compare", "errors", "matching", "page", "positions", "stretches")
        ),
    ]
)
PURE_MODULES = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in PURE}
# Where a clock, chance or the world would come in.
FORBIDDEN = {"time", "socket", "subprocess", "asyncio", "os", "io", "pathlib", "threading", "secrets", "uuid"}


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.stem)
def test_a_pure_module_imports_the_standard_library_and_pure_modules_only(path: Path) -> None:
    allowed = sys.stdlib_module_names | {"streams.ratings"} | PURE_MODULES

    foreign = {name for name in imported(path) if name not in allowed and name.split(".")[0] not in allowed}

    assert foreign == set()


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.stem)
def test_a_pure_module_has_no_way_to_the_world(path: Path) -> None:
    assert imported(path) & FORBIDDEN == set()


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.stem)
def test_a_pure_module_asks_no_clock(path: Path) -> None:
    calls = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }

    assert calls & {"now", "today", "utcnow"} == set()


def test_the_decoder_is_the_only_way_from_bytes_to_the_folds() -> None:
    users = {path.stem for path in PACKAGE.glob("*.py") if "orjson" in imported(path)}

    assert "ladders" not in users
    assert "events" in users
