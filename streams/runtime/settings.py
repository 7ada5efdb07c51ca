"""Where the broker is and what the topics are called."""

from dataclasses import dataclass, field
from functools import cached_property

from streams.core.events import COMPETITION_CLOSED, GAME_FINISHED, GAME_IGNORED, GAME_REJECTED, RATING_CHANGED
from streams.runtime.connection import Connection, Security

CHANGELOG_SUFFIX = "-ladders-tables"
OUTPUT_TOPICS = (RATING_CHANGED, COMPETITION_CLOSED, GAME_IGNORED, GAME_REJECTED)


@dataclass(frozen=True)
class Settings:
    """How one deployment of Ladderlog finds its broker and topics.

    `app_id` names the consumer group, the changelog and, with the partition, each transactional id: two
    deployments with different ids on the same topics are independent of each other. `output_prefix`, when
    given, stands before the topics published to instead of `topic_prefix`, so that two deployments on one
    input publish apart.
    """

    bootstrap_servers: str
    app_id: str = "ladderlog"
    topic_prefix: str = ""
    partitions: int = 4
    replication: int = 1
    output_prefix: str | None = None
    security: Security = field(default_factory=Security)

    @cached_property
    def connection(self) -> Connection:
        """Return where the broker is and how to reach it: what every client is made with."""
        return Connection(self.bootstrap_servers, self.security)

    def topic(self, name: str) -> str:
        """Return the full name of a topic, such as `rating-changed`."""
        if self.output_prefix is not None and name in OUTPUT_TOPICS:
            return f"{self.output_prefix}{name}"
        return f"{self.topic_prefix}{name}"

    @property
    def input_topic(self) -> str:
        """Return the full name of the game-finished topic."""
        return self.topic(GAME_FINISHED)

    @property
    def changelog_topic(self) -> str:
        """Return the full name of the changelog of the ladders' rows."""
        return self.topic(f"{self.app_id}{CHANGELOG_SUFFIX}")

    @property
    def all_topics(self) -> list[str]:
        """Return the full name of every topic: the input, those published to, and the changelog."""
        return [self.input_topic, *map(self.topic, OUTPUT_TOPICS), self.changelog_topic]

    @property
    def source(self) -> str:
        """Return the CloudEvents source of what this deployment publishes."""
        return f"ladderlog/{self.app_id}"

    def transactional_id(self, partition: int) -> str:
        """Return the transactional id that only the owner of a partition may use."""
        return f"{self.app_id}-{self.input_topic}-{partition}"
