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
        # Some editors put a byte order mark at the beginning.
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:  # no UTF-8, no TOML, or a number of thousands of digits
        raise LadderFileError(f"{path}: {error}") from error
    try:
        return parse_ladders(document)
    except LadderFileError as error:
        raise LadderFileError(f"{path}: {error}") from error
