"""`ladderlog replay` and `snapshot` of a topic: what was published, from the log alone."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from owners import work
from replaying import delete, replay, snapshot
from season import events
from sites import Site

from streams.core.events import COMPETITION_CLOSED, GAME_IGNORED, RATING_CHANGED
from streams.embedded.broker import EmbeddedBroker
from streams.replay.errors import LostError
from streams.replay.offset_ranges import OffsetRange
from streams.replay.sinks import FileSink, ReplayFiles, describe_record
from streams.replay.snapshot import read_offsets, read_partition
from streams.replay.topic import Job, replay_range
from streams.runtime.status import read_rows

pytestmark = pytest.mark.kafka

Lines = list[dict[str, Any]]
EVENTS = 1_500


@pytest.fixture(scope="module")
def worked(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Give a deployment that has done its work: half of it, a snapshot in its folder, and the rest."""
    site = Site(broker.bootstrap_servers, tmp_path_factory.mktemp("replayed"), "replayed")
    season = events(EVENTS)
    site.produce(season[: EVENTS // 2])
    work(site)
    assert snapshot(site, site.folder / "half.jsonl").exit_code == 0
    site.produce(season[EVENTS // 2 :])
    work(site)
    return site


def lines(path: Path) -> Lines:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def rows(path: Path) -> dict[str, Any]:
    return {line["key"]: line["row"] for line in lines(path)}


def published(site: Site, topic: str) -> Lines:
    return [orjson.loads(record.value) for record in site.read_output(topic)]


def by_ladder(bodies: Lines) -> dict[str, Lines]:
    """Group events by ladder: within one, each player's are in the order of the log."""
    found: dict[str, Lines] = {}
    for body in bodies:
        found.setdefault(body["ladder"], []).append(body)
    return found


def sorted_changes(bodies: Lines) -> Lines:
    return sorted(bodies, key=lambda body: (body["change_id"], body["sequence"]))


def test_a_replay_gives_what_was_published_and_the_rows_of_the_changelog(
    worked: Site, tmp_path: Path
) -> None:
    out, closed, ignored = (tmp_path / f"{name}.jsonl" for name in ("out", "closed", "ignored"))
    rejected, tables = tmp_path / "rejected.jsonl", tmp_path / "tables.jsonl"
    result = replay(
        worked,
        *("--out", str(out), "--closed", str(closed), "--ignored", str(ignored)),
        *("--rejected", str(rejected), "--tables", str(tables)),
    )
    kept = asyncio.run(read_rows(worked.settings))

    assert result.exit_code == 0
    assert f"{EVENTS} read:" in result.stderr
    assert sorted_changes(lines(out)) == sorted_changes(published(worked, RATING_CHANGED))
    assert by_ladder(lines(closed)) == by_ladder(published(worked, COMPETITION_CLOSED))
    assert by_ladder(lines(ignored)) == by_ladder(published(worked, GAME_IGNORED))
    assert len(lines(rejected)) == len(worked.read_output("game-rejected")) > 0
    assert rows(tables) == kept


def test_several_processes_write_the_same_files(worked: Site, tmp_path: Path) -> None:
    for processes in ("1", "3"):
        out, tables = tmp_path / f"out-{processes}.csv.zst", tmp_path / f"tables-{processes}.jsonl"
        result = replay(
            worked, "--out", str(out), "--tables", str(tables), "--processes", processes, "--to", "200"
        )

        assert result.exit_code == 0

    assert (tmp_path / "out-1.csv.zst").read_bytes() == (tmp_path / "out-3.csv.zst").read_bytes()
    assert (tmp_path / "tables-1.jsonl").read_bytes() == (tmp_path / "tables-3.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("out-1.csv.zst", "out-3.csv.zst", "tables-1.jsonl", "tables-3.jsonl")
    ]


def test_a_replay_from_a_snapshot_goes_on_as_the_whole_one(worked: Site, tmp_path: Path) -> None:
    half = str(worked.folder / "half.jsonl")
    whole, rest = tmp_path / "whole.jsonl", tmp_path / "rest.jsonl"
    whole_tables, rest_tables = tmp_path / "whole-tables.jsonl", tmp_path / "rest-tables.jsonl"
    replay(worked, "--out", str(whole), "--tables", str(whole_tables))
    result = replay(
        worked, "--out", str(rest), "--tables", str(rest_tables), "--from-snapshot", half, "--processes", "2"
    )
    everything = by_ladder(lines(whole))

    assert result.exit_code == 0
    assert rest_tables.read_bytes() == whole_tables.read_bytes()
    for ladder, bodies in by_ladder(lines(rest)).items():
        assert 0 < len(bodies) < len(everything[ladder])
        assert everything[ladder][-len(bodies) :] == bodies


def test_a_snapshot_is_what_a_replay_to_its_offsets_gives(worked: Site, tmp_path: Path) -> None:
    half = str(worked.folder / "half.jsonl")
    for partition, offset in read_offsets(half).items():
        tables = tmp_path / f"tables-{partition}.jsonl"
        replay(worked, "--tables", str(tables), "--partition", str(partition), "--to", str(offset))
        kept = {key: orjson.loads(row) for key, row in read_partition(half, partition).rows.items()}

        assert rows(tables) == kept


def test_a_packed_snapshot_holds_the_same(worked: Site, tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "a.jsonl.zst"]
    for path in paths:
        assert snapshot(worked, path).exit_code == 0

    assert read_offsets(str(paths[0])) == read_offsets(str(paths[1]))
    assert read_partition(str(paths[0]), 1) == read_partition(str(paths[1]), 1)


def test_from_puts_out_what_follows_from_there_on(worked: Site, tmp_path: Path) -> None:
    half = str(worked.folder / "half.jsonl")
    number, offset = max(read_offsets(half).items(), key=lambda found: found[1])
    whole, late = tmp_path / "whole.jsonl", tmp_path / "late.jsonl"
    replay(worked, "--partition", str(number), "--out", str(whole))
    result = replay(
        worked,
        *("--partition", str(number), "--from-snapshot", half, "--from", str(offset + 50)),
        *("--out", str(late)),
    )
    last = len(lines(late))

    assert result.exit_code == 0
    assert 0 < last < len(lines(whole))
    assert lines(whole)[-last:] == lines(late)


def test_to_takes_a_time_of_records(worked: Site) -> None:
    everything = replay(worked, "--to", "2999-01-01T00:00:00Z", "--tables", "-")
    nothing = replay(worked, "--to", "2001-01-01T00:00:00+01:00", "--tables", "-")

    assert everything.stdout == replay(worked, "--tables", "-").stdout != ""
    assert nothing.stdout == ""
    assert nothing.stderr.splitlines()[-1].startswith("0 read:")


def test_a_start_without_the_ratings_of_before_is_refused(worked: Site) -> None:
    refused = replay(worked, "--from", "100", "--out", "-")
    fresh = replay(worked, "--from", "100", "--assume-empty", "--out", "-")
    changes = [orjson.loads(line) for line in fresh.stdout.splitlines()]

    assert refused.exit_code == 1
    assert "from offset 100" in refused.stderr
    assert "--from-snapshot" in refused.stderr
    assert refused.stdout == ""
    assert "nobody is rated before offset 100" in fresh.stderr
    assert changes[0]["sequence"] == 1


def _other_rules(site: Site, path: Path) -> list[str]:
    path.write_text(site.ladder_file.read_text() + "\n[ladders.rummy.fundox]\nstake = 20\n")
    return [f"--ladders={path}", f"--from-snapshot={site.folder / 'half.jsonl'}"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda site, folder: _other_rules(site, folder / "other.toml"), "the snapshot is of something else"),
        (lambda site, _: [f"--from-snapshot={site.ladder_file}"], "no snapshot"),
        (lambda site, _: [f"--from-snapshot={site.folder / 'none'}"], "is no file"),
        (lambda site, _: [f"--from-snapshot={site.folder / 'half.jsonl'}", "--to=1"], "later than the end"),
    ],
)
def test_what_cannot_be_exact_is_refused(
    worked: Site, tmp_path: Path, arguments: Callable[..., list[str]], message: str
) -> None:
    result = replay(worked, *arguments(worked, tmp_path), "--out", str(tmp_path / "out.jsonl"))

    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_log_that_is_not_there_is_named_with_the_deployments_that_are(worked: Site) -> None:
    result = replay(worked, "--app-id=else", "--topic-prefix=else.")

    assert result.exit_code == 2
    assert "no deployment 'else' with topic prefix 'else.'" in result.stderr
    assert f"--app-id {worked.settings.app_id} --topic-prefix {worked.settings.topic_prefix}" in result.stderr


def test_a_damaged_snapshot_is_refused(worked: Site, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes((worked.folder / "half.jsonl").read_bytes()[:-10])
    result = replay(worked, f"--from-snapshot={cut}")

    assert result.exit_code == 1
    assert "ends too early" in result.stderr


def test_a_log_that_has_lost_its_beginning_is_replayed_from_a_snapshot_only(
    site: Site, tmp_path: Path
) -> None:
    season = events(600)
    site.produce(season[:300])
    work(site)
    path, tables = tmp_path / "snapshot.jsonl.zst", tmp_path / "tables.jsonl"
    snapshot(site, path)
    site.produce(season[300:])
    work(site)
    offsets = read_offsets(str(path))
    covered = {number: offset - 1 for number, offset in offsets.items() if offset}
    delete(site, site.settings.input_topic, covered)
    lost = replay(site, "--tables", str(tables))
    saved = replay(site, "--tables", str(tables), f"--from-snapshot={path}")
    kept = asyncio.run(read_rows(site.settings))

    assert lost.exit_code == 1
    for number, offset in covered.items():
        assert f"partition {number}: offsets 0 to {offset - 1} are gone" in lost.stderr
    assert f"a snapshot at offset {covered[3]} or later" in lost.stderr
    assert saved.exit_code == 0
    assert rows(tables) == kept

    delete(site, site.settings.input_topic, {3: offsets[3] + 1})
    late = replay(site, f"--from-snapshot={path}")

    assert late.exit_code == 1
    assert f"partition 3: the snapshot is of offset {offsets[3]}, but the log now begins at" in late.stderr


def test_records_deleted_under_a_replay_stop_it(site: Site) -> None:
    site.produce(events(300))
    ends = {n: records[-1].offset + 1 for n, records in site.read(site.settings.input_topic).items()}
    delete(site, site.settings.input_topic, {1: 5})
    job = Job(site.settings, site.rules)

    with FileSink({}, describe_record) as sink, pytest.raises(LostError, match="were deleted"):
        replay_range(job, OffsetRange(1, 0, 0, ends[1]), sink, ReplayFiles(), lambda _: None)
