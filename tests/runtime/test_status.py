"""What a deployment's rows say from outside."""

from helpers import LADDER, ladder, played, ranked, written

from streams.core.events import GameVoided
from streams.runtime.status import pending_of


def test_corrections_that_wait_for_a_rebuild_are_counted_by_ladder() -> None:
    fold = ladder("fundox")
    for version in (1, 2, 3):
        fold.apply(played("1", ranked("ann", 1), ranked("bob", 2), version=version), [])
    fold.apply(GameVoided(LADDER, "1", "cheat"), [])

    rows = {key: row for key, row in written(fold) if row is not None}

    assert pending_of(rows) == {LADDER: 3}


def test_a_ladder_on_which_nothing_waits_is_not_named() -> None:
    assert pending_of({"pending/chess/count": b"[0]", "pending/a%2Fb/count": b"[2]"}) == {"a/b": 2}
