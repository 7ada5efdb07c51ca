"""People who are written in several ways in one file, which makes two players of one."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

_WHOLE = re.compile(r"(\d+)\.0+")
_SHOWN = 10
# Beyond so many, what is kept would be more than the file is worth.
_KEPT = 2_000_000


class Names:
    """The names of a file's players, and which of them may be of the same one."""

    def __init__(self) -> None:
        self._spellings: dict[str, str | list[str]] = {}

    def add(self, names: Iterable[str]) -> None:
        """Take in the players of a game."""
        for name in names:
            key = _key(name)
            known = self._spellings.get(key)
            if known is None:
                if len(self._spellings) < _KEPT:
                    self._spellings[key] = name
            elif isinstance(known, list):
                if name not in known:
                    known.append(name)
            elif known != name:
                self._spellings[key] = [known, name]

    def remarks(self) -> Iterator[str]:
        """Yield what to say of people who seem to be written in several ways, the first of them by name."""
        twice = [known for known in self._spellings.values() if isinstance(known, list)]
        if not twice:
            return
        yield (
            f"people who seem to be written in several ways: {len(twice)}; each way is a player "
            f"(--trim, --nfc, --casefold, --aliases)"
        )
        for names in twice[:_SHOWN]:
            yield "  " + " and ".join(map(ascii_where_alike, names))
        if len(twice) > _SHOWN:
            yield f"  and {len(twice) - _SHOWN} more"


def ascii_where_alike(name: str) -> str:
    """Return a name as it is shown beside one that may look the same: parts of letters are spelled out."""
    is_composed = unicodedata.is_normalized("NFC", name)
    return repr(name) if is_composed and name.isprintable() else ascii(name)


def _key(name: str) -> str:
    key = " ".join(unicodedata.normalize("NFKC", name).split()).casefold()
    whole = _WHOLE.fullmatch(key)
    return key if whole is None else whole[1]
