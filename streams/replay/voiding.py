"""Taking games back: what the log says of them so far, and telling the log."""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from aiokafka import TopicPartition

from streams.core.events import Game, GameVoided, Rejected
from streams.runtime.homes import Homes
from streams.runtime.produce import ProduceReport, Sender
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings
from streams.wire.decode import decode_consumed


@dataclass
class _LastWord:
    """The highest version of a game so far, who played in it, and whether it was taken back after that.

    `players` is None as long as the game itself is not on the log.
    """

    version: int = 1
    players: frozenset[str] | None = None
    voided: bool = False


@dataclass(frozen=True)
class Voidable:
    """The games asked for, by what a void means for them.

    `on_log` are to be taken back, `missing` before they come; `voided` were taken back already, and
    `voided_missing` are so and have not come.
    """

    on_log: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    voided: list[str] = field(default_factory=list)
    voided_missing: list[str] = field(default_factory=list)


class LadderGames:
    """What the log says of the games of one ladder that have these ids, or in which a player took part.

    `players` are all who have played on the ladder, those of other games too.
    """

    def __init__(self, ladder: str, game_ids: Iterable[str], player: str | None) -> None:
        self.players: set[str] = set()
        self._ladder = ladder
        self._game_ids = dict.fromkeys(game_ids)
        self._player = player
        self._words: dict[str, _LastWord] = {}

    def take(self, event: Game | GameVoided) -> None:
        """Take in one event of the log, in order."""
        if event.ladder != self._ladder:
            return
        if isinstance(event, GameVoided):
            self._words.setdefault(event.game_id, _LastWord()).voided = True
            return
        self.players.update(event.players)
        if self._concerns(event):
            self._take_game(self._words.setdefault(event.game_id, _LastWord()), event)

    def voidable(self) -> Voidable:
        """Return the games asked for: first those named, then the player's."""
        voidable = Voidable()
        games = {**self._game_ids, **dict.fromkeys(filter(self._is_of_player, self._words))}
        for game_id in games:
            word = self._words.get(game_id, _LastWord())
            if word.players is None:
                (voidable.voided_missing if word.voided else voidable.missing).append(game_id)
            else:
                (voidable.voided if word.voided else voidable.on_log).append(game_id)
        return voidable

    def _concerns(self, game: Game) -> bool:
        # A version may leave the player out; not every game of the log is kept for that.
        return (
            game.version > 1
            or self._player in game.players
            or game.game_id in self._game_ids
            or game.game_id in self._words
        )

    def _take_game(self, word: _LastWord, game: Game) -> None:
        if game.version > word.version:
            word.version, word.players, word.voided = game.version, frozenset(game.players), False
        elif word.players is None:
            word.players = frozenset(game.players)

    def _is_of_player(self, game_id: str) -> bool:
        players = self._words[game_id].players
        return players is not None and self._player in players


async def read_games(
    settings: Settings, ladder: str, game_ids: Iterable[str], player: str | None
) -> LadderGames:
    """Return what the log says of these games and those of a player, if one.

    `settings.partitions` are those of the input. What lies away from the ladder's home comes to it, behind a
    void as well, when a worker forwards it.
    """
    games = LadderGames(ladder, game_ids, player)
    home = TopicPartition(settings.input_topic, Homes(settings.partitions).of(ladder))
    async for event in _events(settings, home):
        games.take(event)
    return games


async def void(settings: Settings, ladder: str, game_ids: Iterable[str], reason: str) -> ProduceReport:
    """Append a game-voided event for each game, and return what the broker took."""
    async with Sender(settings, "ladderlog/void") as sender:
        for game_id in game_ids:
            await sender.send({"type": "game-voided", "ladder": ladder, "game_id": game_id, "reason": reason})
    return sender.report


async def _events(settings: Settings, tp: TopicPartition) -> AsyncIterator[Game | GameVoided]:
    """Yield the games of a partition and what was taken back; what is no valid event is passed over."""
    async with reading(settings.connection) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            for record in records:
                with suppress(Rejected):
                    event = decode_consumed(record)
                    if isinstance(event, Game | GameVoided):
                        yield event
