"""One week of the weekly competition that is not final: its players' figures, and its standings.

Pure: standard library and msgspec only.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from streams.core.events import CompetitionClosed, StandingsRow
from streams.core.ratings.weekly_rules import Result

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class WeekRecord:
    """A player's figures in one week. The level is that of the points; the other fields are the row."""

    level: int = 1
    points: float = 0
    games: int = 0
    wins: int = 0
    losses: int = 0
    draws: int = 0
    abandons: int = 0
    sequence: int = 0

    def count(self, result: Result) -> None:
        """Count one game more with that result."""
        self.games += 1
        self.sequence += 1
        if result == "won":
            self.wins += 1
        elif result == "lost":
            self.losses += 1
        else:
            self.draws += 1

    def row(self) -> list[float]:
        """Return the figures as they are kept."""
        return [
            self.points,
            self.games,
            self.wins,
            self.losses,
            self.draws,
            self.abandons,
            self.sequence,
        ]


@dataclass(slots=True)
class Week:
    """A week that is not final: open, or `closed` with so many revisions published.

    `amended` says that games have come since the last of these. It lasts from `start` to `end`, counted from
    the epoch.
    """

    label: str
    start: timedelta
    end: timedelta
    players: dict[str, WeekRecord] = field(default_factory=dict)
    closed: bool = False
    revision: int = 0
    amended: bool = False
    # An id for every change, most of them again and again.
    changed: list[str] = field(default_factory=list)
    state_changed: bool = False
    # Seconds since 1970 that lie in the week whatever a float has rounded; what is left, a second at either
    # end, needs the exact moment.
    surely_from: float = field(init=False)
    surely_until: float = field(init=False)

    def __post_init__(self) -> None:
        """Keep the bounds as numbers, which compare faster."""
        self.surely_from = self.start.total_seconds() + 1
        self.surely_until = self.end.total_seconds() - 1

    def played(self) -> "list[tuple[str, WeekRecord]]":
        """Return those with games or imported points; others are here for their sequence number alone."""
        return [item for item in self.players.items() if item[1].games or item[1].points]

    def new_record(self, player_id: str) -> WeekRecord:
        """Return the record of a player who has none here yet."""
        record = self.players[player_id] = WeekRecord()
        return record

    def closing(self, ladder: str, *, final: bool) -> CompetitionClosed:
        """Count one revision more, and return the event that publishes it."""
        self.revision += 1
        self.amended = False
        self.state_changed = True
        ended_at = (EPOCH + self.end).isoformat().replace("+00:00", "Z")
        return CompetitionClosed(ladder, self.label, self.revision, final, ended_at, self.standings())

    def standings(self) -> list[StandingsRow]:
        """Return everyone who played, by points (descending), then by id."""
        rows: list[StandingsRow] = []
        ordered = sorted(self.played(), key=lambda item: (-item[1].points, item[0]))
        for position, (player_id, record) in enumerate(ordered, start=1):
            tied = bool(rows) and rows[-1].points == record.points
            rank = rows[-1].rank if tied else position
            rows.append(
                StandingsRow(
                    player_id,
                    rank,
                    record.points,
                    record.level,
                    record.games,
                    record.wins,
                    record.losses,
                    record.draws,
                    record.abandons,
                )
            )
        return rows
