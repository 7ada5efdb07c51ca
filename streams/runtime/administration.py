"""Asking a broker about itself, its topics and its groups."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka.admin import AIOKafkaAdminClient

from streams.runtime.connection import Connection
from streams.runtime.connection_errors import started


@asynccontextmanager
async def administering(connection: Connection) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield a started admin client, and close it at the end of the block. Raises BrokerUnreachableError."""
    admin = AIOKafkaAdminClient(**connection.client_arguments())
    try:
        await started(admin, connection)
        yield admin
    finally:
        await admin.close()
