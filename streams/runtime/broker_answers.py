"""What a broker's refusal to take a transaction means to whoever operates the deployment.

What follows from a record is never refused by topics as `topic_settings` checks them at every start. So it is
the topics, the rights or a clock that have changed under a running worker, and the next start says more.
"""

from aiokafka import errors

from streams.runtime.exit_statuses import EXIT_FAILED, EXIT_NO_RIGHTS

_TOPICS = (
    "a topic's settings were changed since this process began; `ladderlog topics` says which, and what to do"
)
_RIGHTS = "the rights of the user that this process runs as do not suffice; grant them and start it again"
_TRANSACTIONS = (
    "it may not write with this transactional id; grant WRITE on the transactional ids that begin so, with "
    "`kafka-acls.sh --add --operation WRITE --transactional-id {prefix} --resource-pattern-type prefixed "
    "--allow-principal User:NAME`"
)
_MEANINGS: dict[type[errors.KafkaError], str] = {
    errors.InvalidTimestampError: f"this machine's clock is far from the broker's, or {_TOPICS}",
    errors.MessageSizeTooLargeError: _TOPICS,
    errors.RecordListTooLargeError: _TOPICS,
    errors.PolicyViolationError: "a policy of the brokers forbids it; ask who runs them",
    errors.NotEnoughReplicasError: "fewer replicas are up than the topics' min.insync.replicas asks for",
    errors.NotEnoughReplicasAfterAppendError: "fewer replicas are up than min.insync.replicas asks for",
    errors.TopicAuthorizationFailedError: _RIGHTS,
    errors.GroupAuthorizationFailedError: _RIGHTS,
    errors.TransactionalIdAuthorizationFailed: _TRANSACTIONS,
    errors.ClusterAuthorizationFailedError: _RIGHTS,
    errors.InvalidTransactionTimeout: "the brokers' transaction.max.timeout.ms is too low; raise it",
}


_RIGHTS_ERRORS = (
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.TransactionalIdAuthorizationFailed,
    errors.ClusterAuthorizationFailedError,
)


def meaning(error: BaseException) -> str | None:
    """Return what an error of Kafka's client means, and what to do; None when its name says it all."""
    said = next((said for kind, said in _MEANINGS.items() if isinstance(error, kind)), None)
    # The id ends with the partition.
    return said and said.replace("{prefix}", f"{str(error).rpartition(' ')[2].rpartition('-')[0]}-")


def status_of(error: BaseException) -> int:
    """Return the exit status of a worker that such an error ends."""
    return EXIT_NO_RIGHTS if isinstance(error, _RIGHTS_ERRORS) else EXIT_FAILED
