"""The words by which files say that a game was not played, was not rated, or was drawn: each list is here.

Case, surrounding brackets and spaces do not matter.
"""

import re
from functools import lru_cache

# Who has no opponent in a round is paired with one of these.
_BYES = frozenset(("", "-", "--", "bye", "the bye", "no opponent", "spielfrei", "exempt", "oversidder"))
_UNPLAYED = frozenset(("unplayed", "not played", "cancelled", "canceled", "postponed", "bye", "spielfrei"))
_FORFEITS = frozenset(
    (
        *("forfeit", "forfeited", "forfait", "default", "walkover", "walk over", "w/o", "wo", "w.o.", "w.o"),
        *("no show", "no-show", "ff", "kampflos", "contumaz"),
    )
)
_RETIRED = frozenset(("ret", "ret.", "retired", "retirement", "aufgabe", "aufg.", "abd", "abd."))
DRAWS = frozenset(
    ("½", "1/2", "=", "0.5", ".5", "draw", "drawn", "tie", "tied", "remis", "nulle", "uafgjort")
)
_FLAGS = {
    **dict.fromkeys(("true", "yes", "y", "1", "rated", "ranked", "competitive", "t"), True),
    **dict.fromkeys(
        (
            *("false", "no", "n", "0", "f", "unrated", "unranked", "casual", "friendly", "exhibition"),
            *("training", "practice", "not rated", "non-rated", "nonrated"),
        ),
        False,
    ),
}
# "Rated Blitz game", "Casual Chess960 tournament …" as lichess.org writes, "FICS rated standard game" as the
# Free Internet Chess Server does, "Casual game" of chess programs. Other events may say anything: the Casual
# Chess Club's games are rated.
_EVENT = re.compile(
    r"(?:(?:fics|icc|chess\.com|lichess) )?(?P<word>rated|casual|unrated)"
    r"(?: (?:ultrabullet|bullet|lightning|blitz|rapid|classical|correspondence|standard|slow|untimed|chess960"
    r"|antichess|suicide|losers|crazyhouse|bughouse|atomic|horde|wild(?:/\w+)?|king of the hill|racing kings"
    r"|three-check|from position))?"
    r" (?:game|match|tournament|swiss|arena)\b.*",
    re.IGNORECASE,
)
_UNRATED = re.compile(r"\bunrated\b", re.IGNORECASE)


# The same few words come again and again, and so do the names of a club.
@lru_cache(maxsize=10_000)
def _plain(text: str) -> str:
    return " ".join(text.strip().strip("()[]<>").split()).casefold()


def is_bye(name: str) -> bool:
    """Say whether a name stands for nobody."""
    return _plain(name) in _BYES


def is_unplayed(text: str) -> bool:
    """Say whether a word says that a game was not played."""
    return _plain(text) in _UNPLAYED


def is_forfeit(text: str) -> bool:
    """Say whether a word says that a game was decided without being played; time is something else."""
    return _plain(text) in _FORFEITS


def is_retired(text: str) -> bool:
    """Say whether a word says that somebody gave the game up."""
    return _plain(text) in _RETIRED


def is_draw(text: str) -> bool:
    """Say whether a word says that nobody won."""
    return _plain(text) in DRAWS


def rated_flag(text: str) -> bool | None:
    """Return whether a cell or tag says that a game is rated; None when it says neither."""
    return _FLAGS.get(_plain(text))


@lru_cache(maxsize=1000)
def rated_event(event: str) -> bool | None:
    """Return whether the name of an event says that its games are rated; None when it says neither."""
    said = _EVENT.fullmatch(event.strip())
    if said is not None:
        return said["word"].lower() == "rated"
    return False if _UNRATED.search(event) else None


def flags() -> list[str]:
    """Return the words that `rated_flag` knows."""
    return list(_FLAGS)
