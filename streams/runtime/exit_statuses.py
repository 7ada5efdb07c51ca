"""How a worker's process ends, and what its status says to whoever supervises it.

Status 0 is an orderly end, after SIGTERM or SIGINT.
"""

import logging
import sys
from os import _exit

log = logging.getLogger(__name__)

# No broker can be used: it is away, or does not trust this client. EX_UNAVAILABLE of sysexits.h.
EXIT_UNREACHABLE = 69
# A transaction failed, or a partition is stuck: start the worker again. EX_SOFTWARE of sysexits.h.
EXIT_FAILED = 70
# The state must not be used: an operator has to look. EX_CONFIG of sysexits.h.
EXIT_REFUSED = 78


def leave_at_once(status: int, message: str, level: int = logging.CRITICAL) -> None:
    """End the process without any clean-up: a fenced or failed writer must not do one thing more.

    An ending that was to be expected has a lower level.
    """
    log.log(level, "%s", message)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    _exit(status)
