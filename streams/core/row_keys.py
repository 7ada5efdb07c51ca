"""Keys of rows and ids of changes: parts joined by '/', unambiguous whatever ids contain.

Pure: standard library only.
"""


def quote_part(part: str) -> str:
    """Escape what would make a joined key ambiguous: `%` and `/`."""
    if "%" in part:
        part = part.replace("%", "%25")
    return part.replace("/", "%2F") if "/" in part else part


def join_key(*parts: str) -> str:
    """Join parts with '/'. The last part stays as it is, so that most keys read as their ids."""
    *first, last = parts
    return "/".join([*map(quote_part, first), last])


def split_key(key: str, parts: int) -> list[str]:
    """Take a joined key of that many parts apart again. Raises ValueError when it has fewer."""
    split = key.split("/", parts - 1)
    if len(split) != parts:
        raise ValueError(f"row key {key!r} has {len(split)} parts, not {parts}")
    return [part.replace("%2F", "/").replace("%25", "%") for part in split[:-1]] + [split[-1]]
