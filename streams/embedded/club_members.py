"""The members of the simulated club, the same for the same seed: names, strength and eagerness.

Pure: of `random.Random` only `random()` is used, whose sequence Python promises to keep.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

Chance = Callable[[], float]
"""Draws from 0 up to 1, one after the other."""

LEVELS = 101


class Member(NamedTuple):
    """A player of the club: how strong, and how eager to play."""

    player_id: str
    level: int
    activity: int


def chance(seed: int | str) -> Chance:
    """Return draws that are the same for the same seed."""
    return Random(seed).random  # noqa: S311 - repeatable play, no secrets


def members(*, players: int, seed: int) -> list[Member]:
    """Return the players of the club; a larger club of the same seed starts with the same players."""
    random = chance(seed)
    names = _names(random)
    club = []
    for _, name in zip(range(players), names, strict=False):
        # Four uniform numbers are near enough to a bell.
        level = int((random() + random() + random() + random()) / 4 * LEVELS)
        # The fourth power: the keenest play five times the average, half of the club under a third of it.
        keen = random()
        club.append(Member(name, level, 1 + int(1000 * keen * keen * keen * keen)))
    return club


def _names(random: Chance) -> Iterator[str]:
    """Yield different names without end: given ones first, then made ones of syllables."""
    yield from _GIVEN
    seen = set(_GIVEN)
    middles = 0
    room = len(_HEADS) * len(_TAILS) // 4
    while True:
        # A further syllable when a quarter of the shorter names is taken keeps the tries few.
        if len(seen) > room:
            middles += 1
            room *= len(_MIDDLES)
        while (name := _name(middles, random)) in seen:
            pass
        seen.add(name)
        yield name


def _name(middles: int, random: Chance) -> str:
    syllables = [_pick(_HEADS, random)]
    syllables += [_pick(_MIDDLES, random) for _ in range(middles)]
    return "".join(syllables) + _pick(_TAILS, random)


def _pick(choices: Sequence[str], random: Chance) -> str:
    return choices[int(random() * len(choices))]


def _words(text: str) -> list[str]:
    """Return the words of a text: a list of them would fill a page."""
    return text.split()


_GIVEN = _words(
    "ann bob tobias clara emil freja hugo ines jonas karla leo marie nils olga pierre rosa sven tilde "
    "ulrik vera walter yasmin zoe anton beatrice camille david elsa felix greta henri ida jules kirsten "
    "louis mathilde noah odette paul ragna simon therese victor alice bastian cecile dorte etienne fanny "
    "gustav helene ivan jeanne"
)
_HEADS = _words(
    "a be ca da e fa ga ha i jo ka la ma ni o pe ra sa ti u va wi yo ze bri cla dre flo gre kri mar ste tho"
)
_MIDDLES = _words("da le li ma mi na no ra ri ro sa ta ti va vi")
_TAILS = _words(
    "bel bert da dan fred la lie lin lis mar mas na ne nia nor ra ric ro rin sa sia ta tan tine ton vin"
)
