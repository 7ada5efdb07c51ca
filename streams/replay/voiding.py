"""Taking games back: which a player has, and telling the log."""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

from aiokafka import TopicPartition

from streams.core.events import Game, GameVoided, Rejected
from streams.runtime.homes import Homes
from streams.runtime.produce import ProduceReport, Sender
from streams.runtime.reader import end_offset, read_up_to, reading
from streams.runtime.settings import Settings
from streams.wire.decode import decode_consumed


async def games_of(settings: Settings, ladder: str, player: str) -> list[str]:
    """Return the ids of a player's games on a ladder in the log that were not taken back already.

    `settings.partitions` are those of the input. What lies away from the ladder's home is one of them once a
    worker has forwarded it.
    """
    game_ids: dict[str, None] = {}
    home = TopicPartition(settings.input_topic, Homes(settings.partitions).of(ladder))
    async for event in _events(settings, home):
        if event.ladder != ladder:
            continue
        if isinstance(event, GameVoided):
            game_ids.pop(event.game_id, None)
        elif player in event.players:
            game_ids[event.game_id] = None
    return list(game_ids)


async def void(settings: Settings, ladder: str, game_ids: Iterable[str], reason: str) -> ProduceReport:
    """Append a game-voided event for each game, and return what the broker took."""
    async with Sender(settings, "ladderlog/void") as sender:
        for game_id in game_ids:
            await sender.send({"type": "game-voided", "ladder": ladder, "game_id": game_id, "reason": reason})
    return sender.report


async def _events(settings: Settings, tp: TopicPartition) -> AsyncIterator[Game | GameVoided]:
    """Yield the games of a partition and what was taken back; what is no valid event is passed over."""
    async with reading(settings.bootstrap_servers) as reader:
        async for records in read_up_to(reader, tp, None, await end_offset(reader, tp)):
            for record in records:
                with suppress(Rejected):
                    event = decode_consumed(record)
                    if isinstance(event, Game | GameVoided):
                        yield event
