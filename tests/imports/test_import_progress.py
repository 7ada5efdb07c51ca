"""On a terminal an import shows how much of the file was read, and how long the rest will take."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from project import PROJECT

COLUMNS = 110


def shown_on_a_terminal(*arguments: str) -> str:
    """Return what a command writes to a terminal."""
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "streams", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(command, stdout=side, stderr=side, env=environment) as process:
        os.close(side)
        written = b""
        while piece := read(terminal):
            written += piece
    os.close(terminal)
    assert process.returncode == 0, written
    return written.decode()


def read(terminal: int) -> bytes:
    """Return what came next; nothing at the end."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        # On Linux this is how a terminal ends.
        return b""


def test_the_part_that_was_read_and_the_time_that_is_left(tmp_path: Path) -> None:
    file = tmp_path / "club.csv"
    rows = "".join(f"2026-11-25,ann{n},bob,1-0\n" for n in range(3000))
    file.write_text(f"ended_at,player1,player2,result\n{rows}", encoding="utf-8")
    written = shown_on_a_terminal("import", "--ladder", "chess", "--out", os.devnull, str(file))

    assert re.search(r"import: +0%\|.*<\?", written) is not None
    assert re.search(r"import: 100%\|.*, 3,000 records\]", written) is not None
