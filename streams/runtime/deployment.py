"""A deployment as its topics and its changelog know it: its partitions and rules, and who else is there."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version

from aiokafka import TopicPartition

from streams.core.events import GAME_FINISHED
from streams.core.manifest import Manifest, merged
from streams.core.rules import LadderRules
from streams.runtime.batches import partition_of
from streams.runtime.changelog import MANIFEST, decode_manifest, read_changelog
from streams.runtime.layout import compare_partitions
from streams.runtime.reader import reading
from streams.runtime.settings import LADDERS, Settings
from streams.runtime.topics import topics_on


class NoDeploymentError(Exception):
    """There is no such deployment, or not all of its topics; the message names those there are."""


@dataclass(frozen=True)
class Deployment:
    """A deployment that was found; `manifest` is None as long as no worker has started."""

    settings: Settings
    manifest: Manifest | None


def manifest_now(settings: Settings, rules: Mapping[str, LadderRules]) -> Manifest:
    """Return the manifest of a deployment that this program runs by these rules."""
    return Manifest.of(rules, settings.partitions, version("ladderlog"))


async def find_deployment(settings: Settings) -> Deployment:
    """Return a deployment with the partitions its changelog has, and its manifest.

    Raises NoDeploymentError when a topic is missing.
    """
    settings = await find_topics(settings)
    manifests = await asyncio.gather(
        *(_read_manifest(settings, partition) for partition in range(settings.partitions))
    )
    home_of = lambda ladder: partition_of(ladder.encode(), settings.partitions)  # noqa: E731 - one expression
    return Deployment(settings, merged(dict(enumerate(manifests)), home_of))


async def find_topics(settings: Settings) -> Settings:
    """Return the settings with the partitions that the changelog has.

    Raises NoDeploymentError when the changelog, the input or a topic published to is missing, and
    PartitionsChangedError when the deployment began with another number of partitions.
    """
    topics = await topics_on(settings.connection)
    if settings.changelog_topic not in topics or settings.input_topic not in topics:
        raise NoDeploymentError(_no_deployment(settings, topics))
    missing = [topic for topic in settings.all_topics if topic not in topics]
    if missing:
        raise NoDeploymentError(
            f"topic {', '.join(missing)} is missing; `ladderlog topics` with the same options creates it"
        )
    compare_partitions(settings, topics[settings.changelog_topic], topics[settings.input_topic])
    return replace(settings, partitions=topics[settings.changelog_topic])


async def check_input(settings: Settings) -> None:
    """Raise NoDeploymentError when the input topic is missing."""
    topics = await topics_on(settings.connection)
    if settings.input_topic not in topics:
        raise NoDeploymentError(_no_deployment(settings, topics))


def deployments_on(topics: Iterable[str]) -> list[tuple[str, str]]:
    """Return prefix and application id of every deployment whose changelog is among the topics."""
    names = sorted(topics)
    # The longest first: a prefix may begin with another one.
    prefixes = sorted(
        (name.removesuffix(GAME_FINISHED) for name in names if name.endswith(GAME_FINISHED)),
        key=len,
        reverse=True,
    )
    found = []
    for name in names:
        if name.endswith(LADDERS.changelog_suffix):
            prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), "")
            found.append((prefix, name.removeprefix(prefix).removesuffix(LADDERS.changelog_suffix)))
    return found


async def _read_manifest(settings: Settings, partition: int) -> Manifest | None:
    async with reading(settings.connection) as reader:
        rows, _ = await read_changelog(reader, TopicPartition(settings.changelog_topic, partition))
    return decode_manifest(rows.get(MANIFEST))


def _no_deployment(settings: Settings, topics: Mapping[str, int]) -> str:
    """Return what to tell of a deployment whose topics are not there, with those that are."""
    there = [
        f"--app-id {app_id}" + (f" --topic-prefix {prefix}" if prefix else "")
        for prefix, app_id in deployments_on(topics)
    ]
    asked = f"no deployment {settings.app_id!r} with topic prefix {settings.topic_prefix!r}"
    return (
        f"there is {asked} on {settings.bootstrap_servers}. "
        + (f"There are: {'; '.join(there)}. " if there else "")
        + "`ladderlog topics` with the same options creates what is missing"
    )
