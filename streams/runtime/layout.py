"""How many partitions a deployment began with, and whether its input still has as many.

A ladder's home goes by that number. Kafka can add partitions to a topic and not take them away again, so
that a deployment whose input has more of them must move to new topics (`ladderlog repartition`).
"""

from collections.abc import Mapping
from dataclasses import replace

from streams.runtime.settings import Settings
from streams.runtime.topics import partition_counts


class PartitionsChangedError(Exception):
    """The input topic has another number of partitions than the deployment began with."""


def deployment_partitions(settings: Settings, counts: Mapping[str, int]) -> int | None:
    """Return how many partitions the deployment began with; None when there is no deployment yet.

    `counts` are the partitions of the topics that there are. The changelog is made with as many as the input
    and nobody else writes to it.
    """
    return counts.get(settings.changelog_topic)


async def check_partitions(settings: Settings) -> int | None:
    """Return how many partitions the input has; None when it is missing.

    Raises PartitionsChangedError when the deployment began with another number.
    """
    topics = (settings.input_topic, settings.changelog_topic)
    counts = await partition_counts(settings.connection, topics)
    now = counts.get(settings.input_topic)
    began_with = deployment_partitions(settings, counts)
    if now is not None and began_with is not None:
        compare_partitions(settings, began_with, now)
    return now


async def with_partitions(settings: Settings) -> Settings:
    """Return the settings with the number of partitions that there are, whatever they said.

    Raises PartitionsChangedError as `check_partitions` does.
    """
    partitions = await check_partitions(settings)
    return settings if partitions is None else replace(settings, partitions=partitions)


def compare_partitions(settings: Settings, began_with: int, now: int) -> None:
    """Raise PartitionsChangedError, which says what to do, when the two numbers differ."""
    if now == began_with:
        return
    raise PartitionsChangedError(
        f"topic {settings.input_topic} has {now} partitions, and deployment {settings.app_id!r} began with "
        f"{began_with}. The home of a ladder goes by that number, so that nothing more can be rated here. No "
        f"record is lost: `ladderlog repartition --to-prefix v2. --partitions {now}` copies the log into new "
        f"topics, where a deployment with {now} partitions goes on (docs/guides/more-partitions.md)."
    )
