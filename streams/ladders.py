"""The ladders fold: input events in log order in, rows and published events out.

Pure: standard library only, no clock, no I/O. Two folds of the same events hold the same rows and have put
out the same events, whatever batches they were given in.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from streams.ladder_file import LadderRules
from streams.model import Event, Game, RatingImported, Rejected, WeekEnded, ranks
from streams.ratings.system import Change, Standing, System, Verdict
from streams.ratings.weekly import CompetitionClosed, Weekly
from streams.row_keys import join_key, quote_part, split_key

RATING_CHANGED = "rating-changed"
GAME_IGNORED = "game-ignored"
COMPETITION_CLOSED = "competition-closed"

# The outcomes of a record; with `rejected` (raised, see streams.model) every record has exactly one.
RATED = "rated"
IGNORED = "ignored"
NOTED = "noted"
REJECTED = "rejected"

REASONS = {
    "duplicate": "the same game_id with the same content was applied before",
    "unrated": "the game was played unrated",
    "no-result": "not every player has a rank, nor every player points",
    "player-count": "the system does not rate games of this many players or sides",
    "teams": "a team game, which only weekly counts",
    "no-points": "the system needs points of every player",
    "left": "a player left the game and the system's policy leaves these players unrated",
    "voided": "the game was taken back, and a rebuild has applied that",
    "late": "the game (or import) belongs to a week whose grace time is over",
    "already-rated": "an import for a player who has games there already",
    "not-importable": "an import for a system that computes a rating from the player's own games alone",
    "already-closed": "the week of the closing (or import) was closed before",
    "no-week": "an import into a weekly competition names no week",
    "no-competition": "the ladder has no weekly competition",
}

# Games by id as they should have been; None for a voided one.
Corrections = Mapping[str, Game | None]

_HOUR = 3600
_new = tuple.__new__


class Reason(TypedDict, total=False):
    """Why a system did not count a game; `players` when it did count it for the others."""

    system: str
    reason: str
    players: list[str]


class GameIgnored(TypedDict, total=False):
    """A valid game (or import: `player_id`, or closing: `week`) that did not count for the systems named."""

    game_id: str
    player_id: str
    week: str
    ladder: str
    reasons: list[Reason]


class Counts(TypedDict):
    """A player's rated games on a ladder: wins are sole first places, draws shared ones."""

    games: int
    wins: int
    losses: int
    draws: int


class RatingChanged(TypedDict, total=False):
    """One player's rating in one system after one game, an import or a correction."""

    change_id: str
    ladder: str
    system: str
    player_id: str
    game_id: str
    sequence: int
    before: float
    after: float
    ended_at: str
    statistics: Counts
    reason: str
    title: str
    title_before: str
    week: str
    level: int
    level_before: int


class Output(NamedTuple):
    """An event to publish: its topic (without prefix), its key and its body."""

    topic: str
    key: str
    body: Mapping[str, Any]


class Ladders:
    """The fold over all ladders of a partition.

    `apply` takes one event; `load` and `changed_rows` are how a runtime keeps the rows: load every row once,
    then write what changed after each batch. `corrections` are games of one ladder as they should have been.
    """

    def __init__(self, rules: Mapping[str, LadderRules], corrections: Corrections | None = None) -> None:
        self._rules = rules
        self._corrections = corrections or {}
        self._ladders: dict[str, _Ladder] = {}

    def apply(self, event: Event, out: list[Output]) -> str:
        """Apply one event, append what it publishes to `out`, and give its outcome.

        Raises Rejected before anything has changed.
        """
        ladder = self._ladders.get(event.ladder)
        if ladder is None:
            ladder = self._open(event.ladder)
        if isinstance(event, Game):
            return ladder.apply_game(event, out)
        if isinstance(event, RatingImported):
            return ladder.apply_import(event, out)
        if isinstance(event, WeekEnded):
            return ladder.apply_week_ended(event, out)
        # Corrections change the past: live, they are noted, and streams.corrections applies them.
        return NOTED

    def load(self, key: str, row: Any) -> None:
        """Take back one row, as `changed_rows` gave it out. Raises Rejected for a ladder that is unknown."""
        kind, ladder_id, rest = split_key(key, 3)
        ladder = self._ladders.get(ladder_id) or self._open(ladder_id)
        ladder.load(kind, rest, row)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        """Yield (key, row) of every row changed since the last call; a None row is deleted."""
        for ladder in self._ladders.values():
            yield from ladder.changed_rows()

    def ratings(self, ladder: str, system: str) -> list[tuple[str, float, int]]:
        """Give (player, rating, games) of everyone rated in a ladder's system, in no particular order."""
        found = self.system(ladder, system)
        return [] if found is None else found.ratings()

    def system(self, ladder: str, system: str) -> System | None:
        """Give a ladder's system with its rows; None while the ladder has no events."""
        found = self._ladders.get(ladder)
        return None if found is None else found.systems.get(system)

    def statistics(self, ladder: str, player_id: str) -> Counts:
        """Give a player's statistics on a ladder; zeros for a player without rated games."""
        found = self._ladders.get(ladder)
        return _Statistics().shown() if found is None else found.statistics(player_id)

    def touch(self, ladder: str, player_id: str) -> None:
        """Count a player's row as changed, after a system's figures were set from outside."""
        self._ladders[ladder].touch(player_id)

    def replace(self, ladder: str, other: "Ladders") -> None:
        """Take over a ladder of another fold, rows not yet drained from it included."""
        if ladder in other._ladders:  # noqa: SLF001 - of the same class
            self._ladders[ladder] = other._ladders[ladder]  # noqa: SLF001

    def weeks_due(self, now: datetime) -> list[WeekEnded]:
        """Give the week-ended records that should be on the log at `now`, ladder by ladder in week order.

        The fold itself asks no clock: somebody who has one appends these to the log. The same records are
        given until the fold has applied them.
        """
        weekly = (ladder.weekly for ladder in self._ladders.values())
        return [ended for found in weekly if found is not None for ended in found.due(now)]

    def _open(self, ladder: str) -> "_Ladder":
        rules = self._rules.get(ladder)
        if rules is None:
            raise Rejected("unknown-ladder", f"ladder: {ladder!r} is not in the ladder file")
        opened = self._ladders[ladder] = _Ladder(rules, self._corrections)
        return opened


class _Statistics:
    """Rated games of a player on a ladder, in as little memory as Python allows."""

    __slots__ = ("draws", "games", "losses", "wins")

    def __init__(self, games: int = 0, wins: int = 0, losses: int = 0, draws: int = 0) -> None:
        self.games = games
        self.wins = wins
        self.losses = losses
        self.draws = draws

    def shown(self) -> Counts:
        return {"games": self.games, "wins": self.wins, "losses": self.losses, "draws": self.draws}


class _RememberedGames:
    """Which games were seen in the last span of event time, and what they said.

    Event time is that of the ladder: the latest end of a game so far, which the `future` rule bounds. A game
    is kept by the hour of that time at which it was seen (not by its own end: a late game is remembered as
    long as any), so that an hour's games are forgotten together.
    """

    def __init__(self, span_hours: int) -> None:
        self._span = span_hours
        self._rows: dict[str, tuple[str, int, int]] = {}
        self._hours: dict[int, list[str]] = {}
        self._hour = -1
        self._next_hour = 0
        self._changed: dict[str, None] = {}

    def find(self, game_id: str) -> tuple[str, int, int] | None:
        """Give digest, hour and version of a game; None when it is not remembered."""
        return self._rows.get(game_id)

    def correct(self, game: Game, hour: int) -> None:
        """Remember a game as its correction has it, as long as before."""
        self._rows[game.game_id] = (game.digest, hour, game.version)
        self._changed[game.game_id] = None

    def add(self, game: Game) -> None:
        if game.ended_epoch >= self._next_hour:
            self._advance(int(game.ended_epoch // _HOUR))
            self._forget(self._hour - self._span)
        game_id = game.game_id
        self._rows[game_id] = (game.digest, self._hour, game.version)
        self._hours[self._hour].append(game_id)
        self._changed[game_id] = None

    def load(self, game_id: str, row: Any) -> None:
        digest, hour, version = row
        if hour > self._hour:
            self._advance(hour)
        self._rows[game_id] = (digest, hour, version)
        self._hours.setdefault(hour, []).append(game_id)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        for game_id in self._changed:
            yield game_id, self._rows.get(game_id)
        self._changed.clear()

    def _advance(self, hour: int) -> None:
        self._hour = hour
        self._next_hour = (hour + 1) * _HOUR
        self._hours.setdefault(hour, [])

    def _forget(self, before: int) -> None:
        for hour in [hour for hour in self._hours if hour < before]:
            for game_id in self._hours.pop(hour):
                del self._rows[game_id]
                self._changed[game_id] = None


class _Ladder:
    """One ladder: its systems, its players' statistics and the games it remembers."""

    def __init__(self, rules: LadderRules, corrections: Corrections) -> None:
        self.rules = rules
        self._corrections = corrections
        self.ladder = rules.ladder
        self.systems = {system.name: system for system in rules.new_systems()}
        weekly = self.systems.get(Weekly.name)
        self.weekly = weekly if isinstance(weekly, Weekly) else None
        self._rated_by = [
            (system.name, f"{quote_part(self.ladder)}/{system.name}/", system.rate)
            for system in self.systems.values()
        ]
        self._games = _RememberedGames(int(rules.remember.total_seconds()) // _HOUR)
        self._statistics: dict[str, _Statistics] = {}
        self._changed: dict[str, None] = {}

    def apply_game(self, game: Game, out: list[Output]) -> str:
        known = self._games.find(game.game_id)
        if known is not None:
            return self._apply_known(game, known, out)
        if game.version > 1:
            # Of a game that is not remembered any more, or never came: only a rebuild knows.
            return NOTED
        if self._corrections:
            correction = self._corrections.get(game.game_id, game)
            if correction is None:
                self._games.add(game)
                return self._ignore(game.game_id, "voided", out)
            game = correction
        self._games.add(game)
        if not game.rated:
            return self._ignore(game.game_id, "unrated", out)
        places = ranks(game)
        if places is None:
            return self._ignore(game.game_id, "no-result", out)
        return self._rate(game, places, out)

    def _rate(self, game: Game, places: list[int], out: list[Output]) -> str:
        verdicts = []
        reasons: list[Reason] = []
        rated = False
        for name, path, rate in self._rated_by:
            verdict = rate(game, places)
            if verdict.reason is not None:
                reasons.append(_reason(name, verdict))
            if verdict.changes:
                rated = True
                verdicts.append((name, path, verdict))
        if rated:
            self._publish(game, verdicts, self._count(game, places), out)
        if reasons:
            out.append(self._ignored(reasons, game_id=game.game_id))
        return RATED if rated else IGNORED

    def _apply_known(self, game: Game, known: tuple[str, int, int], out: list[Output]) -> str:
        digest, hour, version = known
        if game.version > version:
            # What was applied stays until a rebuild; this much is needed to tell its duplicates.
            self._games.correct(game, hour)
            return NOTED
        if digest != game.digest:
            raise Rejected("conflict", f"game_id: {game.game_id!r} was seen before with other content")
        return self._ignore(game.game_id, "duplicate", out)

    def apply_import(self, imported: RatingImported, out: list[Output]) -> str:
        system = self.systems.get(imported.system)
        if system is None:
            raise Rejected(
                "unknown-system", f"system: {imported.system!r} is not a system of ladder {self.ladder!r}"
            )
        change = system.start(imported)
        player_id = imported.player_id
        if isinstance(change, str):
            reasons: list[Reason] = [{"system": system.name, "reason": change}]
            out.append(self._ignored(reasons, player_id=player_id))
            return IGNORED
        self._changed[player_id] = None
        body: RatingChanged = {
            "change_id": join_key(self.ladder, system.name) + _import_path(change) + player_id,
            "ladder": self.ladder,
            "system": system.name,
            "player_id": player_id,
            "sequence": change.sequence,
            "before": change.before,
            "after": change.after,
            "statistics": self.statistics(player_id),
            "reason": "import",
        }
        if change.details is not None:
            body.update(change.details)  # type: ignore[typeddict-item]
        out.append(Output(RATING_CHANGED, player_id, body))
        return NOTED

    def apply_week_ended(self, ended: WeekEnded, out: list[Output]) -> str:
        closed: list[CompetitionClosed] | str = "no-competition"
        if self.weekly is not None:
            closed = self.weekly.close(ended.week, final=ended.final)
        if isinstance(closed, str):
            reasons: list[Reason] = [{"system": Weekly.name, "reason": closed}]
            out.append(self._ignored(reasons, week=ended.week))
            return IGNORED
        out.extend(Output(COMPETITION_CLOSED, self.ladder, body) for body in closed)
        return NOTED

    def statistics(self, player_id: str) -> Counts:
        return self._statistics.get(player_id, _Statistics()).shown()

    def touch(self, player_id: str) -> None:
        self._changed[player_id] = None

    def load(self, kind: str, key: str, row: Any) -> None:
        if kind == "player":
            self._load_player(key, row)
        elif kind == "game":
            self._games.load(key, row)
        else:
            self._system_of(kind).load_row(kind, key, row)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        ladder = self.ladder
        for player_id in self._changed:
            yield join_key("player", ladder, player_id), self._player_row(player_id)
        self._changed.clear()
        for game_id, row in self._games.changed_rows():
            yield join_key("game", ladder, game_id), row
        for system in self.systems.values():
            for kind, key, own in system.changed_rows():
                yield join_key(kind, ladder, key), own

    def _system_of(self, kind: str) -> System:
        for system in self.systems.values():
            if kind in system.row_kinds:
                return system
        raise ValueError(f"ladder {self.ladder!r}: a row of kind {kind!r} belongs to none of its systems")

    def _player_row(self, player_id: str) -> dict[str, list[float]]:
        row: dict[str, list[float]] = {}
        counts = self._statistics.get(player_id)
        if counts is not None:
            row["statistics"] = [counts.games, counts.wins, counts.losses, counts.draws]
        for name, system in self.systems.items():
            standing = system.players.get(player_id)
            if standing is not None:
                row[name] = [standing.rating, standing.games, standing.sequence]
        return row

    def _load_player(self, player_id: str, row: dict[str, list[Any]]) -> None:
        for name, figures in row.items():
            if name == "statistics":
                self._statistics[player_id] = _Statistics(*figures)
            else:
                self.systems[name].players[player_id] = Standing(*figures)

    def _count(self, game: Game, places: list[int]) -> dict[str, Counts]:
        best = min(places)
        shared = _first_is_shared(game, places, best)
        statistics = self._statistics
        changed = self._changed
        counted: dict[str, Counts] = {}
        for player, place in zip(game.players, places, strict=True):
            player_id = player.player_id
            counts = statistics.get(player_id)
            if counts is None:
                counts = statistics[player_id] = _Statistics()
            counts.games += 1
            if place != best:
                counts.losses += 1
            elif shared:
                counts.draws += 1
            else:
                counts.wins += 1
            changed[player_id] = None
            counted[player_id] = counts.shown()
        return counted

    def _publish(
        self,
        game: Game,
        verdicts: list[tuple[str, str, Verdict]],
        counted: dict[str, Counts],
        out: list[Output],
    ) -> None:
        ladder = self.ladder
        game_id = game.game_id
        ended_at = game.ended_at
        quoted = quote_part(game_id) + "/"
        closings: list[Output] = []
        for name, path, verdict in verdicts:
            start = path + quoted
            for player_id, before, after, sequence, details in verdict.changes:
                body: RatingChanged = {
                    "change_id": start + player_id,
                    "ladder": ladder,
                    "system": name,
                    "player_id": player_id,
                    "game_id": game_id,
                    "sequence": sequence,
                    "before": before,
                    "after": after,
                    "ended_at": ended_at,
                    "statistics": counted[player_id],
                }
                if details is not None:
                    body.update(details)  # type: ignore[typeddict-item]
                # A NamedTuple's own constructor takes three times as long.
                out.append(_new(Output, (RATING_CHANGED, player_id, body)))
            if verdict.closing is not None:
                closings.append(Output(COMPETITION_CLOSED, ladder, verdict.closing))
        out += closings

    def _ignore(self, game_id: str, reason: str, out: list[Output]) -> str:
        reasons: list[Reason] = [{"system": name, "reason": reason} for name in self.systems]
        out.append(self._ignored(reasons, game_id=game_id))
        return IGNORED

    def _ignored(self, reasons: list[Reason], **what: str) -> Output:
        return Output(GAME_IGNORED, self.ladder, {**what, "ladder": self.ladder, "reasons": reasons})


def _reason(system: str, verdict: Verdict) -> Reason:
    reason: Reason = {"system": system, "reason": verdict.reason or ""}
    if verdict.players:
        reason["players"] = list(verdict.players)
    return reason


def _import_path(change: Change) -> str:
    """Tell imports of one player apart: one for the ladder, or one for each week."""
    week = (change.details or {}).get("week")
    return "/%import/" if week is None else f"/%import/{week}/"


def _first_is_shared(game: Game, places: list[int], best: int) -> bool:
    if not game.teams:
        return places.count(best) > 1
    return len({player.team for player, place in zip(game.players, places, strict=True) if place == best}) > 1
