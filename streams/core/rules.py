"""The ladder file: which ladders there are, their systems and parameters.

Pure: it reads a parsed TOML document, not a file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from streams.core.ratings import SYSTEMS, competitions
from streams.core.ratings.parameters import (
    LadderFileError,
    described,
    duration_text,
    parse,
    parse_duration,
)
from streams.core.ratings.system import LadderContext, System

DEFAULT_REMEMBER = timedelta(days=7)
_MAX_ID = 128
_LEAST_ADVISED = 2
_LADDER_KEYS = ("systems", "timezone", "advised_players", "remember")


@dataclass(frozen=True)
class LadderRules:
    """Everything the fold of one ladder depends on.

    `remember` is the span of event time in which a game_id is known again. `since` is the offset, in the
    ladder's home, from which on it is known: a deployment may take in a new one.
    """

    ladder: str
    systems: Mapping[str, Any]
    timezone: str = "UTC"
    advised_players: Mapping[str, int] = field(default_factory=dict)
    remember: timedelta = DEFAULT_REMEMBER
    since: int = 0

    def context(self) -> LadderContext:
        """Return what the systems need of the ladder."""
        return LadderContext(self.ladder, ZoneInfo(self.timezone), self.advised_players)

    def new_systems(self) -> list[System]:
        """Return the ladder's systems, without any rows, in the order of the ladder file."""
        context = self.context()
        return [SYSTEMS[name](parameters, context) for name, parameters in self.systems.items()]

    def competition(self) -> str | None:
        """Return the name of the ladder's weekly competition; None when it has none."""
        return next((name for name in self.systems if name in competitions()), None)

    def described(self) -> dict[str, Any]:
        """Return the rules as plain JSON, every parameter named: equal rules, equal description.

        `rules_from` takes it back. The order of the systems is part of it, `since` is not.
        """
        return {
            "systems": {name: described(parameters) for name, parameters in self.systems.items()},
            "timezone": self.timezone,
            "advised_players": dict(sorted(self.advised_players.items())),
            "remember": duration_text(self.remember),
        }


def parse_ladders(document: Mapping[str, Any]) -> dict[str, LadderRules]:
    """Return the ladders of a ladder file's document. Raises LadderFileError whose message names the key."""
    for key in document:
        if key != "ladders":
            raise LadderFileError(f"{key}: no such table; ladders stand under [ladders.NAME]")
    ladders = document.get("ladders")
    if not isinstance(ladders, Mapping) or not ladders:
        raise LadderFileError("ladders: the file names no ladder; it needs at least one [ladders.NAME]")
    return {ladder: _parse_ladder(ladder, table) for ladder, table in ladders.items()}


def rules_from(ladders: Mapping[str, Mapping[str, Any]]) -> dict[str, LadderRules]:
    """Return the rules that `described` gave out, by ladder, and from where on each is known (`since`).

    Raises LadderFileError when this program does not know a system or a parameter.
    """
    return {ladder: _rules_from(ladder, table) for ladder, table in ladders.items()}


def _rules_from(ladder: str, described_ladder: Mapping[str, Any]) -> LadderRules:
    table = dict(described_ladder)
    since, systems = table.pop("since", 0), table.pop("systems")
    return replace(_parse_ladder(ladder, {**table, "systems": list(systems), **systems}), since=since)


def _parse_ladder(ladder: str, table: Any) -> LadderRules:
    where = f"ladders.{ladder}"
    if not ladder or len(ladder) > _MAX_ID or not ladder.isprintable() or "/" in ladder:
        raise LadderFileError(f"{where}: a ladder's name is 1 to {_MAX_ID} printable characters without '/'")
    if not isinstance(table, Mapping):
        raise LadderFileError(f"{where}: expected a table, not {table!r}")
    names = _parse_systems(table.get("systems"), f"{where}.systems")
    for key in table:
        if key not in _LADDER_KEYS and key not in names:
            raise LadderFileError(
                f"{where}.{key}: no such key; there are {', '.join(_LADDER_KEYS)} and its systems"
            )
    return LadderRules(
        ladder=ladder,
        systems={
            name: parse(SYSTEMS[name].parameters_type, table.get(name, {}), f"{where}.{name}")
            for name in names
        },
        timezone=_parse_timezone(table.get("timezone", "UTC"), f"{where}.timezone"),
        advised_players=_parse_advised(table.get("advised_players", {}), f"{where}.advised_players"),
        remember=parse_duration(table["remember"], f"{where}.remember")
        if "remember" in table
        else DEFAULT_REMEMBER,
    )


def _parse_systems(names: Any, where: str) -> list[str]:
    if not isinstance(names, list) or not names:
        raise LadderFileError(f"{where}: expected a list of systems, not {names!r}")
    for name in names:
        if not isinstance(name, str) or name not in SYSTEMS:
            raise LadderFileError(f"{where}: {name!r} is none of {', '.join(SYSTEMS)}")
        if names.count(name) > 1:
            raise LadderFileError(f"{where}: {name!r} stands twice")
    weekly = [name for name in names if name in competitions()]
    if len(weekly) > 1:
        raise LadderFileError(f"{where}: a ladder has one weekly competition, not {' and '.join(weekly)}")
    return names


def _parse_timezone(value: Any, where: str) -> str:
    try:
        return ZoneInfo(value).key
    except (KeyError, ValueError, TypeError, OSError, AttributeError) as error:
        raise LadderFileError(f'{where}: {value!r} is not a time zone such as "Europe/Paris"') from error


def _parse_advised(table: Any, where: str) -> dict[str, int]:
    if not isinstance(table, Mapping):
        raise LadderFileError(f"{where}: expected numbers of players by game type, not {table!r}")
    for game_type, players in table.items():
        if not isinstance(players, int) or isinstance(players, bool) or players < _LEAST_ADVISED:
            raise LadderFileError(f"{where}.{game_type}: expected a whole number from 2 on, not {players!r}")
    return dict(table)
