"""The voids and versions of a file that its fold has noted and not applied: only a rebuild can."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from streams.core.events import Game, GameIgnored, GameVoided
from streams.core.publications import GameRated, Publication

_SHOWN = 5


class Word(NamedTuple):
    """What was said of a game, on which line, counted from 1.

    A void counts for a game that comes behind it, if that ended at `ahead_from` (in seconds since 1970) or
    later: one that ended earlier may have come before, and been forgotten.
    """

    what: str
    line: int
    ahead_from: float = inf


class Unapplied:
    """The last word on every game of which the last word did not count.

    A void counts when it comes before its game, and a version when it is the first report. What comes later
    is for a rebuild.
    """

    def __init__(self) -> None:
        # By ladder and game id.
        self.words: dict[tuple[str, str], Word] = {}

    def void(self, line: int, voided: GameVoided, ahead_from: float) -> None:
        """Take in a void; games that ended from `ahead_from` on have not come before it."""
        last = self.words.get((voided.ladder, voided.game_id))
        if last is not None:
            # A second void of a game that has not come takes nothing from the first.
            ahead_from = min(ahead_from, last.ahead_from)
        self.words[voided.ladder, voided.game_id] = Word("void", line, ahead_from)

    def game(self, line: int, game: Game, published: Sequence[Publication]) -> None:
        """Take in a game that was not rejected, and what follows from it."""
        key = game.ladder, game.game_id
        if not published:
            self.words[key] = Word(f"version {game.version}", line)
        elif key in self.words and (
            isinstance(published[0], GameRated)
            or (_is_voided(published) and game.ended_epoch >= self.words[key].ahead_from)
        ):
            del self.words[key]

    def text(self) -> str:
        """Return which they are, the first of many, and what applies them; empty when there are none."""
        if not self.words:
            return ""
        words = sorted(self.words.items(), key=lambda word: word[1].line)
        first = [
            f"{what} of {game_id!r} on {ladder} (line {line})"
            for (ladder, game_id), (what, line, _) in words[:_SHOWN]
        ]
        more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
        return (
            f"noted and not applied: {', '.join(first)}{more}. What is said of a game counts by itself only "
            "before the game; in a deployment `ladderlog rebuild` applies the rest"
        )


def _is_voided(published: Sequence[Publication]) -> bool:
    """Say whether a game was ignored because it was taken back."""
    ignored = published[0]
    return isinstance(ignored, GameIgnored) and any(reason.reason == "voided" for reason in ignored.reasons)
