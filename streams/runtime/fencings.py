"""How often workers were fenced, kept over restarts: a fenced worker ends before anybody can ask it.

The count lies in a file, one for every deployment and port: in the folder that systemd gives a service for
its state (STATE_DIRECTORY), or else in a temporary one. Where that does not outlive the process, as
in a container that is thrown away, the count begins anew.
"""

import getpass
import logging
import os
import re
import tempfile
from pathlib import Path

from streams.runtime.metrics import FENCINGS

log = logging.getLogger(__name__)


def temporary_folder() -> Path:
    """Return the one folder of this user where workers leave things: a killed worker leaves nothing more."""
    return Path(tempfile.gettempdir()) / f"ladderlog-faust-{getpass.getuser()}"


def _state_folder() -> Path:
    state = os.environ.get("STATE_DIRECTORY")
    # There may be several, separated by colons.
    return Path(state.split(":")[0]) if state else temporary_folder()


class Fencings:
    """The count of one worker, which is told from others by its deployment and its port."""

    def __init__(self, app_id: str, port: int) -> None:
        name = re.sub(r"[^\w.-]", "-", app_id)
        self._file = _state_folder() / f"fencings-{name}-{port}"
        self._count = 0

    def restore(self) -> None:
        """Go on from the count of the worker that ran here before."""
        try:
            self._count = int(self._file.read_text(encoding="ascii"))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            log.warning("the count of fencings in %s is lost: %s", self._file, error)
            return
        FENCINGS.inc(self._count)

    def note(self) -> None:
        """Count one more, for good."""
        self._count += 1
        FENCINGS.inc()
        try:
            self._file.parent.mkdir(exist_ok=True)
            self._file.write_text(str(self._count), encoding="ascii")
        except OSError as error:
            log.warning("this fencing will not be counted: %s: %s", self._file, error)
