"""The fold of one ladder: its games through its systems, its players' statistics, what it remembers.

Pure: no clock, no I/O.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from streams.core.amendments import Amendment, Amendments
from streams.core.deduplication import TOO_OLD, DeduplicationWindow
from streams.core.events import (
    PAIR,
    Event,
    Game,
    GameIgnored,
    GameVoided,
    RatingImported,
    Reason,
    Rejected,
    WeekEnded,
    places,
)
from streams.core.outcomes import IGNORED, NOTED, RATED, REJECTED
from streams.core.publications import NO_GAMES, GameRated, Publication, Statistics, imported_change
from streams.core.ratings import competitions
from streams.core.ratings.system import Competition, Note, Notes, OpenedGame, PlayerRating, System
from streams.core.row_keys import join_key
from streams.core.rules import LadderRules


class Corrections(NamedTuple):
    """What is in force on a ladder: its games as they should have been, and the last word on each.

    A game is None when it was taken back.
    """

    games: Mapping[str, Game | None] = {}
    amendments: Mapping[str, Amendment] = {}


# What became of an event: its outcome, what it publishes, and what is wrong with it when it was rejected.
Folded = tuple[str, Sequence[Publication], Rejected | None]
_PENDING: Folded = (NOTED, (), None)


# The kinds of rows that are a ladder's own, whatever its systems.
_KINDS = ("player", "game", "amendment", "pending")


class Ladder:
    """One ladder: its systems, its players' statistics and the games it remembers."""

    def __init__(self, rules: LadderRules, corrections: Corrections) -> None:
        self.rules = rules
        self.ladder = rules.ladder
        self.systems = {system.name: system for system in rules.new_systems()}
        self.competition = next(
            (system for system in self.systems.values() if isinstance(system, Competition)), None
        )
        self.statistics: dict[str, Statistics] = {}
        self._corrections = corrections.games
        # Of the games to correct those whose first report has come.
        self._placed: set[str] = set()
        # What row keys begin with, by kind.
        kinds = (*_KINDS, *(kind for system in self.systems.values() for kind in system.row_kinds))
        self._prefixes = {kind: join_key(kind, self.ladder, "") for kind in kinds}
        # One a system, in their order; who watches one game puts others here for its time.
        self.rate_batches = [system.rate_batch for system in self.systems.values()]
        self._games = DeduplicationWindow(int(rules.remember.total_seconds()))
        self._amendments = Amendments()
        self._amendments.put_in_force(corrections.amendments)
        # An id for every change, in order, most of them again and again: cheaper than to look each up.
        self._changed: list[str] = []

    def fold_games(self, games: Sequence[Game]) -> list[Folded]:
        """Fold games in log order, all of them through one system after the other."""
        corrections = self._corrections
        if corrections and any(game.game_id in corrections for game in games):
            return [folded for game in games for folded in self._fold_corrected(game)]
        return self._fold_games(games)

    def fold(self, event: Event) -> Folded:
        """Fold an event that is no game."""
        try:
            if isinstance(event, RatingImported):
                return self._import(event)
            if isinstance(event, WeekEnded):
                return self._end_week(event)
        except Rejected as rejected:
            return REJECTED, (), rejected
        if isinstance(event, GameVoided):
            # A game that is still to come is ignored then; for one that was rated, a rebuild takes it back.
            self._amendments.void(event.game_id, self._games.digest(event.game_id))
            self._amendments.count_pending()
        return NOTED, (), None

    @property
    def pending(self) -> int:
        """Return how many voids and versions no rebuild has put into force."""
        return self._amendments.pending

    @property
    def players(self) -> int:
        """Return how many players have a row."""
        return max([len(self.statistics), *(len(system.players) for system in self.systems.values())])

    @property
    def remembered_games(self) -> int:
        """Return how many games are told from their duplicates."""
        return len(self._games)

    def voided_ahead_from(self, game_id: str) -> float:
        """Return from which end on, in seconds since 1970, a game just taken back cannot have come before.

        Infinity when it has; one that ended earlier may have come and been forgotten.
        """
        last = self._amendments.last(game_id)
        return inf if last is None or last.digest is not None else self._games.oldest_epoch

    def touch(self, player_id: str) -> None:
        """Count a player's row as changed."""
        self._changed.append(player_id)

    def load(self, kind: str, key: str, row: Any) -> None:
        """Take back one row, as `changed_rows` gave it out."""
        if kind == "player":
            self._load_player(key, row)
        elif kind == "game":
            self._games.load(key, row)
        elif kind == "amendment":
            self._amendments.load(key, row)
        elif kind == "pending":
            self._amendments.load_pending(row)
        else:
            self._system_of(kind).load_row(kind, key, row)

    def changed_rows(self) -> Iterator[tuple[str, Any | None]]:
        """Yield (key, row) of every row changed since the last call; a None row is deleted."""
        prefixes = self._prefixes
        prefix = prefixes["player"]
        for player_id in dict.fromkeys(self._changed):
            yield prefix + player_id, self._player_row(player_id)
        self._changed.clear()
        prefix = prefixes["game"]
        for game_id, row in self._games.changed_rows():
            yield prefix + game_id, row
        for game_id, row in self._amendments.changed_rows():
            yield prefixes["amendment"] + game_id, row
        for key, row in self._amendments.changed_pending():
            yield prefixes["pending"] + key, row
        for system in self.systems.values():
            for kind, key, system_row in system.changed_rows():
                yield prefixes[kind] + key, system_row

    def drop_changes(self) -> None:
        """Forget which rows have changed, for a fold that stores none."""
        self._changed.clear()
        self._games.drop_changes()
        self._amendments.drop_changes()
        for system in self.systems.values():
            system.drop_changes()

    def _fold_corrected(self, game: Game) -> list[Folded]:
        """Fold a game as its correction has it, in the place of its first report."""
        game_id = game.game_id
        if game_id not in self._corrections or game_id in self._placed:
            return self._fold_games((game,))
        correction = self._corrections[game_id]
        if correction is None:
            return self._fold_games((game,))
        self._placed.add(game_id)
        return self._fold_games((correction,), first_reports=True)

    def _fold_games(self, games: Sequence[Game], *, first_reports: bool = False) -> list[Folded]:
        """Fold games in log order; what was said of them is not asked about when they are `first_reports`."""
        folded: list[Folded] = []
        slots: list[int] = []
        opened: list[OpenedGame] = []
        amendments = self._amendments
        remember = self._games.add
        for game in games:
            game_id = game.game_id
            if (game.version > 1 or game_id in amendments) and not first_reports:
                amended = self._fold_amended(game)
                if amended is not None:
                    folded.append(amended)
                    continue
            known = remember(game_id, game.ended_epoch, game.digest)
            if known is not None:
                folded.append(self._fold_known(game, known))
                continue
            finish = places(game)
            if finish is None or not game.rated:
                folded.append(self._ignore_game(game_id, "unrated" if not game.rated else "no-result"))
                continue
            opened.append(_open(game, finish))
            slots.append(len(folded))
            folded.append(_PENDING)
        self._rate_opened(slots, opened, folded)
        return folded

    def _fold_amended(self, game: Game) -> Folded | None:
        """Say what becomes of a game on which there is more than one report; None when it is to be rated.

        The first report that comes is rated whatever its version, unless the game was taken back before.
        """
        game_id = game.game_id
        last = self._amendments.last(game_id)
        if last is None or game.version > last.version:
            return self._correct(game, last)
        if last.voided:
            # From here on the game has come: what was published of it before a rebuild took it back has the
            # ids that a version rated at once would publish again.
            self._amendments.note_report(game)
            return self._ignore_game(game_id, "voided")
        if game.version < last.version:
            return self._ignore_game(game_id, "superseded")
        return self._fold_known(game, last.digest)

    def _correct(self, game: Game, last: Amendment | None) -> Folded | None:
        """Take a version that is higher than all before; None when it is the first report of the game."""
        known = self._games.digest(game.game_id)
        self._amendments.correct(game)
        # Nothing was said of the game, or it was taken back before any report of it came.
        alone = last is None or (last.voided and last.digest is None)
        if known is None and alone and not self._games.is_too_old(game.ended_epoch):
            return None
        if known is not None:
            # What was applied stays until a rebuild; this much is needed to tell its duplicates.
            self._games.correct(game.game_id, game.digest)
        self._amendments.count_pending()
        return NOTED, (), None

    def _fold_known(self, game: Game, digest: int | None) -> Folded:
        """Say what becomes of a report whose game and version have been seen, or may have been."""
        if digest == TOO_OLD:
            return self._ignore_game(game.game_id, "too-old")
        if digest != game.digest:
            message = (
                f"game_id: {game.game_id!r} was seen before with other content; to correct the game, send it "
                f"with a version above {game.version}"
            )
            return REJECTED, (), Rejected("conflict", message)
        return self._ignore_game(game.game_id, "duplicate")

    def _rate_opened(self, slots: Sequence[int], games: Sequence[OpenedGame], folded: list[Folded]) -> None:
        """Have games rated by all systems, count them for their players, and say what became of each."""
        notes: Notes = {}
        changes = zip(*[rate_batch(games, notes) for rate_batch in self.rate_batches], strict=True)
        ladder, count_pair = self.ladder, self._count_pair
        for number, (slot, opened, made) in enumerate(zip(slots, games, changes, strict=True)):
            game = opened.game
            if number in notes:
                folded[slot] = self._fold_noted(opened, made, notes[number])
                continue
            statistics = count_pair(opened) if opened.one is not None else self._count(game, opened.places)
            rated = GameRated(ladder, game.game_id, game.ended_at, made, game.players, statistics)
            folded[slot] = RATED, (rated,), None

    def _fold_noted(self, opened: OpenedGame, made: Sequence[Any], notes: Sequence[Note]) -> Folded:
        """Say what became of a game on which systems have something to say."""
        game = opened.game
        rating = [system_changes for system_changes in made if system_changes.changes]
        if not rating:
            return IGNORED, (self._ignored_noted(game.game_id, notes),), None
        statistics = self._count_pair(opened) if opened.one is not None else self._count(game, opened.places)
        rated = GameRated(self.ladder, game.game_id, game.ended_at, rating, game.players, statistics)
        return RATED, (rated, self._ignored_noted(game.game_id, notes)), None

    def _ignored_noted(self, game_id: str, notes: Sequence[Note]) -> GameIgnored:
        """Return the event that says which systems did not count a game, or not for everyone."""
        reasons = [Reason(note.system, note.reason, note.players or None) for note in notes]
        return GameIgnored(game_id=game_id, ladder=self.ladder, reasons=reasons)

    def _import(self, imported: RatingImported) -> Folded:
        system = self.systems.get(imported.system)
        if system is None:
            raise Rejected(
                "unknown-system", f"system: {imported.system!r} is not a system of ladder {self.ladder!r}"
            )
        change = system.start(imported)
        player_id = imported.player_id
        if isinstance(change, str):
            reasons = [Reason(system.name, change)]
            return IGNORED, (GameIgnored(player_id=player_id, ladder=self.ladder, reasons=reasons),), None
        self._changed.append(player_id)
        statistics = self.statistics.get(player_id, NO_GAMES)
        return NOTED, (imported_change(self.ladder, system.name, change, statistics),), None

    def _end_week(self, ended: WeekEnded) -> Folded:
        if self.competition is None:
            reasons = [Reason(name, "no-competition") for name in competitions()]
        else:
            closings = self.competition.close(ended.week, final=ended.final)
            if not isinstance(closings, str):
                return NOTED, closings, None
            reasons = [Reason(self.competition.name, closings)]
        return IGNORED, (GameIgnored(week=ended.week, ladder=self.ladder, reasons=reasons),), None

    def _ignore_game(self, game_id: str, reason: str) -> Folded:
        reasons = [Reason(name, reason) for name in self.systems]
        return IGNORED, (GameIgnored(game_id=game_id, ladder=self.ladder, reasons=reasons),), None

    def _system_of(self, kind: str) -> System:
        for system in self.systems.values():
            if kind in system.row_kinds:
                return system
        raise ValueError(f"ladder {self.ladder!r}: a row of kind {kind!r} belongs to none of its systems")

    def _player_row(self, player_id: str) -> dict[str, list[float]]:
        row: dict[str, list[float]] = {}
        statistics = self.statistics.get(player_id)
        if statistics is not None:
            row["statistics"] = list(statistics)
        for name, system in self.systems.items():
            known = system.players.get(player_id)
            if known is not None:
                row[name] = [known.rating, known.games, known.sequence]
        return row

    def _load_player(self, player_id: str, row: dict[str, list[Any]]) -> None:
        for name, figures in row.items():
            if name == "statistics":
                games, wins, losses, draws = figures
                self.statistics[player_id] = (games, wins, losses, draws)
            else:
                rating, games, sequence = figures
                self.systems[name].players[player_id] = PlayerRating(rating, games, sequence)

    def _count_pair(self, opened: OpenedGame) -> Sequence[Statistics]:
        """Do what `_count` does, in half the time, for a pair."""
        one, two = opened.one or "", opened.two
        statistics = self.statistics
        games_one, wins_one, losses_one, draws_one = statistics.get(one, NO_GAMES)
        games_two, wins_two, losses_two, draws_two = statistics.get(two, NO_GAMES)
        if opened.place_one < opened.place_two:
            after_one = (games_one + 1, wins_one + 1, losses_one, draws_one)
            after_two = (games_two + 1, wins_two, losses_two + 1, draws_two)
        elif opened.place_one > opened.place_two:
            after_one = (games_one + 1, wins_one, losses_one + 1, draws_one)
            after_two = (games_two + 1, wins_two + 1, losses_two, draws_two)
        else:
            after_one = (games_one + 1, wins_one, losses_one, draws_one + 1)
            after_two = (games_two + 1, wins_two, losses_two, draws_two + 1)
        statistics[one] = after_one
        statistics[two] = after_two
        self._changed += one, two
        return after_one, after_two

    def _count(self, game: Game, finish: Sequence[int]) -> Sequence[Statistics]:
        statistics = self.statistics
        changed = self._changed
        best = min(finish)
        shared = _first_is_shared(game, finish, best)
        counted = []
        for player_id, place in zip(game.players, finish, strict=True):
            games, wins, losses, draws = statistics.get(player_id, NO_GAMES)
            if place != best:
                after = (games + 1, wins, losses + 1, draws)
            elif shared:
                after = (games + 1, wins, losses, draws + 1)
            else:
                after = (games + 1, wins + 1, losses, draws)
            statistics[player_id] = after
            counted.append(after)
            changed.append(player_id)
        return counted


def _open(game: Game, finish: Sequence[int]) -> OpenedGame:
    """Return a game, a pair if it is one, opened once for all systems."""
    players = game.players
    if len(players) == PAIR and game.teams is None and game.abandoned is None:
        one, two = players
        first, second = finish
        return OpenedGame(
            one, two, first, second, game.points, game.game_type, game.ended_epoch, game, finish
        )
    return OpenedGame(None, "", 0, 0, game.points, game.game_type, game.ended_epoch, game, finish)


def _first_is_shared(game: Game, finish: Sequence[int], best: int) -> bool:
    if game.teams is None:
        return finish.count(best) > 1
    return len({team for team, place in zip(game.teams, finish, strict=True) if place == best}) > 1
