"""What must be in Kafka: the pure fold of the input topic, and how to tell that something else is there."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import orjson
from aiokafka.structs import ConsumerRecord

from streams.corrections import CorrectedLadders, CorrectionPlan
from streams.events import ERROR_HEADER, GAME_REJECTED, decode_record, encode_output
from streams.ladder_file import LadderRules
from streams.ladders import RATING_CHANGED, Output
from streams.model import Rejected
from streams.runtime.batches import partition_of
from streams.runtime.partition import WATERMARK
from streams.runtime.rejections import rejected_record
from streams.runtime.settings import OUTPUT_TOPICS, Settings

# Enough to see what kind of difference it is.
_SHOWN = 3

Published = tuple[bytes | None, bytes | None, list[tuple[str, bytes]], int]
Target = tuple[str, int]


class Fold:
    """The fold of one input partition, record after record, with no batches and no Kafka."""

    def __init__(
        self, settings: Settings, rules: Mapping[str, LadderRules], records: list[ConsumerRecord]
    ) -> None:
        self.end = records[-1].offset + 1 if records else 0
        self.counts: Counter[str] = Counter(read=len(records))
        self.published: dict[Target, list[Published]] = {}
        self._settings = settings
        plan = CorrectionPlan(settings.app_id)
        for record in records:
            with suppress(Rejected):
                event = decode_record(record.value, record.key, record.headers, record.timestamp)
                plan.note(event, record.offset)
        fold = CorrectedLadders(rules, plan)
        for record in records:
            self._apply(fold, record)
        self.rows = {
            key: orjson.loads(orjson.dumps(row)) for key, row in fold.changed_rows() if row is not None
        }

    def _apply(self, fold: CorrectedLadders, record: ConsumerRecord) -> None:
        out: list[Output] = []
        position = (record.topic, record.partition, record.offset)
        try:
            event = decode_record(record.value, record.key, record.headers, record.timestamp)
            self.counts[fold.apply(event, record.offset, out)] += 1
        except Rejected as rejected:
            self.counts["rejected"] += 1
            cut = (*rejected_record(rejected, record), record.timestamp)
            self._publish(GAME_REJECTED, record.partition, cut)
        for output in out:
            encoded = encode_output(output, self._settings.source.encode(), "/".join(map(str, position)))
            partition = record.partition
            if output.topic == RATING_CHANGED:
                partition = partition_of(encoded.key, self._settings.partitions)
            self._publish(output.topic, partition, (*encoded, record.timestamp))

    def _publish(self, topic: str, partition: int, published: Published) -> None:
        self.published.setdefault((topic, partition), []).append(published)


def differences(
    settings: Settings,
    folds: Mapping[int, Fold],
    topics: Mapping[str, Mapping[int, list[ConsumerRecord]]],
    rows: Mapping[int, dict[str, bytes]],
    committed: Mapping[int, int],
) -> list[str]:
    """Say what differs: rows, published events, their sequences, and the account of the records read."""
    return [
        *_row_differences(folds, rows),
        *_account_differences(folds, rows, committed),
        *_published_differences(settings, folds, topics),
        *_sequence_differences(topics[RATING_CHANGED]),
    ]


def _row_differences(folds: Mapping[int, Fold], rows: Mapping[int, dict[str, bytes]]) -> Iterator[str]:
    for partition, fold in folds.items():
        found = {key: orjson.loads(row) for key, row in rows[partition].items() if key != WATERMARK}
        wrong = [key for key in fold.rows.keys() | found.keys() if fold.rows.get(key) != found.get(key)]
        if wrong:
            yield f"partition {partition}: {len(wrong)} of {len(fold.rows)} rows differ"
        for key in sorted(wrong)[:_SHOWN]:
            yield f"row {key}: expected {fold.rows.get(key)}, found {found.get(key)}"


def _account_differences(
    folds: Mapping[int, Fold], rows: Mapping[int, dict[str, bytes]], committed: Mapping[int, int]
) -> Iterator[str]:
    for partition, fold in folds.items():
        if committed[partition] != fold.end:
            yield f"partition {partition}: offset {committed[partition]} is committed, not {fold.end}"
        mark: dict[str, Any] = {"offset": 0, "counts": {}}
        if WATERMARK in rows[partition]:
            mark = orjson.loads(rows[partition][WATERMARK])
        if mark["offset"] != fold.end:
            yield f"partition {partition}: the watermark is {mark['offset']}, not {fold.end}"
        counts = mark["counts"]
        if {name: number for name, number in counts.items() if number} != dict(+fold.counts):
            yield f"partition {partition}: counted {counts}, not {dict(fold.counts)}"
        if counts.get("read", 0) != sum(number for name, number in counts.items() if name != "read"):
            yield f"partition {partition}: the outcomes {counts} do not add up"


def _published_differences(
    settings: Settings,
    folds: Mapping[int, Fold],
    topics: Mapping[str, Mapping[int, list[ConsumerRecord]]],
) -> Iterator[str]:
    """Compare, for each input partition, everything in its order in each topic and partition."""
    found: dict[tuple[int, Target], list[Published]] = {}
    for topic in OUTPUT_TOPICS:
        for partition, records in topics[topic].items():
            for record in records:
                source = _source_partition(settings, topic, record)
                published = (record.key, record.value, list(record.headers), record.timestamp)
                found.setdefault((source, (topic, partition)), []).append(published)
    wanted = {
        (source, target): published
        for source, fold in folds.items()
        for target, published in fold.published.items()
    }
    for key in sorted(wanted.keys() | found.keys()):
        yield from _list_differences(
            f"from input partition {key[0]}, in {key[1][0]}/{key[1][1]}",
            wanted.get(key, []),
            found.get(key, []),
        )


def _source_partition(settings: Settings, topic: str, record: ConsumerRecord) -> int:
    if topic == GAME_REJECTED:
        return int(dict(record.headers)[f"{ERROR_HEADER}partition"])
    ladder: str = orjson.loads(record.value)["ladder"]
    return partition_of(ladder.encode(), settings.partitions)


def _list_differences(where: str, wanted: list[Published], found: list[Published]) -> Iterator[str]:
    if wanted == found:
        return
    yield f"{where}: {len(found)} records, expected {len(wanted)}"
    different = [pair for pair in zip(wanted, found, strict=False) if pair[0] != pair[1]]
    for expected, actual in different[:_SHOWN]:
        yield f"{where}: expected {str(expected)[:600]}, found {str(actual)[:600]}"


def _sequence_differences(records: Mapping[int, list[ConsumerRecord]]) -> Iterator[str]:
    """Check what a subscriber sees of each player: sequences without gap or double, and befores."""
    last: dict[tuple[str, ...], tuple[int, float]] = {}
    for record in (record for found in records.values() for record in found):
        body = orjson.loads(record.value)
        key = (body["ladder"], body["system"], body.get("week", ""), body["player_id"])
        known = last.get(key)
        if known is None:
            if body["sequence"] != 1 and body.get("reason") != "import":
                yield f"{key} begins with sequence {body['sequence']}"
        elif (body["sequence"], body["before"]) != (known[0] + 1, known[1]):
            yield f"{key}: sequence {body['sequence']} from {body['before']} follows {known}"
        last[key] = (body["sequence"], body["after"])
