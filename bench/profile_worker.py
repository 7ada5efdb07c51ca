"""Run `ladderlog worker` with a cProfile in each of its threads.

    python bench/profile_worker.py FILE worker OPTIONS...

Writes FILE.main for the thread of the agent and FILE.thread-N for the others (Faust fetches in one). From
Python 3.12 on only one thread at a time can be profiled: there it is the main one.
"""

import cProfile
import sys
import threading
from contextlib import suppress
from typing import Any

from streams.cli.main import cli


def main() -> None:
    target, *arguments = sys.argv[1:]
    others: list[cProfile.Profile] = []

    def begin(*_: Any) -> None:
        profile = cProfile.Profile()
        with suppress(ValueError):
            profile.enable()
            others.append(profile)

    threading.setprofile(begin)
    profile = cProfile.Profile()
    try:
        profile.runcall(cli.main, arguments, standalone_mode=False)
    except SystemExit as leaving:
        sys.exit(leaving.code)
    finally:
        profile.dump_stats(f"{target}.main")
        for number, other in enumerate(others, start=1):
            other.dump_stats(f"{target}.thread-{number}")


if __name__ == "__main__":
    main()
