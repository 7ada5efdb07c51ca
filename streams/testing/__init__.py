"""For programs that send games to Ladderlog or read what it publishes: what their tests need of it.

Public: these names stay, and so do the fixtures of `streams.testing.plugin` and what they yield.
"""

from streams.testing.checker import Checker, Problem, problems
from streams.testing.driver import CLUB_LADDERS, Driver, Published
from streams.testing.makers import (
    InvalidEventError,
    abandoned,
    appointed,
    checked,
    checked_activity,
    club_games,
    connected,
    deal_started,
    disconnected,
    erased,
    finished,
    game_started,
    pardoned,
    ranked,
    registered,
    reputation,
    returned,
    sanctioned,
    scored,
)

__all__ = [
    "CLUB_LADDERS",
    "Checker",
    "Driver",
    "InvalidEventError",
    "Problem",
    "Published",
    "abandoned",
    "appointed",
    "checked",
    "checked_activity",
    "club_games",
    "connected",
    "deal_started",
    "disconnected",
    "erased",
    "finished",
    "game_started",
    "pardoned",
    "problems",
    "ranked",
    "registered",
    "reputation",
    "returned",
    "sanctioned",
    "scored",
]
