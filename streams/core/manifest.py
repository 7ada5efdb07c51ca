"""A deployment's manifest: by which rules, in how many partitions and by which fold its rows were made.

It stands as a row of its own in every partition of a changelog, and in the header of a snapshot.

Pure: standard library only.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streams.core.rules import LadderRules, rules_from

# Raised whenever the same log gives other events or other rows than before: rows of one fold cannot be gone
# on from by another. `tests/core/test_manifest.py` says when that has happened.
FOLD_VERSION = 1

_SYSTEMS, _SINCE = "systems", "since"


@dataclass(frozen=True)
class Manifest:
    """What a deployment's rows depend on; `ladders` are the rules as plain JSON, `program` only informs."""

    partitions: int
    ladders: Mapping[str, Any]
    fold: int = FOLD_VERSION
    program: str = field(default="", compare=False)

    @classmethod
    def of(cls, rules: Mapping[str, LadderRules], partitions: int, program: str = "") -> "Manifest":
        """Return the manifest of a deployment that rates by these rules with this program."""
        described = {
            ladder: _known_since(ladder_rules.described(), ladder_rules.since)
            for ladder, ladder_rules in rules.items()
        }
        return cls(partitions, described, program=program)

    def document(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "partitions": self.partitions,
            "fold": self.fold,
            "program": self.program,
            "ladders": dict(self.ladders),
        }

    def rules(self) -> dict[str, LadderRules]:
        """Return the rules of every ladder. Raises LadderFileError when this program has not all of them."""
        return rules_from(self.ladders)

    def same_as(self, other: "Manifest") -> bool:
        """Say whether both mean the same, the order of a ladder's systems included."""
        return not list(self.differences(other, [*self.ladders, *other.ladders]))

    def differences(self, now: "Manifest", used: Collection[str]) -> Iterator[str]:
        """Yield each thing in which `now` differs, as `key: this, now that`.

        Of a ladder that is not `used`, which means it has no rows, anything may differ.
        """
        if self.partitions != now.partitions:
            yield f"partitions: {self.partitions}, now {now.partitions}"
        if self.fold != now.fold:
            yield f"fold version: {self.fold}, now {now.fold}"
        yield from ladder_differences(self.ladders, now.ladders, used)

    def taking(self, now: "Manifest", used: Collection[str], offset: int) -> "Manifest":
        """Return this manifest with the ladders of `now` that are not used, which it has other or not at all.

        One that is new is known from `offset` on. A ladder that `now` has not any more is gone, unless used.
        """
        ladders = {ladder: table for ladder, table in self.ladders.items() if ladder in used}
        for ladder, table in now.ladders.items():
            since = self.ladders[ladder].get(_SINCE, 0) if ladder in self.ladders else offset
            ladders.setdefault(ladder, _known_since(table, since))
        return replace(self, ladders=ladders, program=now.program)


def manifest_of(document: Mapping[str, Any]) -> Manifest:
    """Return the manifest that `document` gave out."""
    return Manifest(document["partitions"], document["ladders"], document["fold"], document["program"])


def merged(manifests: Mapping[int, Manifest | None], home_of: Callable[[str], int]) -> Manifest | None:
    """Return the one manifest of all partitions; None when there is none.

    Partitions take in a new ladder one after the other. `home_of` says which partition knows best of a
    ladder; one that its home does not have any more is gone.
    """
    known = {number: manifest for number, manifest in manifests.items() if manifest is not None}
    if not known:
        return None
    ladders: dict[str, Any] = {}
    for manifest in known.values():
        for ladder in manifest.ladders:
            home = known.get(home_of(ladder))
            if home is None:
                # Offsets are those of the home.
                ladders[ladder] = _known_since(manifest.ladders[ladder], 0)
            elif ladder in home.ladders:
                ladders[ladder] = home.ladders[ladder]
    return replace(next(iter(known.values())), ladders=ladders)


def ladder_differences(
    before: Mapping[str, Any], now: Mapping[str, Any], used: Collection[str]
) -> Iterator[str]:
    """Yield the differences between the described rules of the ladders that are used."""
    for ladder in dict.fromkeys([*before, *now]):
        where = f"ladders.{ladder}"
        if ladder not in used:
            continue
        if ladder not in now:
            yield f"{where}: was there, now is not"
        elif ladder not in before:
            yield f"{where}: was not there, now is"
        else:
            yield from _table_differences(before[ladder], now[ladder], where)


def _table_differences(before: Mapping[str, Any], now: Mapping[str, Any], where: str) -> Iterator[str]:
    systems, systems_now = before["systems"], now["systems"]
    if list(systems) != list(systems_now):
        yield f"{where}.systems: {', '.join(systems)}, now {', '.join(systems_now)}"
    for system in systems:
        if system in systems_now:
            yield from _value_differences(systems[system], systems_now[system], f"{where}.{system}")
    yield from _value_differences(_without(before, _SYSTEMS, _SINCE), _without(now, _SYSTEMS, _SINCE), where)


def _known_since(table: Mapping[str, Any], since: int) -> dict[str, Any]:
    """Return a ladder's described rules with the offset from which on it is known."""
    return _without(table, _SINCE) | ({_SINCE: since} if since else {})


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _value_differences(before: Mapping[str, Any], now: Mapping[str, Any], where: str) -> Iterator[str]:
    for key in dict.fromkeys([*before, *now]):
        if before.get(key) != now.get(key):
            yield f"{where}.{key}: {_shown(before.get(key))}, now {_shown(now.get(key))}"


def _shown(value: Any) -> str:
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
