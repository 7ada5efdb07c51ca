"""The ladder file, read from disk: `streams.core.rules` says what may stand in it."""

import tomllib
from pathlib import Path

from streams.core.ratings.parameters import LadderFileError
from streams.core.rules import LadderRules, parse_ladders


def example_ladder_file() -> Path:
    """Return the path of the package's own ladder file, that of the example club."""
    return Path(__file__).parent.parent / "ladders.toml"


def read_ladders(path: Path) -> dict[str, LadderRules]:
    """Return the rules of each ladder in a file. Raises LadderFileError, which names the file and the key."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LadderFileError(f"{path}: {error}") from error
    try:
        return parse_ladders(document)
    except LadderFileError as error:
        raise LadderFileError(f"{path}: {error}") from error
