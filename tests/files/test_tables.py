"""History as tables: what is read back is what was written, in fixed columns."""

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.cli.export import export_command
from streams.core.rules import parse_ladders
from streams.files import tables
from streams.files.jsonl import open_lines
from streams.files.progress import progress
from streams.files.rate import RateFiles, rate_lines
from streams.files.tables import COLUMNS, STATISTICS, EventWriter, ExportError, open_writer
from streams.wire.schemas import schema, validator

NUMBERS = {column for column, kind in COLUMNS.items() if kind in {"int64", "double"}}
CONTROLS = st.characters(exclude_categories=("Cc", "Cs"))
TEXTS = st.text(CONTROLS, min_size=1, max_size=20)
COUNTS = st.integers(0, 2**53)
RATINGS = st.floats(allow_nan=False, allow_infinity=False)
TITLES = st.sampled_from(["", "Good", "Expert", "Master"])
WEEKS = st.builds("{:04}-W{:02}".format, st.integers(2000, 2100), st.integers(1, 52))
MOMENTS = st.builds(
    "{}T{:02}:{:02}:09{}{}".format,
    st.dates(date(1971, 1, 1), date(2999, 1, 1)),
    st.integers(0, 23),
    st.integers(0, 59),
    st.sampled_from(["", ".5", ".000001"]),
    st.sampled_from(["Z", "+01:00", "-11:30"]),
)
EVENTS = st.fixed_dictionaries(
    {
        "change_id": TEXTS,
        "ladder": TEXTS,
        "system": TEXTS,
        "player_id": TEXTS,
        "sequence": COUNTS,
        "before": RATINGS,
        "after": RATINGS,
        "statistics": st.fixed_dictionaries(dict.fromkeys(STATISTICS, COUNTS)),
    },
    optional={
        "game_id": TEXTS,
        "ended_at": MOMENTS,
        "reason": st.sampled_from(["import", "correction"]),
        "title": TITLES,
        "title_before": TITLES,
        "week": WEEKS,
        "level": st.integers(1, 10),
        "level_before": st.integers(1, 10),
    },
)
slow_disk = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def flat(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event as a row that says nothing of what is absent."""
    row = {**event, **event["statistics"]}
    del row["statistics"]
    return row


def write(writer: EventWriter, events: list[dict[str, Any]]) -> None:
    for event in events:
        writer.write(event)
    writer.close()


def read_csv(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            yield {name: float(cell) if name in NUMBERS else cell for name, cell in row.items() if cell != ""}


def test_the_columns_are_those_of_the_schema() -> None:
    properties = schema("rating-changed")["properties"]
    statistics = properties.pop("statistics")["properties"]

    assert set(COLUMNS) == set(properties) | set(statistics)
    assert tuple(statistics) == STATISTICS


@slow_disk
@given(events=st.lists(EVENTS, max_size=5))
def test_csv_read_back_equals_the_events(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    assert all(validator("rating-changed").is_valid(event) for event in events)
    file = tmp_path / "history.csv"
    write(open_writer(str(file)), events)

    # An empty title and none are the same empty cell.
    expected = [{name: value for name, value in flat(event).items() if value != ""} for event in events]
    assert list(read_csv(file)) == expected


@slow_disk
@given(events=st.lists(EVENTS, max_size=5), row_group=st.integers(1, 6))
def test_parquet_read_back_equals_the_events(
    tmp_path: Path, events: list[dict[str, Any]], row_group: int
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "history.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROW_GROUP", row_group)
        write(open_writer(str(file)), events)
    table = parquet.read_table(file)
    expected = [flat(event) for event in events]
    for row in expected:
        if "ended_at" in row:
            row["ended_at"] = datetime.fromisoformat(row["ended_at"])

    rows = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
    assert rows == expected
    assert parquet.ParquetFile(file).num_row_groups == -(-len(events) // row_group)
    assert {field.name: str(field.type) for field in table.schema} == {
        column: {"timestamp": "timestamp[us, tz=UTC]"}.get(kind, kind) for column, kind in COLUMNS.items()
    }


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst", "ndjson"])
@slow_disk
@given(events=st.lists(EVENTS, max_size=3))
def test_json_lines_read_back_equal_the_events(
    tmp_path: Path, ending: str, events: list[dict[str, Any]]
) -> None:
    file = tmp_path / f"history.{ending}"
    write(open_writer(str(file)), events)
    with open_lines(str(file)) as lines:
        assert [orjson.loads(line) for line in lines] == events


def history() -> bytes:
    """Return what `rate` prints of a figure and two games."""
    rules = parse_ladders({"ladders": {"l": {"systems": ["fundox", "bga", "weekly"]}}})
    events: list[dict[str, Any]] = [
        {
            "type": "rating-imported",
            "ladder": "l",
            "system": "bga",
            "player_id": "ann",
            "rating": 1600,
            "games": 9,
        }
    ]
    events += [
        {
            "game_id": name,
            "ladder": "l",
            "ended_at": f"2026-11-25T2{number}:00:00+01:00",
            "players": [{"player_id": "ann", "rank": 1}, {"player_id": 'bob, the "b"', "rank": 2}],
        }
        for number, name in enumerate(("g1", "g2"))
    ]
    out = io.BytesIO()
    with progress("rate") as bar:
        rate_lines([orjson.dumps(event) for event in events], rules, RateFiles(out), bar)
    return out.getvalue()


def export(*arguments: str | Path, source: bytes | None = None) -> Result:
    return CliRunner().invoke(export_command, [str(argument) for argument in arguments], input=source)


def test_the_command_exports_what_rate_prints(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_bytes(history())
    result = export(file, "--out", tmp_path / "history.csv")

    assert result.exit_code == 0, result.output
    assert "13 read: 13 written, 0 left out" in result.output
    expected = [flat(orjson.loads(line)) for line in history().splitlines()]
    for row in expected:
        row.update({name: float(value) for name, value in row.items() if name in NUMBERS})
    found = list(read_csv(tmp_path / "history.csv"))
    assert found == [{name: value for name, value in row.items() if value != ""} for row in expected]
    assert not (tmp_path / "history.csv.part").exists()


def test_the_command_exports_parquet_from_standard_input(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    result = export("-", "--out", tmp_path / "history.parquet", source=history())

    assert result.exit_code == 0, result.output
    titles = parquet.read_table(tmp_path / "history.parquet")["title"].to_pylist()
    assert titles == [orjson.loads(line).get("title") for line in history().splitlines()]


def test_the_same_events_packed_are_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv.gz", tmp_path / "b.csv.gz"]
    for file in files:
        assert export("-", "--out", file, source=history()).exit_code == 0

    assert files[0].read_bytes() == files[1].read_bytes()
    assert gzip.decompress(files[0].read_bytes()).startswith(b"change_id,ladder,")


def test_standard_output_is_json_lines_or_csv() -> None:
    assert export("-", "--out", "-", source=history()).stdout_bytes == history()
    assert export("-", "--out", "-", "--format", "csv", source=history()).stdout.startswith("change_id,")


def test_lines_that_are_no_rating_changed_are_named_and_left_out(tmp_path: Path) -> None:
    file = tmp_path / "history.csv"
    result = export("-", "--out", file, source=b"{\n\n" + history() + b'{"ladder": "l"}\n[]\n')

    assert result.exit_code == 1
    assert "line 1: not JSON" in result.output
    assert "line 16: not a rating-changed" in result.output
    assert "line 17: not a rating-changed" in result.output
    assert len(list(read_csv(file))) == 13


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("history.xlsx", "the ending is none of"),
        ("history", "the ending is none of"),
        ("history.parquet.gz", "Parquet needs a file of its own"),
        ("nowhere/history.csv", "No such file or directory"),
    ],
)
def test_files_that_cannot_be_written(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        open_writer(str(tmp_path / path))


def test_a_damaged_packed_file_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl.gz"
    file.write_bytes(gzip.compress(history())[:-20])
    result = export(file, "--out", tmp_path / "history.csv")

    assert result.exit_code == 1
    assert "the packed file is damaged" in result.output
    assert list(tmp_path.iterdir()) == [file]


def test_without_pyarrow_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = export("-", "--out", tmp_path / "history.parquet", source=history())

    assert result.exit_code == 1
    assert "pip install 'ladderlog[parquet]'" in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_not_finished_has_not_got_its_name(tmp_path: Path) -> None:
    writer = open_writer(str(tmp_path / "history.csv"))
    writer.write(orjson.loads(history().splitlines()[0]))

    assert not (tmp_path / "history.csv").exists()
    writer.close()
    assert [file.name for file in tmp_path.iterdir()] == ["history.csv"]


def test_a_writer_whose_block_fails_leaves_nothing(tmp_path: Path) -> None:
    for name in ("a.csv", "a.jsonl.gz", "a.parquet"):
        if name == "a.parquet":
            pytest.importorskip("pyarrow")
        with pytest.raises(KeyError), open_writer(str(tmp_path / name)) as writer:
            writer.write({"statistics": {}}["a mistake"])

    assert list(tmp_path.iterdir()) == []


def test_a_device_is_written_in_place() -> None:
    write(open_writer("/dev/null", "csv"), [])

    assert not Path("/dev/null.part").exists()


def test_numbers_beyond_the_columns_stop_the_export(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    event = orjson.loads(history().splitlines()[0]) | {"sequence": 2**63}
    result = export("-", "--out", tmp_path / "history.parquet", source=orjson.dumps(event))

    assert result.exit_code == 1
    assert "a value does not fit its column" in result.output
    assert list(tmp_path.iterdir()) == []
