"""What a deployment writes to every topic, and what its commands say of it, compared with golden files.

`test_golden_commands` says how the files are made anew. Of each record key, value, headers, timestamp and
order are compared, but for what is not the same in any two runs: timestamps that the program takes from the
clock (of games taken back, corrections, and weeks it ends itself), and how the transactions of several input
partitions interleave in one partition of rating-changed. Of the changelog the last row of every key is
compared, which does not depend on how records were divided into transactions.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import pytest
from club import BEFORE_REBUILD, SIMULATE, WEEKLY, Record, club
from deployment import Deployment, shown_topics
from test_golden_commands import NO_REAL_GAMES, REAL_GAMES, REAL_NAMES, real_ladders
from transcripts import INPUTS, Command, check, command, digest, run, transcripts

pytestmark = pytest.mark.kafka

# Before every week of the games, and long after the last.
ASLEEP, AWAKE = "2024-01-01T00:00:00+00:00", "2024-02-20T00:00:00+00:00"
# Weeks 3, 4 and 5 of every weekly ladder end at midnight and for good, by the clock.
WEEKS_BY_THE_CLOCK = 2 * 3 * len(WEEKLY)
SNAPSHOT, LATER_SNAPSHOT = "before.jsonl.zst", "after.jsonl.zst"
STATUS = "status --wait 300"
# One that was taken back, and one behind it.
EXPLAINED = ("--game-id chess-000000 --player rosa", "--game-id chess-000008 --player rosa")


class Broker(Protocol):
    """What is asked of the broker of the test session."""

    bootstrap_servers: str


class Teller:
    """Runs commands on a deployment and keeps what they said, for one golden file each."""

    def __init__(self, deployment: Deployment) -> None:
        self.said: dict[str, list[str]] = {}
        self._deployment = deployment

    def tell(self, name: str, *asked: Command | str) -> None:
        """Run commands that do not depend on each other, and add their transcripts to a golden file's."""
        commands = [command(one) if isinstance(one, str) else one for one in asked]
        with_settings = [replace(one, settings=self._deployment.settings) for one in commands]
        self.said.setdefault(name, []).extend(transcripts(with_settings, self._deployment.folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the inputs."""
    shutil.copytree(INPUTS, tmp_path, dirs_exist_ok=True)
    return tmp_path


def simulated_log(folder: Path) -> tuple[list[Record], list[Record]]:
    """Return the made-up club's log in two parts: what comes before a rebuild, and what after it."""
    games = [json.loads(line) for line in run(command(SIMULATE), folder).stdout.splitlines()]
    log = club(games)
    reported = json.dumps(games[BEFORE_REBUILD]["game_id"]).encode()
    cut = next(number for number, record in enumerate(log) if record.value and reported in record.value)
    return log[:cut], log[cut:]


def look_back(teller: Teller) -> None:
    """Ask for everything that can be asked of a deployment before the rebuild."""
    files = ("out.jsonl", "closed.jsonl", "ignored.jsonl", "rejected.jsonl", "tables.jsonl")
    outputs = " ".join(f"--{name.partition('.')[0]} {name}" for name in files)
    teller.tell(
        "replay-topic",
        command(f"replay {outputs}", writes=files, digest=True),
        command("replay --partition 1 --to 60 --out one.csv", writes=("one.csv",)),
        command("replay --from 2024-01-22T00:00:00Z --to 2024-01-23T00:00:00Z --assume-empty"),
        command("replay --from 20 --to 30 --assume-empty --partition 0 --partition 3"),
        command("replay --processes 2 --out two.parquet --to 50", writes=("two.parquet",)),
        *("replay --from 20", "replay --partition 9", f"replay --from-snapshot {SNAPSHOT}"),
        command("compare --with other.toml --top 3 --html page.html", writes=("page.html",)),
        # Which differences come first is chance, as the order in rating-changed is.
        command("audit --ladders drawn.toml --limit 1000", sorted_output=True),
    )
    teller.tell(
        "tables",
        "ranking --ladder rummy --top 30",
        "ranking --ladder chess --system bga --top 3",
        "ranking --ladder chess --system points",
        "week --ladder belote --week 2024-W03 --top 5",
        "week --ladder belote --week 2024-W40",
        "preview --ladder belote --team ann,bob --team rosa,jonas",
        "preview --ladder chess --players ann,rosa",
        "preview --ladder rummy --players ann,rosa --at 2024-01-28T12:00:00Z",
    )


def change_the_past(teller: Teller) -> None:
    """Take games back and rebuild."""
    # One after the other: their order in the log is part of what is compared.
    for asked in (
        "void --ladder chess --game-id chess-000000 --game-id chess-000001 --reason 'engine use'",
        "void --ladder go --player anton --reason cheat",
        "void --ladder rummy --game-id rummy-11 --reason 'wrong table'",
        "void --ladder go --player nobody --reason cheat",
        "rebuild --dry-run",
        "rebuild --partition 2",
        "rebuild",
    ):
        teller.tell("rebuild", asked)
    # Before a correction no replay can begin, after it one can.
    teller.tell("rebuild", f"replay --from-snapshot {SNAPSHOT}", "ranking --ladder go --top 30")
    teller.tell("rebuild", f"snapshot --out {LATER_SNAPSHOT}")
    teller.tell("rebuild", *(f"explain --ladder chess {one}" for one in EXPLAINED))


def test_the_made_up_club(broker: Broker, folder: Path) -> None:
    """The whole life of a deployment: games and oddities, a rebuild, more games, weeks ended by the clock."""
    deployment = Deployment(broker.bootstrap_servers, folder, "golden")
    teller = Teller(deployment)
    before, after = simulated_log(folder)
    teller.tell("topics", "worker")
    teller.tell("topics", "topics --wait 300")
    teller.tell("topics", "topics", "topics --partitions 5", "status")
    deployment.produce(before)
    deployment.set_clock(ASLEEP)
    with deployment.worker() as first:
        teller.tell("status", STATUS)
    teller.tell("snapshot", command(f"snapshot --out {SNAPSHOT}", writes=(SNAPSHOT,), unordered=(SNAPSHOT,)))
    look_back(teller)
    change_the_past(teller)
    deployment.set_clock(AWAKE)
    deployment.produce(after)
    with deployment.worker() as second:
        deployment.wait_for_weeks(WEEKS_BY_THE_CLOCK)
        teller.tell("status", STATUS)
    rest = f"replay --from-snapshot {LATER_SNAPSHOT}"
    teller.tell("status", "audit", "week --ladder belote --week 2024-W04", rest)
    golden = {**teller.said, "worker": [*first, *second]}
    golden |= {f"topic-{name}": shown for name, shown in shown_topics(deployment).items()}

    check_all(golden, "club")


def check_all(golden: dict[str, list[str]], prefix: str) -> None:
    """Compare with several golden files, and show every difference."""
    differences = []
    for name, shown in golden.items():
        try:
            check(f"{prefix}-{name}", shown)
        except AssertionError as difference:
            differences.append(str(difference))

    assert not differences, "\n\n".join(differences)


def test_events_sent_by_the_commands(broker: Broker, folder: Path) -> None:
    deployment = Deployment(broker.bootstrap_servers, folder, "golden-sent")
    deployment.set_clock("2024-01-08T00:00:00+00:00")
    teller = Teller(deployment)
    simulated = run(command(SIMULATE), folder).stdout.splitlines(keepends=True)[:20]
    odd = b'{\n[]\n\n{"type": "dance"}\n{"ladder": "go", "week": "2024-W01", "type": "week-ended"}\n{}\n'
    teller.tell("commands", "topics")
    teller.tell("commands", Command(("produce", "-"), stdin=b"".join(simulated)))
    teller.tell("commands", Command(("produce", "-"), stdin=odd))
    to = f"--bootstrap-servers {deployment.servers} --topic-prefix {deployment.name}."
    done = run(command(f"simulate --games 20 --start 2024-01-07T15:00:00+00:00 {to}"), folder)
    # Its command line has the broker's port.
    said = ["$ ladderlog simulate, to the broker", f"--- exit status {done.returncode}", done.stdout.decode()]
    teller.said["commands"] += said
    teller.tell("commands", "produce club.csv", "status")
    golden = {**teller.said, "topic-game-finished": shown_topics(deployment)["game-finished"]}

    check_all(golden, "sent")


@pytest.mark.skipif(not REAL_GAMES.is_dir(), reason=NO_REAL_GAMES)
def test_real_games(broker: Broker, folder: Path) -> None:
    """Thousands of games that people played, through the worker: of every topic's partitions the digests."""
    (folder / "ladders.toml").write_text(real_ladders(*REAL_NAMES), encoding="utf-8")
    deployment = Deployment(broker.bootstrap_servers, folder, "golden-real")
    teller = Teller(deployment)
    teller.tell("commands", "topics")
    deployment.produce(list(real_log()))
    deployment.set_clock("1990-01-01T00:00:00+00:00")
    with deployment.worker() as worker:
        teller.tell("commands", STATUS)
    # Corrections of one ladder: those of the others take long, and are no different.
    player = keenest("football")
    teller.tell(
        "commands", Command(("void", "--ladder", "football", "--player", player, "--reason", "cheat"))
    )
    teller.tell("commands", "rebuild --partition 3", *(f"ranking --ladder {name}" for name in REAL_NAMES))
    golden = {**teller.said, "worker": worker}
    for name, shown in shown_topics(deployment).items():
        golden[f"topic-{name}"] = digests(shown)

    check_all(golden, "real")


def real_games(name: str) -> Iterator[dict[str, Any]]:
    """Yield the games of a file."""
    with (REAL_GAMES / f"{name}.jsonl").open("rb") as lines:
        yield from map(json.loads, lines)


def real_log() -> Iterator[Record]:
    """Yield the real games as records, each reported a minute after its end."""
    for name in REAL_NAMES:
        for game in real_games(name):
            ended = datetime.fromisoformat(game["ended_at"]).timestamp()
            value = json.dumps(game, ensure_ascii=False).encode()
            yield Record(value, name.encode(), timestamp=int((ended + 60) * 1000))


def keenest(name: str) -> str:
    """Return who played most games of a file, the first by name of several."""
    played = Counter(player["player_id"] for game in real_games(name) for player in game["players"])
    return min(played, key=lambda player: (-played[player], player))


def digests(lines: Iterable[str]) -> list[str]:
    """Return a text with a digest for the lines below each heading."""
    sections: dict[str, list[str]] = {}
    heading = ""
    for line in lines:
        if line.startswith("--- "):
            heading = line
            sections[heading] = []
        else:
            sections[heading].append(line)
    return [line for heading, below in sections.items() for line in (heading, *digest(below))]
