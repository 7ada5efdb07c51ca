"""Mappings with a name: files of the package's own folder, and of another one, if somebody has one."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from streams.imports.mapping import MappingError

_ENDING = ".toml"


def presets(folder: Path | None = None) -> dict[str, str]:
    """Return the texts of all presets by name; of two with one name that of the folder.

    Raises MappingError when the folder cannot be read.
    """
    own = files("streams.imports") / "presets"
    texts = {
        entry.name.removesuffix(_ENDING): entry.read_text(encoding="utf-8")
        for entry in sorted(own.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(_ENDING)
    }
    if folder is not None:
        try:
            texts |= {
                file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob(f"*{_ENDING}"))
            }
        except (OSError, UnicodeDecodeError) as error:
            raise MappingError(f"{folder}: {error}") from error
    return texts


def preset(name: str, folder: Path | None = None) -> dict[str, Any]:
    """Return a preset's document. Raises MappingError when there is none of that name, or it is not TOML."""
    known = presets(folder)
    if name not in known:
        raise MappingError(f"preset: {name!r} is none of {', '.join(known)} (a folder of yours: --presets)")
    return read_document(known[name], f"the preset {name}")


def read_document(text: str, what: str) -> dict[str, Any]:
    """Return the document that a text of TOML is. Raises MappingError, which names it."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MappingError(f"{what}: {error}") from error


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document put over another one; of a table that both have, the entries of both."""
    result = dict(below)
    for key, value in above.items():
        lower = result.get(key)
        if isinstance(lower, dict) and isinstance(value, dict):
            result[key] = merged(lower, value)
        else:
            result[key] = value
    return result
