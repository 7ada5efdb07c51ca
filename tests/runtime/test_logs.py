"""A worker's log has a line for each thing that matters, with its moment and what it is about."""

import json
import re
from collections.abc import Callable
from datetime import datetime

import orjson
import pytest
from season import events
from sites import Site
from workers import OWNER, Worker

pytestmark = pytest.mark.kafka

StartWorker = Callable[..., Worker]
LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (INFO|WARNING) .+")


def test_a_healthy_start_is_a_line_for_each_partition(site: Site, start_worker: StartWorker) -> None:
    worker = start_worker(site)
    worker.wait_for(OWNER, times=site.settings.partitions)
    worker.stop()

    lines = worker.log.splitlines()

    assert sorted(re.sub(r".* INFO (partition \d).*", r"\1", line) for line in lines) == [
        f"partition {number}" for number in range(site.settings.partitions)
    ]
    assert [line for line in lines if not LINE.fullmatch(line)] == []


def test_lines_in_json_say_which_record_they_are_about(site: Site, start_worker: StartWorker) -> None:
    worker = start_worker(site, options=("--log-format", "json"))
    wrong = {**events(1)[0], "ended_at": "yesterday"}
    site.produce_records([{"value": orjson.dumps(wrong), "partition": 2}, {"value": b"{", "partition": 3}])
    site.wait_until_done()
    worker.wait_for("rejected", times=2)
    worker.stop()

    lines = [json.loads(line) for line in worker.log.splitlines()]

    topic = site.settings.input_topic
    assert {datetime.fromisoformat(line["time"]).utcoffset().total_seconds() for line in lines} == {0}
    rejected = {line["partition"]: line for line in lines if line["message"].startswith("rejected")}
    about = ("level", "topic", "offset", "game_id", "reason")
    assert {number: tuple(line.get(name) for name in about) for number, line in rejected.items()} == {
        2: ("WARNING", topic, 0, wrong["game_id"], "schema"),
        3: ("WARNING", topic, 0, None, "not-json"),
    }
