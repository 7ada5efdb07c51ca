"""The commands of replay on a deployment of the tests, and records that are not there any more."""

import asyncio
from pathlib import Path

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete
from click.testing import CliRunner, Result
from sites import Site

from streams.cli.replay import replay_command, snapshot_command


def options(site: Site) -> list[str]:
    """Give the options that name a deployment and its rules."""
    return [
        f"--bootstrap-servers={site.settings.bootstrap_servers}",
        f"--topic-prefix={site.settings.topic_prefix}",
        f"--app-id={site.settings.app_id}",
        f"--ladders={site.ladder_file}",
    ]


def replay(site: Site, *arguments: str) -> Result:
    """Run `ladderlog replay` on a deployment's input."""
    return CliRunner().invoke(replay_command, [*options(site), *arguments])


def snapshot(site: Site, path: Path) -> Result:
    """Run `ladderlog snapshot`."""
    return CliRunner().invoke(snapshot_command, [*options(site), f"--out={path}"])


async def _delete(site: Site, topic: str, before: dict[int, int]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=site.settings.bootstrap_servers)
    await admin.start()
    try:
        await admin.delete_records(
            {TopicPartition(topic, number): RecordsToDelete(offset) for number, offset in before.items()}
        )
    finally:
        await admin.close()


def delete(site: Site, topic: str, before: dict[int, int]) -> None:
    """Delete the records of a topic below these offsets, as retention does."""
    asyncio.run(_delete(site, topic, before))
