"""When a partition's state must not be used, and what its operator is told to do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.events import CorrectionsApplied
from streams.core.manifest import Manifest
from streams.core.row_keys import split_key
from streams.runtime.settings import Settings


class RefusedError(Exception):
    """The partition's state is not what its committed offset says, or not of these rules: do not run."""


@dataclass(frozen=True)
class ManifestRow:
    """What a changelog says of its partition: the manifest, if it has one, and the watermark's offset."""

    manifest: Manifest | None
    offset: int


def settle_manifest(
    settings: Settings, partition: int, there: ManifestRow, now: Manifest, keys: Iterable[bytes]
) -> Manifest | None:
    """Return the manifest to write for a partition with these row keys; None when what it has is right.

    Raises RefusedError when the rows were made by something else than `now`, naming each difference.
    """
    manifest = there.manifest
    if manifest is None:
        if any(True for _ in keys):
            raise RefusedError(
                f"partition {partition}: the changelog {settings.changelog_topic} has rows, but no manifest "
                f"that says by which rules they were made: it is of an older program, or damaged. Stop the "
                f"workers and run `ladderlog restore`, which compares all that was published with the log"
            )
        return now
    if manifest.same_as(now):
        return None
    used = {split_key(key.decode(), 3)[1] for key in keys}
    differences = list(manifest.differences(now, used))
    if differences:
        raise RefusedError(f"partition {partition}: {other_rules(settings, differences)}")
    return manifest.taking(now, used, there.offset)


def other_rules(settings: Settings, differences: Sequence[str]) -> str:
    """Return what to tell somebody who starts a deployment with something else than it was begun with."""
    return (
        f"deployment {settings.app_id!r} was begun with something else: {'; '.join(differences)}. Start as "
        f"before, or beside it under another --app-id and --output-prefix, which rates the whole log anew"
    )


def check_offset(
    settings: Settings, tp: TopicPartition, offset: int, committed: int | None, log_end: int
) -> None:
    """Raise RefusedError when rows of an offset are not those of the committed one, or of another log.

    `log_end` is the offset behind the last record of the input partition, committed or not.
    """
    known = offset or committed or 0
    if known > log_end:
        raise RefusedError(made_again(tp, known, log_end))
    if offset != (committed or 0):
        raise RefusedError(
            f"{tp.topic} partition {tp.partition}: the rows are those of offset {offset}, but group "
            f"{settings.app_id!r} has committed offset {committed}. Somebody moved the group's offset, it "
            f"expired or was deleted, or the changelog {settings.changelog_topic} was changed or lost. Stop "
            f"the workers and run `ladderlog restore`, which puts rows and offset right from the log"
        )


def check_marker(settings: Settings, record: ConsumerRecord, event: CorrectionsApplied) -> None:
    """Raise RefusedError when a record says that this deployment had come past it, by a rebuild.

    A rebuild writes it in one transaction with the rows behind it; who reads it has lost these. Of one that
    somebody else has sent no notice is taken.
    """
    source = dict(record.headers).get("ce_source")
    if event.app_id == settings.app_id and source == settings.source.encode():
        raise RefusedError(
            f"{record.topic} partition {record.partition}: at offset {record.offset} a rebuild of this "
            f"deployment has put corrections into force, but the rows are of before: the changelog "
            f"{settings.changelog_topic} was lost. Stop the workers and run `ladderlog restore`"
        )


def made_again(tp: TopicPartition, offset: int, log_end: int) -> str:
    """Return what to tell when a deployment has come further than its log goes."""
    return (
        f"{tp.topic} partition {tp.partition}: this deployment has come to offset {offset}, but the log ends "
        f"at {log_end}: the topic was deleted and made again, or has lost its last records. What was rated "
        f"does not follow from the log any more; bring the old log back, or rate this one under another "
        f"--app-id and --output-prefix"
    )
