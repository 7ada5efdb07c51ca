"""What happens to players, and what is published of them: the words of the fold over players.

Plain data without behaviour, as `streams.core.events` has it for games. Moments are RFC 3339 with an offset.
Every event has an `event_id`, which names it on the whole site.
"""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

# Topics, without prefix.
PLAYER_ACTIVITY = "player-activity"
PLAYER_STATUS = "player-status"
ACTIVITY_IGNORED = "activity-ignored"

# What the site says on player-activity.
REGISTERED = "registered"
CONNECTED = "connected"
DISCONNECTED = "disconnected"
RETURNED = "returned"
GAME_STARTED = "game-started"
DEAL_STARTED = "deal-started"
ABANDONED = "abandoned"
REPUTATION = "reputation"
SANCTIONED = "sanctioned"
PARDONED = "pardoned"
APPOINTED = "appointed"
ERASED = "erased"
# What Ladderlog itself appends to it.
PLAYED = "played"
ACT_JUDGED = "act-judged"
STATUS_DUE = "status-due"

# Why a record of player-activity is no valid input.
ACTIVITY_REJECTIONS = {
    "too-large": "the record is over 1 MiB",
    "not-json": "the value is not a JSON object",
    "type": "the ce_type header (or the type field of a file) names no event of players",
    "schema": "the event does not fit its JSON Schema",
    "misplaced": "a forwarded copy does not lie in the home of its player",
    "header-name": "the name of a header is not UTF-8",
    "timestamp": "the record's timestamp is no moment in milliseconds since 1970",
    "future": "at is more than 24 hours after the record's own timestamp",
    "until": "until is not later than at",
    "conflict": "the same event_id was seen with other content",
    "reserved": "the player_id is the name by which the site itself acts",
    "oneself": "nobody acts upon themselves",
    "no-right": "whoever acted had not the right to, by their grade or by that of the player",
    "no-key": "a player is to be erased, and there is no key to make a pseudonym with",
}

# Why a valid event of a player changed nothing: the reasons of activity-ignored.
ACTIVITY_REASONS = {
    "duplicate": "the same was applied before",
    "superseded": "something later of the same kind is known already",
    "too-old": "the act is older than what is remembered: it may have come before",
    "erased": "the player was erased",
    "nothing-due": "nothing ends by itself at that moment any more",
}


class _Said(msgspec.Struct, gc=False, omit_defaults=True, frozen=True):
    """What all events of player-activity say: whom it is about, and when it was."""

    topic: ClassVar[str] = PLAYER_ACTIVITY

    event_id: str
    player_id: str
    at: str

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.player_id


class Registered(_Said, frozen=True):
    """A player has registered: seniority counts from here. The earliest one counts."""


class Connected(_Said, frozen=True):
    """A player has connected to the site."""


class Disconnected(_Said, frozen=True):
    """A player has lost the connection to a table, while this deal of the game was played."""

    game_id: str
    deal_id: str


class Returned(_Said, frozen=True):
    """A player is back at the table."""

    game_id: str
    deal_id: str


class GameStarted(_Said, frozen=True):
    """A player has begun to play a game."""

    game_id: str


class DealStarted(_Said, frozen=True):
    """Another deal of a game has begun, with this player at the table."""

    game_id: str
    deal_id: str


class Abandoned(_Said, frozen=True):
    """A player has left a game for good, while it goes on; the finished game will say so too."""

    ladder: str
    game_id: str


class Reputation(_Said, frozen=True):
    """A player gives another one points of reputation, or takes some away; `by` is whoever does."""

    points: int
    by: str


class Sanctioned(_Said, frozen=True):
    """A player is made a devilkin or a demon by another one, for ever if there is no `until`."""

    grade: str
    by: str
    until: str | None = None


class Pardoned(_Said, frozen=True):
    """A player's sanctions are ended by another one."""

    by: str


class Appointed(_Said, frozen=True):
    """A player is appointed to a grade by another one; `mortal` takes an appointment back."""

    grade: str
    by: str


class Erased(_Said, frozen=True):
    """A player wants nothing personal to be kept any more."""


class Played(_Said, frozen=True):
    """What a game says of one of its players: written by the fold over ladders, not by the site.

    `at` is the end of the game. `offset` is where the record lies in the ladder's home that this follows
    from, and `index` tells apart what follows from one record: they only ever rise on a ladder. The game
    counts as played from here on, or does so no longer (`counted`), with all that was said of it. `left_at`
    is when the player left before the end.
    """

    ladder: str
    game_id: str
    offset: int
    index: int = 0
    version: int = 1
    counted: bool = True
    abandoned: bool = False
    left_at: str | None = None


class ActJudged(_Said, frozen=True):
    """An act upon a player by somebody who had the right to it: written by the fold, not by the site.

    `act` is what it is (reputation, sanctioned, pardoned or appointed), and `by_grade` the grade that
    whoever did it had at the moment `at`. Who that was is not said again.
    """

    act: str
    by_grade: str
    points: int | None = None
    grade: str | None = None
    until: str | None = None


class StatusDue(_Said, frozen=True):
    """At this moment something of a player ends by itself: appended by a clock, so that the log has it."""


PlayerEvent = (
    Registered
    | Connected
    | Disconnected
    | Returned
    | GameStarted
    | DealStarted
    | Abandoned
    | Reputation
    | Sanctioned
    | Pardoned
    | Appointed
    | Erased
    | Played
    | ActJudged
    | StatusDue
)
# An event of one player that another one, named by `by`, has caused: it has to be judged.
Act = Reputation | Sanctioned | Pardoned | Appointed
ACTS = (Reputation, Sanctioned, Pardoned, Appointed)


class Activity(msgspec.Struct, gc=False, array_like=True):
    """An event of a player as the fold reads it, with its moments in microseconds since 1970.

    `moment` is that of `at`, and `second` that of `until` or `left_at`, where the event has one. They are
    whole numbers, so that sums of them are exact.
    """

    event: PlayerEvent
    moment: int
    second: int | None = None


class Sanction(msgspec.Struct, gc=False, omit_defaults=True, frozen=True):
    """A sanction in force: a grade, `devilkin` or `demon`, and its end; without one it is for ever."""

    grade: str
    until: str | None = None


class Suspension(msgspec.Struct, gc=False, frozen=True):
    """A suspension in force: no new game may be begun before `until`."""

    since: str
    until: str


class StatusChange(msgspec.Struct, gc=False, omit_defaults=True, frozen=True):
    """What has changed since the last status, and why.

    `what` is grade, sanction, suspension, reputation, registered_at, last_seen or erased. `why` is the name
    of the event, or what has ended by itself: sanction-ended, suspension-ended or seniority.
    """

    what: str
    why: str
    before: str | None = None
    after: str | None = None
    event_id: str | None = None


class PlayerStatus(msgspec.Struct, gc=False, omit_defaults=True, kw_only=True):
    """What a player is and may do, as of a moment; the last one of a player holds.

    `sequence` counts a player's statuses from 1 on. `games` and `last_seen` may be a day behind.
    """

    topic: ClassVar[str] = PLAYER_STATUS

    player_id: str
    sequence: int
    as_of: str
    grade: str
    permissions: Sequence[str]
    registered_at: str | None = None
    # Always given, zeros included: a reader should not have to know what is left out.
    games: int
    reputation: int
    last_seen: str | None = None
    sanction: Sanction | None = None
    suspension: Suspension | None = None
    erased: bool = False
    changes: Sequence[StatusChange]

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.player_id


class StatusRemoved(msgspec.Struct, gc=False):
    """The status of a player who was erased is deleted from its topic: a record without a value."""

    topic: ClassVar[str] = PLAYER_STATUS

    player_id: str
    as_of: str

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.player_id


class ActivityIgnored(msgspec.Struct, gc=False):
    """A valid event of a player that changed nothing, and why: one of `ACTIVITY_REASONS`."""

    topic: ClassVar[str] = ACTIVITY_IGNORED

    player_id: str
    event_id: str
    event: str
    reason: str

    @property
    def key(self) -> str:
        """Return the key of the record."""
        return self.player_id


# What the fold over players publishes. What it appends to player-activity itself is among it.
PlayerOutput = PlayerStatus | StatusRemoved | ActivityIgnored | ActJudged | Played

PLAYER_EVENTS: dict[str, type[PlayerEvent]] = {
    REGISTERED: Registered,
    CONNECTED: Connected,
    DISCONNECTED: Disconnected,
    RETURNED: Returned,
    GAME_STARTED: GameStarted,
    DEAL_STARTED: DealStarted,
    ABANDONED: Abandoned,
    REPUTATION: Reputation,
    SANCTIONED: Sanctioned,
    PARDONED: Pardoned,
    APPOINTED: Appointed,
    ERASED: Erased,
    PLAYED: Played,
    ACT_JUDGED: ActJudged,
    STATUS_DUE: StatusDue,
}
"""The class of each event of player-activity, by its name."""

_NAMES = {kind: name for name, kind in PLAYER_EVENTS.items()}


def name_of(event: PlayerEvent) -> str:
    """Return the name of an event of player-activity, such as `connected`."""
    return _NAMES[type(event)]
