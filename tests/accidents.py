"""What happens to topics and groups on a site: deleted, made again, emptied."""

import asyncio
from collections.abc import Sequence

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import DeleteGroupsRequest
from sites import Site

from streams.runtime.topics import ensure_topics
from streams.testing import topics as testing_topics


def delete_topics(site: Site, topics: Sequence[str]) -> None:
    """Delete topics, and wait until they are gone."""
    asyncio.run(testing_topics.delete_topics(site.settings.connection, topics))


def make_again(site: Site, topics: Sequence[str]) -> None:
    """Delete topics and make them again, empty."""
    delete_topics(site, topics)
    asyncio.run(ensure_topics(site.settings))


def empty(site: Site, topic: str) -> None:
    """Delete every key of a compacted topic, as a tool may do."""
    for number, records in site.read(topic).items():
        keys = dict.fromkeys(record.key for record in records)
        site.produce_records([{"key": key, "value": None, "partition": number} for key in keys], topic=topic)


def delete_group(site: Site) -> None:
    """Delete the consumer group with its offsets, as the broker does when they expire."""
    asyncio.run(_delete_group(site))


async def _delete_group(site: Site) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=site.settings.bootstrap_servers)
    await admin.start()
    try:
        coordinator = await admin.find_coordinator(site.settings.app_id)
        # The admin client has no call of its own for it.
        response = await admin._send_request(  # noqa: SLF001 - the admin client has no call of its own for it
            DeleteGroupsRequest([site.settings.app_id]), coordinator
        )
        assert [code for _, code in response.results] == [0]
    finally:
        await admin.close()
