"""`--json` on a deployment: every document has the shape that docs/reference/json.md shows, and is true."""

import asyncio
import re
from typing import Any

import orjson
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from click.testing import CliRunner, Result
from midnights import SECOND, end_of, game, opened, read, use_ladders
from project import PROJECT
from sites import Site

from streams.cli.main import cli
from streams.runtime.batches import partition_of

pytestmark = pytest.mark.kafka

W46 = "2024-W46"
MIDNIGHT = end_of("utc", W46)
NUMBER = partition_of(b"utc", 4)
DOCUMENTED = {
    name: orjson.loads(text)
    for name, text in re.findall(
        r"^## `ladderlog (\w+) --json`$.*?^```json\n(.*?)^```$",
        (PROJECT / "docs" / "reference" / "json.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}


def shape(value: Any) -> Any:
    """Return the names of a document's fields, all the way down; of a list what its first item has."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list) and value:
        return [shape(value[0])]
    return [] if isinstance(value, list) else None


def ask(site: Site, *arguments: str) -> Result:
    """Run a command on a deployment."""
    settings = {
        "LADDERLOG_BOOTSTRAP_SERVERS": site.settings.bootstrap_servers,
        "LADDERLOG_APP_ID": site.settings.app_id,
        "LADDERLOG_TOPIC_PREFIX": site.settings.topic_prefix,
        "LADDERLOG_LADDERS": str(site.ladder_file),
    }
    return CliRunner().invoke(cli, list(arguments), env=settings)


def document(result: Result) -> Any:
    return orjson.loads(result.stdout)


def play(site: Site) -> None:
    """Rate the games of a week, and close it."""

    async def scenario() -> None:
        async with opened(site, NUMBER) as partition:
            await read(site, partition)
            await partition.end_weeks(MIDNIGHT)
            await read(site, partition)

    use_ladders(site)
    site.produce([game("utc", str(number), MIDNIGHT - SECOND) for number in range(3)])
    asyncio.run(scenario())


def test_every_document_has_the_documented_shape(site: Site) -> None:
    play(site)
    other = site.folder / "other.toml"
    rules = "[ladders.utc.weekly]\nstake = 20\n[ladders.new]\nsystems = ['fundox']\n"
    other.write_text(site.ladder_file.read_text() + rules)
    asked = {
        "status": ["status"],
        "ranking": ["ranking", "--ladder", "utc"],
        "week": ["week", "--ladder", "utc", "--week", W46],
        "game": ["game", "--ladder", "utc", "--game-id", "0"],
        "explain": ["explain", "--ladder", "utc", "--game-id", "0", "--player", "ann"],
        "preview": ["preview", "--ladder", "utc", "--players", "ann,bob", "--at", MIDNIGHT.isoformat()],
        "topics": ["topics"],
        "audit": ["audit"],
        "compare": ["compare", "--with", str(other)],
        "settings": ["settings"],
    }
    documents = {name: document(ask(site, *arguments, "--json")) for name, arguments in asked.items()}
    shapes = {name: shape(found) for name, found in documents.items()}

    assert DOCUMENTED.keys() == asked.keys()

    # Nothing is wrong here: these have no kinds, and nothing to show.
    shapes["audit"] |= {name: shape(DOCUMENTED["audit"][name]) for name in ("totals", "shown")}
    # The other partitions and ladders have no games.
    shapes["status"]["partitions"] = [shape(documents["status"]["partitions"][NUMBER])]
    shapes["status"]["partitions"][0] |= {"pending": shape(DOCUMENTED["status"]["partitions"][0]["pending"])}
    (compared,) = [one for one in documents["compare"]["comparisons"] if one["ladder"] == "utc"]
    shapes["compare"]["comparisons"] = [shape(compared)]

    assert shapes == {name: shape(example) for name, example in DOCUMENTED.items()}
    assert documents["status"]["behind"] == 0
    assert documents["ranking"]["systems"][0]["players"][0]["player_id"] == "ann"
    assert (documents["week"]["state"], documents["week"]["revision"]) == ("closed", 1)
    assert documents["audit"]["differences"] == 0
    assert documents["topics"]["topics"][0]["mistakes"] == []
    assert documents["settings"]["settings"][0] == {
        "name": "bootstrap.servers",
        "value": site.settings.bootstrap_servers,
        "from": "variable LADDERLOG_BOOTSTRAP_SERVERS",
    }


def test_a_ranking_in_an_unknown_system_is_a_mistake_that_names_those_there_are(site: Site) -> None:
    play(site)
    result = ask(site, "ranking", "--ladder", "utc", "--system", "elo")

    assert result.exit_code == 2
    assert "'elo'; there are weekly" in result.stderr


def test_status_is_1_when_records_are_behind_and_no_worker_runs(site: Site) -> None:
    before = ask(site, "status")
    site.produce([{**game("tiles", "1", MIDNIGHT), "ladder": "tiles"}])
    behind, waited = ask(site, "status"), ask(site, "status", "--wait", "1", "--json")

    assert before.exit_code == 0
    assert (behind.exit_code, waited.exit_code) == (1, 1)
    assert "no worker runs" in behind.stderr
    assert document(waited)["behind"] == 1
    assert document(waited)["workers"] == 0


def test_an_input_with_kafkas_own_limit_is_a_warning_with_the_command_that_raises_it(site: Site) -> None:
    async def alter(topic: str, config: dict[str, str]) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=site.settings.bootstrap_servers)
        await admin.start()
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, config)])
        await admin.close()

    topic = site.settings.input_topic
    asyncio.run(alter(topic, {"cleanup.policy": "delete", "max.message.bytes": "1048588"}))
    warned = ask(site, "topics")
    asyncio.run(alter(topic, {"cleanup.policy": "delete", "max.message.bytes": "100000"}))
    refused = ask(site, "topics")

    assert warned.exit_code == 0
    assert "warning: has max.message.bytes=1048588" in warned.stdout
    assert f"--alter --topic {topic} --add-config max.message.bytes=4194304" in warned.stdout
    assert refused.exit_code == 1
    assert "at least 1000000 are needed" in refused.stdout
