"""Counts games that ended at one moment: nobody knows which came first, and ratings may depend on it."""

from collections import Counter
from collections.abc import Sequence


class Simultaneous:
    """Takes a ladder's games in order, and counts those that ended at the moment of another one beside them.

    `games` is how many they are; `of_a_player` how many of them have a player who is in another one as well.
    """

    def __init__(self) -> None:
        self.games = 0
        self.of_a_player = 0
        self._moments: dict[str, tuple[float, list[Sequence[str]]]] = {}

    def take(self, ladder: str, moment: float, players: Sequence[str]) -> None:
        """Take one more game."""
        known = self._moments.get(ladder)
        if known is not None and known[0] == moment:
            known[1].append(players)
            return
        if known is not None:
            self._count(known[1])
        self._moments[ladder] = (moment, [players])

    def close(self) -> None:
        """Count those of the last moment of each ladder."""
        for _, together in self._moments.values():
            self._count(together)
        self._moments.clear()

    def _count(self, together: Sequence[Sequence[str]]) -> None:
        if len(together) == 1:
            return
        self.games += len(together)
        times = Counter(player for players in together for player in players)
        self.of_a_player += sum(any(times[player] > 1 for player in players) for players in together)
