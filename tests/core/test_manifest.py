"""What a deployment says of itself: rules to be read back, differences by name, the version of the fold."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from season import LADDER_FILE, events

from streams.core.beginnings import Beginnings
from streams.core.corrections import CorrectedLadders, CorrectionPlan
from streams.core.events import CorrectionsApplied, Event, Rejected
from streams.core.manifest import FOLD_VERSION, Manifest, manifest_of, merged
from streams.core.rules import LadderRules, parse_ladders
from streams.files.ladder_file import example_ladder_file, read_ladders
from streams.wire.decode import decode_line

# The digest of the recorded season's events and rows, by version of the fold.
DIGESTS = Path(__file__).parent / "fold_digests.json"
SEASON = 4_000

FULL = """
[ladders.rummy]
systems = ["fundox", "points", "closeness", "bga", "weekly"]
timezone = "America/New_York"
remember = "36h"
advised_players = { rummy = 4, "rummy-long" = 3 }
fundox = { stake = 24 }
bga = { quit_policy = "exclude", k = 12.5 }
weekly = { grace = "90m" }
"""


def rules_of(text: str) -> dict[str, LadderRules]:
    return parse_ladders(tomllib.loads(text))


APP_ID = "recorded"
RECORDED_RULES = rules_of(LADDER_FILE)


def manifest(stake: float = 16, **ladders: str) -> Manifest:
    text = f'[ladders.chess]\nsystems = ["fundox", "bga"]\nfundox = {{ stake = {stake} }}\n'
    others = "".join(f"[ladders.{name}]\n{table}\n" for name, table in ladders.items())
    return Manifest.of(rules_of(text + others), 4)


@pytest.mark.parametrize(
    "rules", [rules_of(FULL), rules_of(LADDER_FILE), read_ladders(example_ladder_file())]
)
def test_rules_are_read_back_from_a_manifest_as_they_were(rules: Mapping[str, LadderRules]) -> None:
    stored = json.loads(json.dumps(Manifest.of(rules, 4, "1.0").document()))

    read = manifest_of(stored)

    assert read.rules() == rules
    assert [list(one.systems) for one in read.rules().values()] == [
        list(one.systems) for one in rules.values()
    ]
    assert read.same_as(Manifest.of(rules, 4, "another program"))


@pytest.mark.parametrize(
    ("now", "differences"),
    [
        (manifest(), []),
        (manifest(32), ["ladders.chess.fundox.stake: 16, now 32"]),
        (
            Manifest.of(rules_of('[ladders.chess]\nsystems = ["bga"]\nremember = "30d"'), 6),
            [
                "partitions: 4, now 6",
                "ladders.chess.systems: fundox, bga, now bga",
                "ladders.chess.remember: 1w, now 30d",
            ],
        ),
        (
            Manifest.of(rules_of('[ladders.chess]\nsystems = ["bga", "fundox"]'), 4),
            ["ladders.chess.systems: fundox, bga, now bga, fundox"],
        ),
        (
            Manifest.of(rules_of('[ladders.go]\nsystems = ["bga"]'), 4),
            ["ladders.chess: was there, now is not"],
        ),
        (
            Manifest(4, manifest().ladders, fold=FOLD_VERSION + 1),
            [f"fold version: 1, now {FOLD_VERSION + 1}"],
        ),
    ],
)
def test_what_differs_is_named_with_both_values(now: Manifest, differences: list[str]) -> None:
    assert list(manifest().differences(now, used={"chess"})) == differences


def test_a_new_ladder_and_changes_to_one_without_rows_are_taken_in() -> None:
    before = manifest(go='systems = ["bga"]', old='systems = ["bga"]')
    now = manifest(go='systems = ["points"]', tiles='systems = ["bga"]')

    assert list(before.differences(now, used={"chess"})) == []
    assert before.taking(now, {"chess"}, offset=0).ladders == now.ladders


def test_what_came_before_a_ladder_was_taken_in_stays_rejected() -> None:
    taken = manifest().taking(manifest(go='systems = ["bga"]'), {"chess"}, offset=7)
    rules = manifest_of(json.loads(json.dumps(taken.document()))).rules()
    game = decode_line(orjson.dumps({**events(1)[0], "ladder": "go"}))
    before, after = Beginnings(rules).known([game, game], [6, 7])

    assert (rules["chess"].since, rules["go"].since) == (0, 7)
    assert isinstance(before, Rejected)
    assert before.reason == "unknown-ladder"
    assert after == game
    assert taken.same_as(manifest(go='systems = ["bga"]'))


def test_the_home_of_a_ladder_knows_it_best() -> None:
    old, new = manifest(go='systems = ["bga"]', old='systems = ["bga"]'), manifest(go='systems = ["points"]')

    together = merged({0: old, 1: new, 2: None}, {"chess": 0, "go": 1, "old": 1}.__getitem__)

    assert together == new
    assert merged({0: None}, {}.__getitem__) is None


def recorded() -> list[Event]:
    """Return the events of a season, with corrections of every ladder put into force near its end."""
    season = [decode_line(orjson.dumps(fields)) for fields in events(SEASON)]
    markers = [CorrectionsApplied(ladder, APP_ID, until=SEASON) for ladder in RECORDED_RULES]
    return [*season[:-200], *markers, *season[-200:]]


def fold_digest() -> str:
    """Return the digest of all events and rows of the recorded season, and of what was rejected."""
    log = recorded()
    plan = CorrectionPlan(APP_ID)
    for offset, event in enumerate(log):
        plan.note(event, offset)
    ladders = CorrectedLadders(RECORDED_RULES, plan)
    digest = hashlib.sha256()
    rows: dict[str, Any] = {}
    for offset, event in enumerate(log):
        out: list[Any] = []
        try:
            digest.update(ladders.apply(event, offset, out).encode())
        except Rejected as rejected:
            digest.update(rejected.reason.encode())
        for published in out:
            digest.update(msgspec.json.encode(published))
        rows.update(ladders.changed_rows())
    digest.update(orjson.dumps({key: row for key, row in sorted(rows.items()) if row is not None}))
    return digest.hexdigest()


def test_the_fold_gives_what_its_version_says() -> None:
    """When results or rows change, so that no deployment goes on with rows that another fold has made.

    Raise FOLD_VERSION in streams/core/manifest.py, and add the new digest under it to fold_digests.json.
    """
    known = json.loads(DIGESTS.read_text(encoding="utf-8"))
    digest = fold_digest()

    assert known.get(str(FOLD_VERSION)) == digest, (
        f"the fold gives other events or rows than version {FOLD_VERSION} does: raise FOLD_VERSION, and add "
        f'"{FOLD_VERSION + 1}": "{digest}" to {DIGESTS.name}'
    )
