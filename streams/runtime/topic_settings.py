"""What the settings of a topic must be for the broker to take everything that is written to it.

A broker that refuses one record stops its partition at every start. So whatever a topic may refuse is looked
at before a worker starts: what would stop it is a mistake, what it can go on with is a warning.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from streams.wire.encode import MAX_PUBLISHED_BYTES

# What is written at once, with its headers and the batch's own, stays below this.
MIN_BYTES = MAX_PUBLISHED_BYTES + 100_000
_UNBOUNDED = 2**63 - 1
_MAX_BYTES = "max.message.bytes"
_BEFORE, _AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
_BROKERS_TIME = "LogAppendTime"

Config = Mapping[str, str | None]


class Finding(NamedTuple):
    """Something about a topic: a mistake when it is `fatal`, else a warning."""

    text: str
    fatal: bool = True


def findings(
    name: str, wanted: Config, config: Config, input_config: Config | None, replicas: int
) -> Iterator[Finding]:
    """Yield what is wrong with the settings of a topic that is there.

    `wanted` are those that it would be created with, `input_config` those of the input topic, None for that
    topic itself, and `replicas` the least number of replicas of a partition.
    """
    policy = wanted["cleanup.policy"]
    kept = config.get("cleanup.policy")
    if kept != policy:
        # Compaction would lose records of a log, and refuse those without a key.
        yield Finding(f"has cleanup.policy={kept}, not {policy}{_command(name, 'cleanup.policy', policy)}")
    yield from _sizes(name, wanted, config)
    yield from _timestamps(name, config, input_config)
    in_sync = _number(config, "min.insync.replicas", 1)
    if in_sync > replicas:
        yield Finding(
            f"has min.insync.replicas={in_sync} and {replicas} replicas, so that nothing can be written"
            f"{_command(name, 'min.insync.replicas', replicas)}"
        )


def _sizes(name: str, wanted: Config, config: Config) -> Iterator[Finding]:
    for key in (_MAX_BYTES, "segment.bytes"):
        size = _number(config, key, _UNBOUNDED)
        if size < MIN_BYTES:
            yield Finding(
                f"has {key}={size}; at least {MIN_BYTES} are needed{_command(name, key, MIN_BYTES)}"
            )
        elif size < int(wanted.get(key) or 0):
            yield Finding(
                f"has {key}={size}: larger records are refused without a reason"
                f"{_command(name, key, wanted[key])}",
                fatal=False,
            )


def _timestamps(name: str, config: Config, input_config: Config | None) -> Iterator[Finding]:
    """Yield what refuses a timestamp that the input takes: what follows from a record has the record's.

    So has the copy of one that is forwarded within the input, later than it came.
    """
    if config.get("message.timestamp.type") == _BROKERS_TIME:
        return
    before = _number(config, _BEFORE, _UNBOUNDED)
    if before < _UNBOUNDED:
        yield Finding(
            f"has {_BEFORE}={before}, so that what follows from older records is refused"
            f"{_command(name, _BEFORE, _UNBOUNDED)}"
        )
    if input_config is None:
        return
    from_brokers = input_config.get("message.timestamp.type") == _BROKERS_TIME
    taken = 0 if from_brokers else _number(input_config, _AFTER, _UNBOUNDED)
    after = _number(config, _AFTER, _UNBOUNDED)
    if after < taken:
        yield Finding(
            f"has {_AFTER}={after} and the input {taken}, so that what follows from records stamped ahead "
            f"is refused{_command(name, _AFTER, taken)}"
        )


def _number(config: Config, key: str, missing: int) -> int:
    """Return a setting; brokers that do not know it have no such bound."""
    value = config.get(key)
    return missing if value is None else int(value)


def _command(name: str, key: str, value: object) -> str:
    return (
        f"; kafka-configs.sh --bootstrap-server HOST:PORT --alter --topic {name} --add-config {key}={value}"
    )
