"""What the tests of closings share: weeks, the records that end them, and what comes of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from helpers import LADDER, ladder, outputs, played, ranked

from streams.core.events import (
    COMPETITION_CLOSED,
    Event,
    Game,
    WeekEnded,
)
from streams.core.ladders import Ladders

PARIS = "Europe/Paris"
W47, W48, W49, W50 = "2026-W47", "2026-W48", "2026-W49", "2026-W50"
# A moment in the middle of each week.
DURING = {
    W47: "2026-11-18T20:00:00Z",
    W48: "2026-11-25T20:00:00Z",
    W49: "2026-12-02T20:00:00Z",
    W50: "2026-12-09T20:00:00Z",
}
END_OF_W48 = datetime(2026, 11, 29, 23, tzinfo=UTC)
SECOND = timedelta(seconds=1)
GRACE = timedelta(hours=24)


def won(game_id: str, week: str, winner: str = "a", loser: str = "b", **fields: Any) -> Game:
    return played(game_id, ranked(winner, 1), ranked(loser, 2), ended_at=DURING[week], **fields)


def midnight(week: str, of: str = LADDER) -> WeekEnded:
    return WeekEnded(of, week, final=False)


def final(week: str, of: str = LADDER) -> WeekEnded:
    return WeekEnded(of, week, final=True)


def competition() -> Ladders:
    return ladder("weekly", timezone=PARIS, remember="52w")


def closed(fold: Ladders, *events: Event) -> list[tuple[str, int, bool]]:
    """Apply events, and give week, revision and finality of every closing."""
    bodies = [output.body for output in outputs(fold, events) if output.topic == COMPETITION_CLOSED]
    return [(body["week"], body["revision"], body["final"]) for body in bodies]


def own_rows(fold: Ladders, *events: Event) -> dict[str, Any]:
    """Apply events, and give the competition's rows that are left."""
    outputs(fold, events)
    return {key: row for key, row in fold.changed_rows() if key.startswith("weekly") and row is not None}


def outcomes(fold: Ladders, *events: Event) -> list[str]:
    return [fold.apply(event, []) for event in events]


def due(fold: Ladders, now: datetime) -> list[tuple[str, bool]]:
    return [(ended.week, ended.final) for ended in fold.weeks_due(now)]
