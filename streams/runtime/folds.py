"""What the folds of a deployment differ in for whoever drives one: a worker, a replay, an audit.

`streams.runtime.settings` has their topics; `kind_of` gives the rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aiokafka.structs import ConsumerRecord

from streams.core.events import Event
from streams.runtime.homes import LADDER, Subject
from streams.runtime.settings import LADDERS, Settings
from streams.wire.decode import decode_consumed


@dataclass(frozen=True)
class FoldKind:
    """How records of a fold's input become events, and what has a home there."""

    decode: Callable[[ConsumerRecord], Event]
    subject: Subject


_KINDS: Mapping[str, FoldKind] = {LADDERS.name: FoldKind(decode_consumed, LADDER)}


def kind_of(settings: Settings) -> FoldKind:
    """Return what is particular to the fold that these settings are of."""
    return _KINDS[settings.fold.name]
