"""What is looked at before a worker starts: whether what it would publish is there already."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from streams.core.events import GAME_REJECTED
from streams.core.rules import LadderRules
from streams.runtime.deployment import NoDeploymentError, find_deployment, manifest_now
from streams.runtime.reader import first_offset, read_up_to, reading
from streams.runtime.refusals import RefusedError
from streams.runtime.settings import Settings
from streams.runtime.topics import topics_on
from streams.wire.encode import ERROR_HEADER

# Offsets that are looked at before the end of a partition: the last transactions of those who publish to it.
_LAST_OFFSETS = 200
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
    topics = await topics_on(settings.connection)
    if not await _is_empty(settings, _partitions(topics, [settings.changelog_topic])):
        return
    outputs = settings.output_topics
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


async def _is_empty(settings: Settings, tps: Sequence[TopicPartition]) -> bool:
    """Say whether no partition has a committed record; looked for from their beginnings on."""
    for tp in tps:
        async with reading(settings.connection) as reader:
            begins = await reader.beginning_offsets([tp])
            if await first_offset(reader, tp, begins[tp]) is not None:
                return False
    return True


async def _last_records(settings: Settings, tps: Sequence[TopicPartition]) -> list[ConsumerRecord]:
    """Return the last committed records of each partition: some of every partition that has any."""
    async with reading(settings.connection) as reader:
        ends = await reader.end_offsets(tps)
        begins = await reader.beginning_offsets(tps)
    records: list[ConsumerRecord] = []
    for tp in tps:
        start, last_offsets = ends[tp], _LAST_OFFSETS
        found: list[ConsumerRecord] = []
        # Behind the last record there may be as many of transactions that were given up.
        while not found and start > begins[tp]:
            start = max(begins[tp], ends[tp] - last_offsets)
            last_offsets *= 10
            async with reading(settings.connection) as reader:
                async for some in read_up_to(reader, tp, start, ends[tp]):
                    found += some
        records += found
    return records
