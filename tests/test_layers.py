"""The arrows point down: what each room may import, over globs, so that a new module is bound by it too."""

import ast
import sys

import pytest
from project import PROJECT

PACKAGE = PROJECT / "streams"

# How high each room lies: it sees what lies lower, and itself, never a neighbour on its own floor. A module
# is in the room of the longest glob that fits it. The core's words lie under the ratings, these under its
# rest.
HEIGHTS = {
    "__main__.py": 10,
    "cli/**": 9,
    "testing/**": 9,
    "embedded/**": 8,
    "replay/**": 8,
    "imports/**": 7,
    "runtime/**": 7,
    "files/**": 6,
    "events.py": 5,
    "processor.py": 5,
    "wire/**": 4,
    "core/**": 3,
    "core/ratings/**": 2,
    "core/events.py": 1,
    "core/player_events.py": 1,
    "core/row_keys.py": 1,
    "core/weeks.py": 1,
    "__init__.py": 0,
}
WORDS = {"core/events.py", "core/player_events.py", "core/row_keys.py", "core/weeks.py"}

# Pure besides the core: arithmetic of the shell's rooms that asks nobody anything.
PURE_ELSEWHERE = (
    "embedded/club.py",
    "embedded/club_games.py",
    "embedded/club_members.py",
    "replay/errors.py",
    "replay/game_story.py",
    "replay/matching.py",
    "replay/offset_ranges.py",
    "replay/page.py",
    "replay/positions.py",
)
# Where a clock, chance or the world would come in.
FORBIDDEN = {"time", "socket", "subprocess", "asyncio", "os", "io", "pathlib", "threading", "secrets", "uuid"}
THE_CORE_HAS = {"msgspec"}

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
PURE = sorted([name for name in MODULES if name.startswith("core/")] + list(PURE_ELSEWHERE))


def imported(name: str) -> set[str]:
    """Return the modules that a module imports, wherever the import stands in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names |= {f"{module}.{alias.name}" for alias in node.names} | {module}
    return names


def file_of(module: str) -> str | None:
    """Return the file of a module of the package; None for what is no module of it."""
    if module.split(".", maxsplit=1)[0] != "streams":
        return None
    path = "/".join(module.split(".")[1:])
    return next((name for name in (f"{path}.py", f"{path}/__init__.py".lstrip("/")) if name in MODULES), None)


def room_of(name: str) -> str:
    """Return the glob of the room that a file is in."""
    fitting = [
        glob
        for glob in HEIGHTS
        if (name.startswith(glob.removesuffix("**")) if glob.endswith("**") else name == glob)
    ]
    return max(fitting, key=len)


def may_import(importer: str, target: str) -> bool:
    """Say whether the arrow from one file to another points down, or stays in its room."""
    upper, lower = room_of(importer), room_of(target)
    if upper == lower or {upper, lower} <= WORDS:
        return True
    return HEIGHTS[upper] > HEIGHTS[lower]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_lies_below_it(name: str) -> None:
    targets = {target for module in imported(name) if (target := file_of(module)) is not None}

    assert {target for target in targets if not may_import(name, target)} == set()


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_imports_the_standard_library_msgspec_and_pure_modules_only(name: str) -> None:
    pure = {*PURE, "__init__.py"}

    foreign = {
        module
        for module in imported(name)
        if module.split(".")[0] not in sys.stdlib_module_names | THE_CORE_HAS
        and not (module.split(".")[0] == "streams" and (file_of(module) is None or file_of(module) in pure))
    }

    assert foreign == set()


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_has_no_way_to_the_world(name: str) -> None:
    assert {module.split(".")[0] for module in imported(name)} & FORBIDDEN == set()


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_asks_no_clock(name: str) -> None:
    tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    assert attributes & {"now", "today", "utcnow"} == set()


def test_only_the_command_line_knows_click() -> None:
    users = {room_of(name) for name in MODULES if "click" in imported(name)}

    assert users == {"cli/**"}


def test_there_are_at_most_three_modules_at_the_top() -> None:
    top = [name for name in MODULES if "/" not in name and name != "__init__.py"]

    assert top == ["__main__.py", "events.py", "processor.py"]


def test_no_system_is_known_by_name_or_type_outside_the_ratings() -> None:
    systems = {"bga", "closeness", "fundox", "points", "weekly", "weekly_rules"}
    modules = {f"core/ratings/{system}.py" for system in systems}

    users = {
        name
        for name in MODULES
        if room_of(name) != "core/ratings/**" and {file_of(module) for module in imported(name)} & modules
    }

    assert users == set()


def test_the_architecture_page_names_every_room() -> None:
    page = (PROJECT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rooms = {name.split("/")[0] for name in MODULES if name not in {"__init__.py", "__main__.py"}}

    assert {room for room in rooms if f"`{room.removesuffix('.py')}" not in page} == set()
