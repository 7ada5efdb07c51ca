"""Where the broker is and what the topics are called."""

from dataclasses import dataclass, field
from functools import cached_property

from streams.core.events import COMPETITION_CLOSED, GAME_FINISHED, GAME_IGNORED, GAME_REJECTED, RATING_CHANGED
from streams.runtime.connection import Connection, Security


@dataclass(frozen=True)
class FoldTopics:
    """The topics of one of a deployment's folds, without prefix: what it reads, and what it publishes to.

    A record lies in the partition of the same number as what it follows from; in topics `by_key` in that of
    its key. What is rejected goes to one topic for all folds.
    """

    name: str
    input: str
    outputs: tuple[str, ...]
    by_key: frozenset[str] = frozenset()

    @property
    def changelog_suffix(self) -> str:
        """Return what the name of the fold's changelog ends with."""
        return f"-{self.name}-tables"


LADDERS = FoldTopics(
    "ladders",
    GAME_FINISHED,
    (RATING_CHANGED, COMPETITION_CLOSED, GAME_IGNORED, GAME_REJECTED),
    by_key=frozenset((RATING_CHANGED,)),
)


@dataclass(frozen=True)
class Settings:
    """How one deployment of Ladderlog finds its broker and topics.

    `app_id` names the consumer group, the changelog and, with the partition, each transactional id: two
    deployments with different ids on the same topics are independent of each other. `output_prefix`, when
    given, stands before the topics published to instead of `topic_prefix`, so that two deployments on one
    input publish apart. `fold` says which of the deployment's folds is meant.
    """

    bootstrap_servers: str
    app_id: str = "ladderlog"
    topic_prefix: str = ""
    partitions: int = 4
    replication: int = 1
    output_prefix: str | None = None
    security: Security = field(default_factory=Security)
    fold: FoldTopics = LADDERS

    @cached_property
    def connection(self) -> Connection:
        """Return where the broker is and how to reach it: what every client is made with."""
        return Connection(self.bootstrap_servers, self.security)

    def topic(self, name: str) -> str:
        """Return the full name of a topic, such as `rating-changed`."""
        if self.output_prefix is not None and name in self.fold.outputs:
            return f"{self.output_prefix}{name}"
        return f"{self.topic_prefix}{name}"

    @property
    def input_topic(self) -> str:
        """Return the full name of the topic that is folded."""
        return self.topic(self.fold.input)

    @property
    def changelog_topic(self) -> str:
        """Return the full name of the changelog of the fold's rows."""
        return self.topic(f"{self.app_id}{self.fold.changelog_suffix}")

    @property
    def output_topics(self) -> list[str]:
        """Return the full name of every topic that the fold publishes to."""
        return list(map(self.topic, self.fold.outputs))

    @property
    def all_topics(self) -> list[str]:
        """Return the full name of every topic: the input, those published to, and the changelog."""
        return [self.input_topic, *self.output_topics, self.changelog_topic]

    @property
    def source(self) -> str:
        """Return the CloudEvents source of what this deployment publishes."""
        return f"ladderlog/{self.app_id}"

    def transactional_id(self, partition: int) -> str:
        """Return the transactional id that only the owner of a partition may use."""
        return f"{self.app_id}-{self.input_topic}-{partition}"
