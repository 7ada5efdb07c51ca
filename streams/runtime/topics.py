"""The topics of a deployment: their settings, their creation, and a check of those that are there."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import ClusterAuthorizationFailedError, TopicAuthorizationFailedError, for_code

from streams.runtime.administration import administering
from streams.runtime.connection import Connection
from streams.runtime.connection_errors import BrokerUnreachableError
from streams.runtime.rights import MissingRightsError, Right, missing_text
from streams.runtime.settings import Settings
from streams.runtime.topic_settings import Config, Finding, findings
from streams.wire.decode_fast import MAX_RECORD_BYTES

# Records over 1 MiB are rejected with a reason, so the broker has to take them. What is published is smaller
# than Kafka's own default.
MAX_INPUT_BYTES = 4 * MAX_RECORD_BYTES
_TOPIC_EXISTS = 36
_KEEP_FOR_EVER = "-1"
_POLL_SECONDS = 0.5
# How long a new topic may take to be known; who asks too early is told that it is missing.
_CREATED_SECONDS = 30.0
_CREATED_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class TopicSpec:
    """A topic as it has to be: its full name, partitions, replication and settings."""

    name: str
    partitions: int
    replication: int
    config: dict[str, str]


@dataclass(frozen=True)
class TopicReport:
    """Whether a topic was created, and what is wrong with it: nothing when it is as it has to be."""

    spec: TopicSpec
    created: bool
    findings: tuple[Finding, ...] = ()

    @property
    def mistakes(self) -> list[str]:
        """Return what a worker cannot go on with."""
        return [finding.text for finding in self.findings if finding.fatal]

    @property
    def warnings(self) -> list[str]:
        """Return what a worker can go on with."""
        return [finding.text for finding in self.findings if not finding.fatal]


def topic_specs(settings: Settings) -> list[TopicSpec]:
    """Return every topic of a deployment: the input, what is published, and the changelog."""
    log = {"cleanup.policy": "delete", "retention.ms": _KEEP_FOR_EVER, "retention.bytes": _KEEP_FOR_EVER}
    return [
        # The log is the truth: it is kept for ever unless an operator decides otherwise.
        _spec(settings, settings.input_topic, {**log, "max.message.bytes": str(MAX_INPUT_BYTES)}),
        *(_spec(settings, topic, log) for topic in settings.output_topics),
        _spec(settings, settings.changelog_topic, {"cleanup.policy": "compact"}),
    ]


async def await_broker(settings: Settings, seconds: float) -> None:
    """Wait for the broker to answer, at most so long. Raises BrokerUnreachableError when it does not."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            async with administering(settings.connection):
                return
        except BrokerUnreachableError as error:
            if time.monotonic() >= deadline or not error.may_come:
                raise
            await asyncio.sleep(_POLL_SECONDS)


async def ensure_topics(settings: Settings) -> list[TopicReport]:
    """Create the topics that are missing, check the others, and return what was done; nothing is altered.

    Raises KafkaError when the broker cannot be reached or refuses.
    """
    async with administering(settings.connection) as admin:
        specs = topic_specs(settings)
        # Who may not create topics can have them looked at all the same.
        there = await _describe(admin, [spec.name for spec in specs])
        absent = [spec for spec in specs if spec.name not in there]
        created = {spec.name for spec in absent if await _create(admin, spec, settings)}
        await _await_created(admin, created)
        findings = await _findings(admin, [spec for spec in specs if spec.name not in created], settings)
        return [TopicReport(spec, spec.name in created, tuple(findings.get(spec.name, ()))) for spec in specs]


async def check_topics(settings: Settings) -> list[TopicReport]:
    """Return every topic with what is wrong with it, missing ones included, without creating any."""
    async with administering(settings.connection) as admin:
        specs = topic_specs(settings)
        found = await _findings(admin, specs, settings)
    return [TopicReport(spec, created=False, findings=tuple(found.get(spec.name, ()))) for spec in specs]


async def topics_on(connection: Connection) -> dict[str, int]:
    """Return the number of partitions of every topic there is. Raises KafkaError when nobody answers.

    All are asked for: a broker may create a topic that is asked for by its name, and whoever asks a missing
    one for its offsets waits until the request times out. So this is asked first.
    """
    async with administering(connection) as admin:
        described = await admin.describe_topics()
    # One that has just been created may have no leader yet; there it is all the same.
    return {topic["topic"]: len(topic["partitions"]) for topic in described}


async def partition_counts(connection: Connection, topics: Iterable[str]) -> dict[str, int]:
    """Return how many partitions each topic has; a topic that is missing is left out."""
    there = await topics_on(connection)
    return {topic: there[topic] for topic in topics if topic in there}


async def _describe(admin: AIOKafkaAdminClient, topics: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the broker's description of each topic that is there."""
    wanted = set(topics)
    described = await admin.describe_topics()
    return {
        topic["topic"]: topic for topic in described if topic["topic"] in wanted and not topic["error_code"]
    }


def _spec(settings: Settings, name: str, config: dict[str, str]) -> TopicSpec:
    return TopicSpec(name, settings.partitions, settings.replication, config)


async def _create(admin: AIOKafkaAdminClient, spec: TopicSpec, settings: Settings) -> bool:
    topic = NewTopic(spec.name, spec.partitions, spec.replication, topic_configs=spec.config)
    response = await admin.create_topics([topic])
    for _, code, *message in response.topic_errors:
        if code == _TOPIC_EXISTS:
            return False
        if code in (TopicAuthorizationFailedError.errno, ClusterAuthorizationFailedError.errno):
            raise MissingRightsError(missing_text(settings, [Right("CREATE", "topic", spec.name)]))
        if code:
            raise for_code(code)(f"topic {spec.name}: {' '.join(str(part) for part in message)}")
    return True


async def _await_created(admin: AIOKafkaAdminClient, topics: set[str]) -> None:
    """Wait until topics that the controller has created are known to the broker that is asked."""
    deadline = time.monotonic() + _CREATED_SECONDS
    while True:
        known = await _describe(admin, topics)
        if len(known) == len(topics) or time.monotonic() >= deadline:
            return
        await asyncio.sleep(_CREATED_POLL_SECONDS)


async def _findings(
    admin: AIOKafkaAdminClient, specs: list[TopicSpec], settings: Settings
) -> dict[str, list[Finding]]:
    """Return what is wrong with topics, by name; one that is as it has to be is left out."""
    if not specs:
        return {}
    described = await _describe(admin, [spec.name for spec in specs])
    configs = await _configs(admin, [spec for spec in specs if spec.name in described])
    found: dict[str, list[Finding]] = {}
    for spec in specs:
        if spec.name not in described:
            found[spec.name] = [Finding("is missing; `ladderlog topics` creates it")]
            continue
        partitions = described[spec.name]["partitions"]
        replicas = min(len(partition["replicas"]) for partition in partitions)
        of_input = None if spec.name == settings.input_topic else configs.get(settings.input_topic)
        of_topic = [
            *map(Finding, _layout_mistakes(spec, len(partitions), replicas)),
            *findings(spec.name, spec.config, configs[spec.name], of_input, replicas),
        ]
        if of_topic:
            found[spec.name] = of_topic
    return found


def _layout_mistakes(spec: TopicSpec, partitions: int, replicas: int) -> Iterator[str]:
    if partitions != spec.partitions:
        yield f"has {partitions} partitions, not {spec.partitions}"
    if replicas < spec.replication:
        yield f"has {replicas} replicas, not {spec.replication}"


async def _configs(admin: AIOKafkaAdminClient, specs: list[TopicSpec]) -> dict[str, Config]:
    """Return the settings of topics that are there, by name."""
    if not specs:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, spec.name) for spec in specs]
    return {
        name: {entry[0]: entry[1] for entry in entries}
        for response in await admin.describe_configs(resources)
        for _, _, _, name, entries in response.resources
    }
