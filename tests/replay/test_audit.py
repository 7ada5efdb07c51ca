"""`ladderlog audit`: no differences where there are none, and every one that there is."""

import asyncio
import tomllib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from click.testing import CliRunner, Result
from owners import beside, work
from replaying import delete, options, replay, snapshot
from season import Event, events, season
from sites import Load, NoBar, Site
from workers import Worker

from streams.cli.replay import audit_command
from streams.core.events import GAME_IGNORED, RATING_CHANGED
from streams.core.rules import parse_ladders
from streams.replay.audit import AuditRequest, audit
from streams.replay.differences import AuditReport
from streams.replay.matching import Kind
from streams.runtime.changelog import WATERMARK
from streams.runtime.rebuild import rebuild_partition
from streams.runtime.settings import LADDERS, Settings
from streams.runtime.topics import ensure_topics

pytestmark = pytest.mark.kafka


def audited(site: Site, settings: Settings | None = None, limit: int = 20) -> AuditReport:
    request = AuditRequest(settings or site.settings, site.rules, limit=limit)
    return asyncio.run(audit(request))


def command(site: Site, *arguments: str) -> Result:
    return CliRunner().invoke(audit_command, [*options(site), *arguments])


def send(
    site: Site, topic: str, partition: int, key: bytes | None, value: bytes | None, **more: object
) -> None:
    async def send_one() -> None:
        async with AIOKafkaProducer(bootstrap_servers=site.settings.bootstrap_servers) as producer:
            await producer.send_and_wait(topic, value, key, partition=partition, **more)

    asyncio.run(send_one())


def test_a_deployment_that_did_its_work_has_no_differences(site: Site) -> None:
    site.produce(events(800))
    work(site)
    result = command(site)

    assert result.exit_code == 0
    assert "800 records read:" in result.stdout
    assert result.stdout.splitlines()[-1] == "no differences"


def test_what_is_not_done_yet_is_no_difference(site: Site) -> None:
    site.produce(events(400))
    before = audited(site)
    work(site, at_most=30)
    behind = audited(site)

    assert (before.totals, before.counts.read) == ({}, 0)
    assert (behind.totals, behind.counts.read) == ({}, 4 * 30)


def test_an_audit_beside_a_busy_worker_finds_nothing(site: Site, start_worker: Callable[..., Worker]) -> None:
    source: Iterator[Event] = season()
    site.produce(islice(source, 300))
    start_worker(site)
    site.wait_until_done()
    with Load(site, source, rate=150):
        reports = [audited(site) for _ in range(2)]
    read = [report.counts.read for report in reports]

    assert [report.differences for report in reports] == [[]] * 2
    assert read == sorted(read)
    assert read[-1] > read[0] >= 300


def test_everything_that_somebody_else_changed_is_told(site: Site) -> None:
    site.produce(events(600))
    work(site)
    changed = site.settings.topic(RATING_CHANGED)
    (first, second, *_), ignored = site.read_output(RATING_CHANGED), site.read_output(GAME_IGNORED)[0]
    number = first.partition
    same = {"headers": list(first.headers), "timestamp_ms": first.timestamp}
    send(site, changed, number, first.key, first.value, **same)
    other = first.value.replace(b'"before":', b'"before":1')
    send(site, changed, number, first.key, other, **same)
    send(site, changed, number, second.key, b"{}", headers=[("ce_source", site.settings.source.encode())])
    send(site, ignored.topic, ignored.partition, ignored.key, ignored.value)
    rows = site.settings.changelog_topic
    send(site, rows, 0, b"player/nowhere/x", b"[1]")
    result = command(site)
    report = audited(site, limit=1)

    assert report.totals == {Kind.DOUBLE: 2, Kind.UNEXPECTED: 1, Kind.ROW: 1}
    assert result.exit_code == 1
    assert f"double: {changed}/{number}" in result.stdout
    assert f"unexpected: {changed}/{number}/" in result.stdout
    assert f"row: {rows}/0, row 'player/nowhere/x'\n  expected no row\n  found    [1]" in result.stdout
    assert "1 records were published by somebody else" in result.stdout
    assert result.stdout.splitlines()[-1] == "differences were found"


def test_what_is_missing_is_told_with_the_record_it_follows_from(site: Site) -> None:
    site.produce(events(400))
    work(site, at_most=50)
    records = site.read(site.settings.input_topic)[0]
    mark = site.watermarks()[0]
    counts = mark.counts | {"read": 53, "rated": mark.counts["rated"] + 2}
    forged = orjson.dumps({"offset": records[53].offset, "counts": counts})
    send(site, site.settings.changelog_topic, 0, WATERMARK, forged)
    report = audited(site, limit=2)
    found = [difference.text() for difference in report.differences]

    assert {Kind.MISSING, Kind.ROW, Kind.ACCOUNT} == report.totals.keys()
    assert report.totals[Kind.MISSING] > 2
    assert len([text for text in found if text.startswith("missing: ")]) == 2
    assert any(f"of {site.settings.input_topic}/0/{records[50].offset}" in text for text in found)
    assert any("expected key" in text and "change_id" in text for text in found)
    assert any(text.startswith(f"account: {site.settings.changelog_topic}/0, watermark") for text in found)


def test_the_deployments_own_rules_hold_whatever_file_is_given(site: Site) -> None:
    site.produce(events(300))
    work(site)
    other = site.folder / "other.toml"
    other.write_text(site.ladder_file.read_text() + "\n[ladders.rummy.fundox]\nstake = 20\n")
    result = command(site, f"--ladders={other}", "--limit=1")

    assert result.exit_code == 0
    assert f"note: {other}: ladders.rummy.fundox.stake: 16, now 20" in result.stderr


def test_other_rules_than_those_it_was_published_by_are_found_out(site: Site) -> None:
    site.produce(events(300))
    work(site)
    text = site.ladder_file.read_text() + "\n[ladders.rummy.fundox]\nstake = 20\n"
    request = AuditRequest(site.settings, parse_ladders(tomllib.loads(text)), limit=1)
    report = asyncio.run(audit(request))

    assert Kind.DIFFERENT in report.totals
    assert [difference.kind for difference in report.differences].count(Kind.DIFFERENT) == 1


def test_a_log_that_has_lost_its_beginning_is_audited_from_a_snapshot(site: Site) -> None:
    site.produce(events(300))
    work(site)
    path = site.folder / "snapshot.jsonl"
    snapshot(site, path)
    site.produce(events(600)[300:])
    work(site)
    delete(site, site.settings.input_topic, {1: 20})
    lost, saved = command(site), command(site, f"--from-snapshot={path}")
    delete(site, site.settings.topic(RATING_CHANGED), {0: 100, 2: 200})
    shorter = command(site, f"--from-snapshot={path}")

    assert lost.exit_code == 1
    assert "partition 1: offsets 0 to 19 are gone" in lost.stderr
    assert saved.exit_code == shorter.exit_code == 0
    assert "records before the stretch compared were passed over" in saved.stdout
    assert "begins at offset 200; what was before is not compared" in shorter.stdout


def test_published_records_that_were_deleted_are_no_difference(site: Site) -> None:
    site.produce(events(300))
    work(site)
    delete(site, site.settings.topic(RATING_CHANGED), {0: 30, 1: 50})

    assert audited(site).totals == {}


def test_two_deployments_on_one_input_publish_apart_and_are_audited_apart(site: Site) -> None:
    """Blue and green: the same log by two application ids, each with topics of its own to publish to."""
    green = beside(site, f"{site.settings.app_id}-green", f"{site.settings.topic_prefix}green.")
    asyncio.run(ensure_topics(green))
    site.produce(events(400))
    work(site)
    work(site, green, at_most=40)
    behind = audited(site, green)
    work(site, green)
    blue_topics = [site.settings.topic(name) for name in LADDERS.outputs]
    green_topics = [green.topic(name) for name in LADDERS.outputs]
    values = [
        [sorted(record.value for record in records) for records in site.read(topic).values()]
        for topic in blue_topics + green_topics
    ]

    assert green.input_topic == site.settings.input_topic
    assert set(blue_topics) & set(green_topics) == set()
    assert values[:4] == values[4:]
    assert behind.counts.read == 4 * 40
    assert [audited(site).totals, behind.totals, audited(site, green).totals] == [{}, {}, {}]


def test_two_deployments_on_the_same_topics_are_told_apart_by_their_source(site: Site) -> None:
    green = beside(site, f"{site.settings.app_id}-green")
    asyncio.run(ensure_topics(green))
    site.produce([event for event in events(300) if event["ladder"] != "nowhere"])
    work(site)
    work(site, green)
    report = audited(site)

    assert report.totals.keys() <= {Kind.DOUBLE}  # rejected records carry no source
    assert any(f"published by {green.source}" in note for note in report.notes)


def test_corrections_in_the_log_are_applied_where_their_marker_is(site: Site, tmp_path: Path) -> None:
    log = events(400)
    voided = next(event for event in log if event["ladder"] == "tiles" and event.get("players"))
    marker = {"type": "corrections-applied", "ladder": "tiles", "app_id": site.settings.app_id}
    void = {"type": "game-voided", "ladder": "tiles", "game_id": voided["game_id"], "reason": "test"}
    log = [*log, void, marker | {"until": 100_000}, *events(500)[400:]]
    site.produce(log)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in log))
    tables = {name: tmp_path / f"{name}.jsonl" for name in ("topic", "file")}
    outs = {name: tmp_path / f"{name}-out.jsonl" for name in ("topic", "file")}
    for name, more in (("topic", []), ("file", [str(path)])):
        assert replay(site, f"--tables={tables[name]}", f"--out={outs[name]}", *more).exit_code == 0

    assert sorted(tables["topic"].read_bytes().splitlines()) == sorted(
        tables["file"].read_bytes().splitlines()
    )
    assert b'"reason":"correction"' in outs["topic"].read_bytes()
    assert len(outs["topic"].read_bytes().splitlines()) == len(outs["file"].read_bytes().splitlines())
    assert audited(site).totals == {}


def test_a_rebuild_and_what_follows_it_have_no_differences(site: Site) -> None:
    season = events(500)
    voided = [event for event in season[:300] if event.get("players") and event["ladder"] != "nowhere"][::40]
    site.produce(season[:300])
    work(site)
    site.produce(
        {"type": "game-voided", "ladder": event["ladder"], "game_id": event["game_id"], "reason": "test"}
        for event in voided
    )
    work(site)
    for number in range(site.settings.partitions):
        asyncio.run(rebuild_partition(site.settings, site.rules, number, NoBar(), dry_run=False))
    site.produce(season[300:])
    work(site)
    report = audited(site)
    corrections = [r for r in site.read_output(RATING_CHANGED) if b'"reason":"correction"' in r.value]

    assert len(corrections) > 10
    assert [difference.text() for difference in report.differences] == []
    assert report.counts.read > 500 + len(voided)
