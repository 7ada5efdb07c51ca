"""What a subscriber has read, checked: valid events, chains without a gap, nothing twice.

For records of rating-changed, competition-closed, game-ignored and game-rejected, in the order in which they
were read.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from streams import events
from streams.wire.encode import ERROR_HEADER
from streams.wire.schemas import first_error, validator

_OUTPUTS = (events.RATING_CHANGED, events.COMPETITION_CLOSED, events.GAME_IGNORED, events.GAME_REJECTED)


class Problem(NamedTuple):
    """Something about a record that cannot be right, or was read before.

    `kind` is one of

    - `redelivered`: the record was read before; apply each once, by its position or its change_id.
    - `order`: it lies before one that was read earlier.
    - `double`: the same change, or the same standings, stand in two records.
    - `chain`: its sequence or revision does not follow the last one, or it begins where that has not ended.
    - `invalid`: it does not fit its JSON Schema, or has not the key that it should have.
    """

    kind: str
    topic: str
    partition: int
    offset: int
    message: str

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}: {self.message}"


class _Read(NamedTuple):
    """A record as any client has it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


class _Link(NamedTuple):
    """The last change of a player in a system (and week)."""

    sequence: int
    after: float
    partition: int


class _Revision(NamedTuple):
    """The last record of a week's standings."""

    revision: int
    final: bool
    part: int
    parts: int


class Checker:
    """Takes the records that a subscriber reads, one after the other, and gathers what is wrong with them.

    `problems` has all of them. Without `from_beginning` the subscriber began somewhere in the topics, and
    what came before is not missed. It remembers the id of every record: it is for tests, not for ever.
    """

    def __init__(self, *, from_beginning: bool = True) -> None:
        self.problems: list[Problem] = []
        self._from_beginning = from_beginning
        self._positions: dict[tuple[str, int], int] = {}
        self._identities: dict[str, str] = {}
        self._links: dict[tuple[str, ...], _Link] = {}
        self._revisions: dict[tuple[str, str], _Revision] = {}

    def take(self, record: Any) -> list[Problem]:
        """Check the next record, and return what is wrong with it.

        A record of aiokafka, kafka-python or confluent-kafka, or anything with their names. Raises ValueError
        for one of a topic that nothing is published to.
        """
        read = _read(record)
        found = [
            Problem(kind, read.topic, read.partition, read.offset, message)
            for kind, message in self._check(read, _name_of(read.topic))
        ]
        self.problems += found
        return found

    def _check(self, read: _Read, name: str) -> Iterator[tuple[str, str]]:
        if name == events.GAME_REJECTED:
            if all(header != f"{ERROR_HEADER}reason" for header, _ in read.headers):
                yield "invalid", f"headers: there is no {ERROR_HEADER}reason"
            yield from self._check_position(read, None)
            return
        try:
            body = orjson.loads(read.value or b"")
        except orjson.JSONDecodeError as error:
            yield "invalid", f"the value is not JSON: {error}"
            return
        if not validator(name).is_valid(body):
            yield "invalid", first_error(name, body)
            return
        key = body["player_id" if name == events.RATING_CHANGED else "ladder"]
        if read.key != key.encode():
            yield "invalid", f"the key is {read.key!r}, not {key!r}"
        again = list(self._check_position(read, _identity(name, body)))
        yield from again
        if any(kind != "order" for kind, _ in again):
            return
        if name == events.RATING_CHANGED:
            yield from self._check_chain(read, body)
        elif name == events.COMPETITION_CLOSED:
            yield from self._check_revision(body)

    def _check_position(self, read: _Read, identity: str | None) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with where a record lies; `identity` is what stands in one record only."""
        partition = (read.topic, read.partition)
        last = self._positions.get(partition, -1)
        self._positions[partition] = max(last, read.offset)
        position = f"{read.topic}/{read.partition}/{read.offset}"
        known = None if identity is None else self._identities.get(identity)
        if known is not None and known != position:
            yield "double", f"{identity} stands at {known} too"
        elif known is not None or (identity is None and read.offset <= last):
            yield "redelivered", f"{identity or 'it'} was read before"
        elif read.offset <= last:
            yield "order", f"it was read behind offset {last}"
        if identity is not None and known is None:
            self._identities[identity] = position

    def _check_chain(self, read: _Read, body: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield what does not fit between a change and the one before it."""
        player, sequence, before = body["player_id"], body["sequence"], body["before"]
        where = "/".join([body["ladder"], body["system"], *filter(None, [body.get("week")])])
        who = f"player {player!r} in {where}"
        chain = (body["ladder"], body["system"], body.get("week", ""), player)
        last = self._links.get(chain)
        self._links[chain] = _Link(sequence, body["after"], read.partition)
        if last is None:
            if self._from_beginning and sequence != 1 and body.get("reason") != "import":
                yield "chain", f"{who} begins with sequence {sequence}, not 1"
            return
        if sequence != last.sequence + 1:
            yield "chain", f"{who}: sequence {sequence} follows {last.sequence}"
        elif before != last.after:
            yield (
                "chain",
                f"{who}: sequence {sequence} begins at {before}, the last one ended at {last.after}",
            )
        if read.partition != last.partition:
            yield "chain", f"{who} was in partition {last.partition} before: the changes have no order"

    def _check_revision(self, body: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield what does not fit between a week's standings and those before them."""
        week = (body["ladder"], body["week"])
        which = f"{body['ladder']}/{body['week']}"
        now = _Revision(body["revision"], body["final"], body.get("part", 1), body.get("parts", 1))
        last = self._revisions.get(week)
        self._revisions[week] = now
        if last is None:
            if self._from_beginning and (now.revision, now.part) != (1, 1):
                yield "chain", f"{which} begins with {_shown(now)}"
            return
        is_whole = last.part == last.parts
        expected = (last.revision + 1, 1) if is_whole else (last.revision, last.part + 1)
        if (now.revision, now.part) != expected:
            yield "chain", f"{which}: {_shown(now)} follows {_shown(last)}"
        if last.final and not now.final:
            yield "chain", f"{which} is not final any more"


def problems(records: Iterable[Any], *, from_beginning: bool = True) -> list[str]:
    """Return what is wrong with records that a subscriber has read, as text; nothing when all is well."""
    checker = Checker(from_beginning=from_beginning)
    for record in records:
        checker.take(record)
    return [str(problem) for problem in checker.problems]


def _read(record: Any) -> _Read:
    """Return a record of any client: confluent-kafka has methods where others have attributes."""
    found = {name: getattr(record, name) for name in _Read._fields}
    fields = {name: field() if callable(field) else field for name, field in found.items()}
    return _Read(**{**fields, "headers": list(fields["headers"] or ())})


def _name_of(topic: str) -> str:
    """Return the name of a topic without its prefix. Raises ValueError when nothing is published to it."""
    for name in _OUTPUTS:
        if topic.endswith(name):
            return name
    raise ValueError(f"topic {topic!r} is none of {', '.join(_OUTPUTS)}, with or without a prefix")


def _shown(now: _Revision) -> str:
    return f"revision {now.revision}" + (f", part {now.part} of {now.parts}," if now.parts > 1 else "")


def _identity(name: str, body: dict[str, Any]) -> str | None:
    """Return what stands in one record only; None when there is nothing."""
    if name == events.RATING_CHANGED:
        return f"change_id {body['change_id']!r}"
    if name == events.COMPETITION_CLOSED:
        part = f", part {body['part']}" if "part" in body else ""
        return f"revision {body['revision']} of {body['ladder']}/{body['week']}{part}"
    return None
