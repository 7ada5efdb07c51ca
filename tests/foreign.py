"""Producers of games as other sites have them: librdkafka and kafka-python, with their own partitioners."""

from collections.abc import Callable, Iterable
from typing import Any

import orjson
from confluent_kafka import Producer
from kafka import KafkaProducer

# What a site takes for the key of a game.
KeyOf = Callable[[dict[str, Any]], bytes | None]
PATIENCE = 120.0
_GAMES_A_TRANSACTION = 10


def no_key(_game: dict[str, Any]) -> None:
    """Leave the partition to the client, which spreads records over all of them."""
    return None  # noqa: RET501 - the key that there is not


def ladder(game: dict[str, Any]) -> bytes:
    """Take the ladder, which librdkafka hashes by CRC32, not by murmur2."""
    return bytes(game["ladder"].encode())


def game_id(game: dict[str, Any]) -> bytes:
    """Take the game's id: the games of a ladder are anywhere."""
    return bytes(game["game_id"].encode())


def player(game: dict[str, Any]) -> bytes:
    """Take the first player."""
    return bytes(game["players"][0]["player_id"].encode())


def by_confluent(
    servers: str, topic: str, games: Iterable[dict[str, Any]], key_of: KeyOf = no_key, **options: Any
) -> None:
    """Send games through librdkafka, in Python's spelling of its options; every one must be taken."""
    producer = Producer({"bootstrap.servers": servers, **_dotted(options)})
    failed: list[Any] = []
    for game in games:
        _produce(producer, topic, game, key_of, failed)
    assert producer.flush(PATIENCE) == 0
    assert failed == []


def in_transactions(
    servers: str, topic: str, games: list[dict[str, Any]], aborted: list[dict[str, Any]], name: str
) -> None:
    """Send games through librdkafka in small transactions, and others in between that are aborted."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name})
    failed: list[Any] = []
    producer.init_transactions(PATIENCE)
    for start in range(0, len(games), _GAMES_A_TRANSACTION):
        producer.begin_transaction()
        for game in games[start : start + _GAMES_A_TRANSACTION]:
            _produce(producer, topic, game, no_key, failed)
        producer.commit_transaction(PATIENCE)
        producer.begin_transaction()
        for game in aborted[start : start + _GAMES_A_TRANSACTION]:
            _produce(producer, topic, game, game_id, [])
        producer.flush(PATIENCE)
        producer.abort_transaction(PATIENCE)
    assert failed == []


def by_kafka_python(
    servers: str, topic: str, games: Iterable[dict[str, Any]], key_of: KeyOf = no_key, **options: Any
) -> None:
    """Send games through kafka-python; every one must be taken."""
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", **options)
    try:
        sent = [
            producer.send(topic, value=_value(game), key=key_of(game), headers=_headers(game))
            for game in games
        ]
        for future in sent:
            future.get(PATIENCE)
    finally:
        producer.close()


def _produce(producer: Producer, topic: str, game: dict[str, Any], key_of: KeyOf, failed: list[Any]) -> None:
    producer.produce(
        topic,
        value=_value(game),
        key=key_of(game),
        headers=_headers(game),
        on_delivery=lambda error, _: failed.append(error) if error is not None else None,
    )
    producer.poll(0)


def _value(event: dict[str, Any]) -> bytes:
    return orjson.dumps({name: field for name, field in event.items() if name != "type"})


def _headers(event: dict[str, Any]) -> list[tuple[str, bytes]]:
    kind = event.get("type")
    return [] if kind is None else [("ce_type", f"{kind}.v1".encode())]


def _dotted(options: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): option for name, option in options.items()}
