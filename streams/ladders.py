"""The ladders fold: input events in log order in, rows and published events out.

Pure: standard library only, no clock, no I/O. Two folds of the same events hold the same rows and have put
out the same events, whatever batches they were given in.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from streams.ladder_file import LadderRules
from streams.model import Event, Game, RatingImported, Rejected, WeekEnded
from streams.model import places as places_of
from streams.ratings.system import PAIR, Change, Standing, System
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

# A player's rated games on a ladder: all, won, lost and drawn.
Tally = tuple[int, int, int, int]

_HOUR = 3600
_NO_GAMES: Tally = (0, 0, 0, 0)


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


# What a rated game publishes, before it is written out as one rating-changed a player and system: ladder,
# game_id, ended_at, the changes of each system that rated it, the players and their statistics after it, and
# the amended standings of a closed week. A plain tuple for the same reason as Change.
GameRated = tuple[
    str,
    str,
    str,
    Sequence[tuple[str, Sequence[Change]]],
    Sequence[str],
    Sequence[Tally],
    Sequence[Mapping[str, Any]],
]

# A fold says what it publishes in short; `outputs` writes it out.
Publication = Output | GameRated


def outputs(publications: Iterable[Publication]) -> list[Output]:
    """Write out what a fold publishes, in the order of publication."""
    out: list[Output] = []
    for publication in publications:
        if isinstance(publication, Output):
            out.append(publication)
        else:
            ladder, *_, closings = publication
            out += [Output(RATING_CHANGED, body["player_id"], body) for body in rating_changes(publication)]
            out += [Output(COMPETITION_CLOSED, ladder, closing) for closing in closings]
    return out


def rating_changes(rated: GameRated) -> list[RatingChanged]:
    """Write out the changes of a rated game, in the order of publication."""
    ladder, game_id, ended_at, changes, players, tallies, _ = rated
    counts = {player_id: _counts(tally) for player_id, tally in zip(players, tallies, strict=True)}
    quoted_ladder = quote_part(ladder)
    quoted_game = quote_part(game_id)
    bodies = []
    for name, changed in changes:
        start = f"{quoted_ladder}/{name}/{quoted_game}/"
        for player_id, before, after, sequence, details in changed:
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
                "statistics": counts[player_id],
            }
            if details is not None:
                body.update(details)  # type: ignore[typeddict-item]
            bodies.append(body)
    return bodies


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
        published: list[Publication] = []
        outcome = self.fold(event, published)
        out += outputs(published)
        return outcome

    def fold(self, event: Event, out: list[Publication]) -> str:
        """Do what `apply` does, but leave what is published in short."""
        ladder = self._ladders.get(event.ladder)
        if ladder is None:
            ladder = self._open(event.ladder)
        if type(event) is Game:
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

    def drop_changes(self) -> None:
        """Forget which rows have changed: for who wants none."""
        for ladder in self._ladders.values():
            ladder.drop_changes()

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
        return _counts(_NO_GAMES if found is None else found.tallies.get(player_id, _NO_GAMES))

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


class _RememberedGames:
    """Which games were seen in the last span of event time, and what they said.

    Event time is that of the ladder: the latest end of a game so far, which the `future` rule bounds. A game
    is kept by the hour of that time at which it was seen (not by its own end: a late game is remembered as
    long as any), so that an hour's games are forgotten together.
    """

    def __init__(self, span_hours: int) -> None:
        self._span = span_hours
        # As little as possible for each game: there may be a million.
        self._digests: dict[str, int] = {}
        self._versions: dict[str, int] = {}
        self._hours: dict[int, list[str]] = {}
        self._forgotten: list[str] = []
        self._changes: list[tuple[int, list[str]]] = []
        # All games that ended before 1970 are of one hour.
        self._advance(-1)

    def find(self, game_id: str) -> int | None:
        """Give the digest of a game; None when it is not remembered."""
        return self._digests.get(game_id)

    def version(self, game_id: str) -> int:
        """Give the version of a game that is remembered."""
        return self._versions.get(game_id, 1)

    def set_version(self, game_id: str, version: int) -> None:
        """Remember a game as that version, which `add` takes for the first."""
        self._versions[game_id] = version

    def correct(self, game: Game) -> None:
        """Remember a game as its correction has it, as long as before."""
        self._digests[game.game_id] = game.digest
        self.set_version(game.game_id, game.version)
        hour = next(hour for hour, seen in self._hours.items() if game.game_id in seen)
        self._changes.append((hour, [game.game_id]))

    def add(self, game: Game) -> int | None:
        """Remember a game from now on, unless it is remembered: then give its digest, and change nothing."""
        game_id = game.game_id
        digests = self._digests
        count = len(digests)
        known = digests.setdefault(game_id, game.digest)
        if len(digests) == count:
            return known
        if game.ended_epoch >= self._next_hour:
            self._advance(int(game.ended_epoch // _HOUR))
            self._forget(self._hour - self._span)
        self._seen.append(game_id)
        self._changed.append(game_id)
        return None

    def load(self, game_id: str, row: Any) -> None:
        digest, hour, version = row
        if hour > self._hour:
            self._advance(hour)
        self._digests[game_id] = int(digest, 16)
        if version > 1:
            self._versions[game_id] = version
        self._hours.setdefault(hour, []).append(game_id)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        rows: dict[str, Any | None] = dict.fromkeys(self._forgotten)
        digests, versions = self._digests, self._versions
        for hour, changed in self._changes:
            for game_id in changed:
                digest = digests.get(game_id)
                row = None if digest is None else [f"{digest:016x}", hour, versions.get(game_id, 1)]
                rows[game_id] = row
        self.drop_changes()
        yield from rows.items()

    def drop_changes(self) -> None:
        self._changes.clear()
        self._forgotten.clear()
        self._advance(self._hour)

    def _advance(self, hour: int) -> None:
        self._hour = hour
        self._next_hour = (hour + 1) * _HOUR
        # Those of the hour, for games to come: all that were seen, and what has changed.
        self._seen = self._hours.setdefault(hour, [])
        self._changed: list[str] = []
        self._changes.append((hour, self._changed))

    def _forget(self, before: int) -> None:
        for hour in [hour for hour in self._hours if hour < before]:
            for game_id in self._hours.pop(hour):
                del self._digests[game_id]
                self._versions.pop(game_id, None)
                self._forgotten.append(game_id)


class _Ladder:
    """One ladder: its systems, its players' statistics and the games it remembers."""

    def __init__(self, rules: LadderRules, corrections: Corrections) -> None:
        self.rules = rules
        self._corrections = corrections
        self.ladder = rules.ladder
        self.systems = {system.name: system for system in rules.new_systems()}
        weekly = self.systems.get(Weekly.name)
        self.weekly = weekly if isinstance(weekly, Weekly) else None
        # What row keys begin with, by kind.
        kinds = ("player", "game", *(kind for system in self.systems.values() for kind in system.row_kinds))
        self._prefixes = {kind: join_key(kind, self.ladder, "") for kind in kinds}
        self._rated_by = [(system.name, system.rate) for system in self.systems.values()]
        self._games = _RememberedGames(int(rules.remember.total_seconds()) // _HOUR)
        self.tallies: dict[str, Tally] = {}
        # An id for every change, in order, most of them again and again: cheaper than to look each up.
        self._changed: list[str] = []

    def apply_game(self, game: Game, out: list[Publication]) -> str:
        game_id = game.game_id
        if game.version > 1:
            known = self._games.find(game_id)
            # Of a game that is not remembered any more, or never came: only a rebuild knows.
            return NOTED if known is None else self._apply_known(game, known, out)
        if game_id in self._corrections and self._games.find(game_id) is None:
            correction = self._corrections[game_id]
            if correction is None:
                self._games.add(game)
                return self._ignore(game_id, "voided", out)
            outcome = self._apply_new(correction, out)
            self._games.set_version(game_id, correction.version)
            return outcome
        return self._apply_new(game, out)

    def _apply_new(self, game: Game, out: list[Publication]) -> str:
        game_id = game.game_id
        known = self._games.add(game)
        if known is not None:
            return self._apply_known(game, known, out)
        if not game.rated:
            return self._ignore(game_id, "unrated", out)
        places = places_of(game)
        if places is None:
            return self._ignore(game_id, "no-result", out)
        changed = []
        reasons: list[Reason] | None = None
        closings: Sequence[Mapping[str, Any]] = ()
        for name, rate in self._rated_by:
            verdict = rate(game, places)
            changes, reason, players, closing = verdict
            if changes:
                changed.append((name, changes))
            if reason is not None:
                reasons = reasons or []
                reasons.append(_reason(name, reason, players))
            if closing is not None:
                closings = [closing]
        if changed:
            tallies = self._count(game, places)
            out.append((self.ladder, game_id, game.ended_at, changed, game.players, tallies, closings))
        if reasons is not None:
            out.append(self._ignored(reasons, game_id=game_id))
        return RATED if changed else IGNORED

    def _apply_known(self, game: Game, digest: int, out: list[Publication]) -> str:
        if game.version > self._games.version(game.game_id):
            # What was applied stays until a rebuild; this much is needed to tell its duplicates.
            self._games.correct(game)
            return NOTED
        if digest != game.digest:
            raise Rejected("conflict", f"game_id: {game.game_id!r} was seen before with other content")
        return self._ignore(game.game_id, "duplicate", out)

    def apply_import(self, imported: RatingImported, out: list[Publication]) -> str:
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
        self._changed.append(player_id)
        _, before, after, sequence, details = change
        body: RatingChanged = {
            "change_id": join_key(self.ladder, system.name) + _import_path(details) + player_id,
            "ladder": self.ladder,
            "system": system.name,
            "player_id": player_id,
            "sequence": sequence,
            "before": before,
            "after": after,
            "statistics": _counts(self.tallies.get(player_id, _NO_GAMES)),
            "reason": "import",
        }
        if details is not None:
            body.update(details)  # type: ignore[typeddict-item]
        out.append(Output(RATING_CHANGED, player_id, body))
        return NOTED

    def apply_week_ended(self, ended: WeekEnded, out: list[Publication]) -> str:
        closed: list[CompetitionClosed] | str = "no-competition"
        if self.weekly is not None:
            closed = self.weekly.close(ended.week, final=ended.final)
        if isinstance(closed, str):
            reasons: list[Reason] = [{"system": Weekly.name, "reason": closed}]
            out.append(self._ignored(reasons, week=ended.week))
            return IGNORED
        out.extend(Output(COMPETITION_CLOSED, self.ladder, body) for body in closed)
        return NOTED

    def touch(self, player_id: str) -> None:
        self._changed.append(player_id)

    def load(self, kind: str, key: str, row: Any) -> None:
        if kind == "player":
            self._load_player(key, row)
        elif kind == "game":
            self._games.load(key, row)
        else:
            self._system_of(kind).load_row(kind, key, row)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        prefixes = self._prefixes
        prefix = prefixes["player"]
        for player_id in dict.fromkeys(self._changed):
            yield prefix + player_id, self._player_row(player_id)
        self._changed.clear()
        prefix = prefixes["game"]
        for game_id, row in self._games.changed_rows():
            yield prefix + game_id, row
        for system in self.systems.values():
            for kind, key, own in system.changed_rows():
                yield prefixes[kind] + key, own

    def drop_changes(self) -> None:
        self._changed.clear()
        self._games.drop_changes()
        for system in self.systems.values():
            system.drop_changes()

    def _system_of(self, kind: str) -> System:
        for system in self.systems.values():
            if kind in system.row_kinds:
                return system
        raise ValueError(f"ladder {self.ladder!r}: a row of kind {kind!r} belongs to none of its systems")

    def _player_row(self, player_id: str) -> dict[str, list[float]]:
        row: dict[str, list[float]] = {}
        tally = self.tallies.get(player_id)
        if tally is not None:
            row["statistics"] = list(tally)
        for name, system in self.systems.items():
            standing = system.players.get(player_id)
            if standing is not None:
                row[name] = [standing.rating, standing.games, standing.sequence]
        return row

    def _load_player(self, player_id: str, row: dict[str, list[Any]]) -> None:
        for name, figures in row.items():
            if name == "statistics":
                games, wins, losses, draws = figures
                self.tallies[player_id] = (games, wins, losses, draws)
            else:
                self.systems[name].players[player_id] = Standing(*figures)

    def _count(self, game: Game, places: Sequence[int]) -> Sequence[Tally]:
        tallies = self.tallies
        changed = self._changed
        if len(places) == PAIR and game.teams is None:
            # What follows gives the same for two players, and takes twice as long.
            one, two = game.players
            games, wins, losses, draws = tallies.get(one, _NO_GAMES)
            others, won, lost, drawn = tallies.get(two, _NO_GAMES)
            place_one, place_two = places
            if place_one < place_two:
                first = (games + 1, wins + 1, losses, draws)
                second = (others + 1, won, lost + 1, drawn)
            elif place_one > place_two:
                first = (games + 1, wins, losses + 1, draws)
                second = (others + 1, won + 1, lost, drawn)
            else:
                first = (games + 1, wins, losses, draws + 1)
                second = (others + 1, won, lost, drawn + 1)
            tallies[one] = first
            tallies[two] = second
            changed += game.players
            return first, second
        best = min(places)
        shared = _first_is_shared(game, places, best)
        counted = []
        for player_id, place in zip(game.players, places, strict=True):
            games, wins, losses, draws = tallies.get(player_id, _NO_GAMES)
            if place != best:
                tally = (games + 1, wins, losses + 1, draws)
            elif shared:
                tally = (games + 1, wins, losses, draws + 1)
            else:
                tally = (games + 1, wins + 1, losses, draws)
            tallies[player_id] = tally
            counted.append(tally)
            changed.append(player_id)
        return counted

    def _ignore(self, game_id: str, reason: str, out: list[Publication]) -> str:
        reasons: list[Reason] = [{"system": name, "reason": reason} for name in self.systems]
        out.append(self._ignored(reasons, game_id=game_id))
        return IGNORED

    def _ignored(self, reasons: list[Reason], **what: str) -> Output:
        return Output(GAME_IGNORED, self.ladder, {**what, "ladder": self.ladder, "reasons": reasons})


def _reason(system: str, reason: str, players: Sequence[str]) -> Reason:
    return (
        {"system": system, "reason": reason, "players": list(players)}
        if players
        else {"system": system, "reason": reason}
    )


def _counts(tally: Tally) -> Counts:
    games, wins, losses, draws = tally
    return {"games": games, "wins": wins, "losses": losses, "draws": draws}


def _import_path(details: Mapping[str, Any] | None) -> str:
    """Tell imports of one player apart: one for the ladder, or one for each week."""
    week = (details or {}).get("week")
    return "/%import/" if week is None else f"/%import/{week}/"


def _first_is_shared(game: Game, places: Sequence[int], best: int) -> bool:
    if game.teams is None:
        return places.count(best) > 1
    return len({team for team, place in zip(game.teams, places, strict=True) if place == best}) > 1
