"""What every format's games go through before they are written: who played, whether it counts, who won.

A format's reader says what stands in the file; here it is decided what becomes of it, in the same way for all
of them.
"""

import unicodedata
from typing import Any

from streams.files.report import FileReport, LineError, PassedOverError
from streams.imports.mapping import ImportMapping
from streams.imports.results import Result
from streams.imports.words import is_bye

FORFEITS_UNRATED = "games decided by forfeit, taken as unrated (--forfeits rated or skip)"
FORFEITS_RATED = "games decided by forfeit, taken as rated"
_PAIR = 2

Game = dict[str, Any]


class Games:
    """Finishes games as the mapping wants them."""

    def __init__(self, mapping: ImportMapping, report: FileReport) -> None:
        self._mapping = mapping
        self._report = report
        self._aliases = {self._plain(old): new for old, new in mapping.aliases.items()}

    def player(self, name: str, label: str) -> str:
        """Return a player's id. Raises PassedOverError when the name stands for nobody."""
        if is_bye(name):
            raise PassedOverError("bye", f"{label}: {name!r} is nobody: a bye is no game")
        plain = self._plain(name)
        return self._aliases.get(plain, plain)

    def take_result(self, players: list[dict[str, Any]], result: Result, winner: int | None = None) -> None:
        """Give two sides' players, of which each has a `side` of 0 or 1, what a result says.

        `winner` is the side that won, where the file says so beside the result. Raises LineError when the two
        do not fit.
        """
        ranks = result.ranks
        if winner is not None:
            points = result.points
            if points is not None and points[winner] < points[1 - winner]:
                raise LineError("result", f"the winner has {points[winner]:g} points and the loser more")
            ranks = (1, 2) if winner == 0 else (2, 1)
        for seat in players:
            side = seat.pop("side")
            if result.points is not None:
                seat["points"] = result.points[side]
            if ranks is not None:
                seat["rank"] = ranks[side]

    def finish(self, game: Game, *, forfeit: bool, rated: bool | None, line: int) -> Game:
        """Return a game with whether it is rated; `rated` is what the file says of it.

        Raises LineError, or PassedOverError, for one that is not to be written.
        """
        if forfeit:
            rated = self._of_a_forfeit(rated=rated, line=line)
        elif self._mapping.rated is not None:
            rated = self._mapping.rated
        players = game.pop("players")
        if rated is not None:
            game["rated"] = rated
        game["players"] = players
        if not any(all(name in seat for seat in players) for name in ("rank", "points")):
            if forfeit:
                raise PassedOverError("forfeit", "the game was decided by forfeit, and nobody says who won")
            if self._mapping.without_result != "keep":
                raise LineError(
                    "no-result", "neither a rank nor points of every player: nobody knows who won"
                )
        return game

    def _of_a_forfeit(self, *, rated: bool | None, line: int) -> bool | None:
        if self._mapping.forfeits == "skip":
            raise PassedOverError("forfeit", "the game was decided by forfeit (--forfeits skip)")
        if self._mapping.forfeits == "rated":
            self._report.note(FORFEITS_RATED, line)
            return rated if self._mapping.rated is None else self._mapping.rated
        self._report.note(FORFEITS_UNRATED, line)
        return False

    def _plain(self, name: str) -> str:
        mapping = self._mapping
        if mapping.trim:
            name = " ".join(name.split())
        if mapping.nfc:
            name = unicodedata.normalize("NFC", name)
        return name.casefold() if mapping.casefold else name
