"""A Kafka from wherever one is to be had: given, embedded, or in a container."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from streams.embedded.broker import EmbeddedBroker
from streams.embedded.container import container
from streams.embedded.errors import BrokerError


@contextmanager
def provided(bootstrap: str | None = None) -> Iterator[str]:
    """Yield the address of a Kafka: a given one, else one that lives as long as the block.

    `bootstrap` comes first, then `LADDERLOG_BOOTSTRAP_SERVERS`; otherwise `LADDERLOG_BROKER` chooses between
    `embedded`, the default, and `testcontainers`. Raises BrokerError when none can be had.
    """
    servers = bootstrap or os.environ.get("LADDERLOG_BOOTSTRAP_SERVERS")
    kind = os.environ.get("LADDERLOG_BROKER") or "embedded"
    if servers:
        yield servers
    elif kind == "embedded":
        with EmbeddedBroker() as broker:
            yield broker.bootstrap_servers
    elif kind == "testcontainers":
        with container() as address:
            yield address
    else:
        raise BrokerError(f"LADDERLOG_BROKER is {kind!r}: it must be 'embedded' or 'testcontainers'.")
