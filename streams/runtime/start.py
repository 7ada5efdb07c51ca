"""What is looked at before a worker starts: whether what it would publish is there already."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.events import GAME_REJECTED
from streams.core.rules import LadderRules
from streams.runtime.deployment import NoDeploymentError, find_deployment, manifest_now
from streams.runtime.reader import new_reader
from streams.runtime.refusals import RefusedError
from streams.runtime.settings import OUTPUT_TOPICS, Settings
from streams.runtime.topics import topics_on
from streams.wire.encode import ERROR_HEADER

# Offsets looked at behind which a partition ends: the last transactions of those who publish to it.
_LAST_OFFSETS = 200
_POLL_MS = 50
_SOURCE = "ce_source"


async def begun_otherwise(settings: Settings, rules: Mapping[str, LadderRules]) -> list[str]:
    """Return in which partitions and by which fold a deployment was begun, where they are not these."""
    with suppress(NoDeploymentError):
        manifest = (await find_deployment(settings)).manifest
        if manifest is not None:
            return list(manifest.differences(manifest_now(settings, rules), used=()))
    return []


async def check_outputs(settings: Settings, *, shared: bool) -> None:
    """Raise RefusedError when a deployment that has no rows yet would publish what is published already.

    `shared` says that another deployment's events in the same topics are meant.
    """
    topics = await topics_on(settings.bootstrap_servers)
    if await _last_records(settings, _partitions(topics, [settings.changelog_topic])):
        return
    outputs = list(map(settings.topic, OUTPUT_TOPICS))
    sources = {
        _source(settings, record) for record in await _last_records(settings, _partitions(topics, outputs))
    }
    if settings.source in sources:
        raise RefusedError(
            f"deployment {settings.app_id!r} has published events before, but its changelog "
            f"{settings.changelog_topic} is empty: it was lost, and a start would publish all of history "
            f"once more. Run `ladderlog restore`, which makes it anew from the log"
        )
    if sources and not shared:
        raise RefusedError(
            f"the topics to publish to, such as {outputs[0]}, have events of another deployment already "
            f"({', '.join(sorted(sources))}), and all of history would be published beside them. Give this "
            f"one topics of its own with --output-prefix (and `ladderlog topics` with the same), or say "
            f"--share-outputs if that is meant"
        )


def _partitions(topics: Mapping[str, int], names: Sequence[str]) -> list[TopicPartition]:
    return [TopicPartition(name, number) for name in names for number in range(topics[name])]


def _source(settings: Settings, record: ConsumerRecord) -> str:
    """Return who published a record; a rejected one has the headers of who sent it, and says where to."""
    headers = {name: (content or b"").decode(errors="backslashreplace") for name, content in record.headers}
    if record.topic == settings.topic(GAME_REJECTED):
        return f"rejected from {headers.get(f'{ERROR_HEADER}topic', 'somewhere')}"
    return headers.get(_SOURCE, "somebody")


async def _last_records(settings: Settings, tps: Sequence[TopicPartition]) -> list[ConsumerRecord]:
    """Return the committed records among the last offsets of each partition."""
    reader = new_reader(settings.bootstrap_servers)
    await reader.start()
    try:
        ends = await reader.end_offsets(tps)
        begins = await reader.beginning_offsets(tps)
        starts = dict(_starts(begins, ends))
        if not starts:
            return []
        reader.assign(list(starts))
        for tp, start in starts.items():
            reader.seek(tp, start)
        records: list[ConsumerRecord] = []
        waiting = set(starts)
        while waiting:
            fetched = await reader.getmany(*waiting, timeout_ms=_POLL_MS)
            records += [record for some in fetched.values() for record in some]
            waiting = {tp for tp in waiting if await reader.position(tp) < ends[tp]}
        return records
    finally:
        await reader.stop()


def _starts(
    begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> Iterator[tuple[TopicPartition, int]]:
    for tp, end in ends.items():
        if end > begins[tp]:
            yield tp, max(begins[tp], end - _LAST_OFFSETS)
