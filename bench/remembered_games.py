"""What remembered games cost: `python bench/remembered_games.py [GAMES] [DAYS]`; else a million of 7 days.

A ladder's window is filled with games under ids of 36 characters, as long as a UUID. Memory is what the
process grows by until it has written their rows; the changelog has the rows as they are written, their keys
and values, before any compression and without what Kafka adds to a record.
"""

import gc
import sys
from pathlib import Path
from uuid import UUID

from streams.core.deduplication import DeduplicationWindow
from streams.core.row_keys import join_key
from streams.runtime.changelog import encode_row

DAY = 24 * 3600
START = 1_767_225_600
STEP = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def memory_bytes() -> int:
    """Return how much memory this process has in use, on Linux."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def main(games: int, days: int) -> None:
    gc.disable()
    before = memory_bytes()
    window = DeduplicationWindow(days * DAY)
    changelog = 0
    for number in range(games):
        mixed = number * STEP & MASK
        game_id = str(UUID(int=mixed << 64 | mixed ^ MASK))
        window.add(game_id, START + number * days * DAY / games, mixed)
        if number % 1_000 == 0 or number == games - 1:
            for key, row in window.changed_rows():
                changelog += len(join_key("game", "chess", key)) + len(encode_row(row) or b"")
    grown = memory_bytes() - before
    print(f"{games:,} games of {days} days: {grown / 1e6:.0f} MB of memory, {changelog / 1e6:.0f} MB of rows")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [1_000_000, 7][len(given) :]))
