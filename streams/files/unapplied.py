"""The voids and versions of a file that its fold has noted and not applied: only a rebuild can."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from streams.core.events import Event, Game, GameIgnored, GameVoided
from streams.core.publications import GameRated, Publication

_SHOWN = 5


class Word(NamedTuple):
    """What was said of a game, on which line, counted from 1."""

    what: str
    line: int


class Unapplied:
    """The last word on every game of which the last word did not count.

    A void counts when it comes before its game, and a version when it is the first report. What comes later
    is for a rebuild.
    """

    def __init__(self) -> None:
        self._words: dict[tuple[str, str], Word] = {}

    def __bool__(self) -> bool:
        return bool(self._words)

    def take(
        self,
        line: int,
        event: Event,
        published: Sequence[Publication],
        is_voided_ahead: Callable[[Game], bool],
    ) -> None:
        """Take in an event that was not rejected, and what follows from it.

        `is_voided_ahead` says of a game that was ignored as voided whether it was taken back before it came.
        """
        if isinstance(event, GameVoided):
            self._words[event.ladder, event.game_id] = Word("void", line)
        elif isinstance(event, Game):
            key = event.ladder, event.game_id
            if not published:
                self._words[key] = Word(f"version {event.version}", line)
            elif key in self._words and (
                isinstance(published[0], GameRated) or (_is_voided(published) and is_voided_ahead(event))
            ):
                del self._words[key]

    def text(self) -> str:
        """Return which they are, the first of many, and what applies them; empty when there are none."""
        if not self._words:
            return ""
        words = sorted(self._words.items(), key=lambda word: word[1].line)
        first = [
            f"{what} of {game_id!r} on {ladder} (line {line})"
            for (ladder, game_id), (what, line) in words[:_SHOWN]
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
