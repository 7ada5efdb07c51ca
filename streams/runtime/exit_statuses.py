"""How a worker's process ends, and what its status says to whoever supervises it.

Status 0 is an orderly end, after SIGTERM or SIGINT.
"""

import logging
import sys
from collections.abc import Mapping
from os import _exit
from typing import NamedTuple

log = logging.getLogger(__name__)

# No broker can be used: it is away, or does not trust this client. EX_UNAVAILABLE of sysexits.h.
EXIT_UNREACHABLE = 69
# A transaction failed, or a partition is stuck: start the worker again. EX_SOFTWARE of sysexits.h.
EXIT_FAILED = 70
# This client may not do what it has to: rights are missing. EX_NOPERM of sysexits.h.
EXIT_NO_RIGHTS = 77
# The state must not be used: an operator has to look. EX_CONFIG of sysexits.h.
EXIT_REFUSED = 78


class Meaning(NamedTuple):
    """What an exit status says, and what there is to do."""

    happened: str
    remedy: str


# Every status of every command. The page of exit statuses is made from this.
MEANINGS: Mapping[int, Meaning] = {
    0: Meaning("All went well. Of a worker: it was stopped in order, by SIGTERM or SIGINT.", "Nothing."),
    1: Meaning(
        "The answer is not what was hoped for: records are behind, an audit found differences, lines of a "
        "file were rejected, topics have wrong settings. Or Kafka refused something.",
        "Read what the command printed.",
    ),
    2: Meaning(
        "A mistake in the question: an unknown option, ladder or system, a topic that is not there, a "
        "mistake in the ladder file.",
        "Mend what the message names, and ask again.",
    ),
    EXIT_UNREACHABLE: Meaning(
        "No broker can be used: it is away, or does not trust this client, or this client does not trust it.",
        "Mend what the message names (the address, the password, the certificate), and start again.",
    ),
    EXIT_FAILED: Meaning(
        "A worker failed, or another writer took its partition over. The transaction under way was given up; "
        "nothing is lost.",
        "Start it again. A service manager does so by itself.",
    ),
    EXIT_NO_RIGHTS: Meaning(
        "The broker does not allow what the command has to do; the message names each right that is missing.",
        "Grant it, as the message says, and start again.",
    ),
    EXIT_REFUSED: Meaning(
        "Refused, because the state must not be used: the rows are not those of the committed offset, the "
        "rules or partitions are not those that the deployment began with, or a topic was deleted.",
        "Do not start it again: read the last line, which says what to do, often `ladderlog restore`.",
    ),
}


def leave_at_once(status: int, message: str, level: int = logging.CRITICAL) -> None:
    """End the process without any clean-up: a fenced or failed writer must not do one thing more.

    An ending that was to be expected has a lower level.
    """
    log.log(level, "%s", message)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    _exit(status)
