"""What each command must be allowed to do where the broker has an authorizer, and what of it is missing.

The broker is asked, in two requests, what this client may do; so a right that is missing is named before
anything goes wrong for the lack of it, which Kafka's client would tell as something else or not at all.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupAuthorizationFailedError, UnknownTopicOrPartitionError

from streams.runtime.administration import administering
from streams.runtime.connection_errors import unreachable
from streams.runtime.coordinator import described
from streams.runtime.rights_requests import TopicRightsRequest
from streams.runtime.settings import Settings

# The bits of Kafka's AclOperation.
_OPERATIONS = {"READ": 3, "WRITE": 4, "CREATE": 5, "DESCRIBE": 8, "DESCRIBE_CONFIGS": 10}
_PATIENCE = 8.0

INPUT, OUTPUTS, CHANGELOG, GROUP, TRANSACTIONS = "input", "outputs", "changelog", "group", "transactions"
_READ, _WRITE, _DESCRIBE, _CONFIGS = ("READ",), ("WRITE",), ("DESCRIBE",), ("DESCRIBE_CONFIGS",)
_READ_WRITE = (*_READ, *_WRITE)
_LOOKS: Mapping[str, tuple[str, ...]] = {INPUT: _READ, OUTPUTS: _DESCRIBE, CHANGELOG: _READ}
_READS: Mapping[str, tuple[str, ...]] = {INPUT: _READ, OUTPUTS: _READ, CHANGELOG: _READ}
_CORRECTS: Mapping[str, tuple[str, ...]] = {
    INPUT: _READ_WRITE,
    OUTPUTS: _READ_WRITE,
    CHANGELOG: _READ_WRITE,
    GROUP: _READ,
    TRANSACTIONS: _WRITE,
}

# By command, what it does with what. A worker reads the topics it publishes to when it begins, to see that
# nobody publishes the same there.
RIGHTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "worker": {
        INPUT: (*_READ_WRITE, *_CONFIGS),
        OUTPUTS: (*_READ_WRITE, *_CONFIGS),
        CHANGELOG: (*_READ_WRITE, *_CONFIGS),
        GROUP: _READ,
        TRANSACTIONS: _WRITE,
    },
    # And CREATE, for a topic that is not there yet.
    "topics": {
        INPUT: (*_DESCRIBE, *_CONFIGS),
        OUTPUTS: (*_DESCRIBE, *_CONFIGS),
        CHANGELOG: (*_READ, *_CONFIGS),
    },
    "produce": {INPUT: _WRITE, CHANGELOG: _READ},
    "simulate": {INPUT: _WRITE, CHANGELOG: _READ},
    "status": {**_LOOKS, GROUP: _DESCRIBE},
    "ranking": _LOOKS,
    "week": _LOOKS,
    "preview": _LOOKS,
    "game": {**_READS, GROUP: _READ},
    "explain": _LOOKS,
    "replay": _LOOKS,
    "compare": _LOOKS,
    "snapshot": _LOOKS,
    "audit": _READS,
    "void": {INPUT: _READ_WRITE, OUTPUTS: _DESCRIBE, CHANGELOG: _READ},
    "rebuild": _CORRECTS,
    "restore": _CORRECTS,
}


# Commands whose rights are not asked for before they begin: why.
UNASKED: Mapping[str, str] = {
    "settings": "it only shows what would be used",
    "repartition": "its new topics have names of their own, and most are not there yet",
}


@dataclass(frozen=True)
class Right:
    """An operation on a topic, a group, or the transactional ids that begin with a text."""

    operation: str
    resource: str
    name: str

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource} {self.name}"

    @property
    def option(self) -> str:
        """Return what names the resource in the options of Kafka's kafka-acls.sh."""
        if self.resource == "transactional id":
            return f"--transactional-id {self.name.rstrip('*')} --resource-pattern-type prefixed"
        return f"--{self.resource} {self.name}"


class MissingRightsError(RuntimeError):
    """What a client has to do, it may not; the message names each right, and how to grant it."""


def rights_of(settings: Settings, command: str) -> list[Right]:
    """Return what a command has to be allowed, by topic, group and transactional id."""
    topics = {
        INPUT: [settings.input_topic],
        OUTPUTS: settings.output_topics,
        CHANGELOG: [settings.changelog_topic],
    }
    rights = []
    for what, operations in RIGHTS[command].items():
        if what == GROUP:
            resource, names = "group", [settings.app_id]
        elif what == TRANSACTIONS:
            resource, names = "transactional id", [f"{settings.app_id}-{settings.input_topic}-*"]
        else:
            resource, names = "topic", topics[what]
        rights += [Right(operation, resource, name) for name in names for operation in operations]
    return rights


async def missing_rights(settings: Settings, wanted: Iterable[Right]) -> list[Right]:
    """Return those rights that this client has not; of transactional ids the broker tells nothing.

    Raises BrokerUnreachableError, and KafkaError when the broker does not answer the question.
    """
    wanted = list(wanted)
    async with administering(settings.connection) as admin:
        try:
            allowed = await asyncio.wait_for(_topic_rights(admin, wanted), _PATIENCE)
        except TimeoutError as error:
            raise unreachable(settings.connection) from error
        if any(right.resource == "group" for right in wanted):
            allowed[settings.app_id] = await _group_rights(admin, settings.app_id)
    return [
        right
        for right in wanted
        if right.resource != "transactional id" and right.operation not in allowed.get(right.name, ())
    ]


async def check_rights(settings: Settings, command: str) -> None:
    """Raise MissingRightsError when a command may not do what it has to.

    Where clients do not say who they are, everybody may do the same, and nothing is asked.
    """
    if command in UNASKED or not settings.security.names_client:
        return
    missing = await missing_rights(settings, rights_of(settings, command))
    if missing:
        raise MissingRightsError(missing_text(settings, missing))


def missing_text(settings: Settings, missing: Iterable[Right]) -> str:
    """Return which rights are missing, and how to grant them."""
    missing = list(missing)
    user = settings.security.sasl_username
    named = ", ".join(map(str, missing))
    return (
        f"{user or 'this client'} may not do what it has to: {named}. Grant each, as the first with "
        f"`kafka-acls.sh --bootstrap-server {settings.bootstrap_servers} --add "
        f"--allow-principal User:{user or 'NAME'} --operation {missing[0].operation} {missing[0].option}`"
    )


async def _topic_rights(admin: AIOKafkaAdminClient, wanted: Iterable[Right]) -> dict[str, set[str]]:
    topics = list(dict.fromkeys(right.name for right in wanted if right.resource == "topic"))
    answer = await admin._send_request(TopicRightsRequest(topics))  # noqa: SLF001 - it has no public way
    return {
        # What may be done with a topic that is not there yet is seen when it is made.
        topic: set(_OPERATIONS) if error == UnknownTopicOrPartitionError.errno else _named(operations)
        for error, topic, _, _, operations in answer.topics
    }


async def _group_rights(admin: AIOKafkaAdminClient, group: str) -> set[str]:
    try:
        description = await described(admin, group)
    except GroupAuthorizationFailedError:
        return set()
    return _named(description[-1])


def _named(bits: int) -> set[str]:
    return {name for name, bit in _OPERATIONS.items() if bits > 0 and bits >> bit & 1}
