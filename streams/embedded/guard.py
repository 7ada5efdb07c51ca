"""The guard: a small process between the one that wants a broker and Java, so that Java never outlives it.

The guard holds the read end of a pipe whose write end only the parent holds: however the parent ends, SIGKILL
included, the kernel closes the pipe, the guard reads its end, ends Java and removes temporary data. A pipe
works alike on Linux and macOS; PR_SET_PDEATHSIG, the alternative, is Linux only, fires when the *thread* that
started the child ends, and cannot remove data. It serves here only as the guard's own safety net, because the
guard has one thread. A forked child of the parent would hold the pipe open, so the guard also looks whether
its parent is still the one that started it.

The guard leads a session of its own: a Ctrl-C in a terminal reaches the parent, which still needs its broker
to shut down in order.

The parent imports this module for `start` and `end`, and starts it as a script for `main`: by its path,
without site-packages, so only the standard library is imported here.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

# An orderly stop takes about 1 s; 20 s leaves room for flushing many partitions to a slow disk.
_STOP_GRACE = 20.0
_LOG_TAIL_LINES = 20
_LOG_TAIL_BYTES = 8_000  # well below the 64 KiB that a pipe takes without a reader


def start(commands: list[list[str]], data: Path, lock: int, *, temporary: bool) -> "subprocess.Popen[bytes]":
    """Return a new guard that runs the commands; `lock` is a descriptor that it inherits and holds."""
    order = {"commands": commands, "data": str(data), "temporary": temporary, "parent": os.getpid()}
    return subprocess.Popen(  # noqa: S603 - our own interpreter and this file
        [sys.executable, "-I", "-S", __file__, json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=(lock,),
    )


def end(guard: "subprocess.Popen[bytes]") -> None:
    """Close the pipe, which tells the guard to end, and wait for it."""
    if guard.stdin is not None:
        guard.stdin.close()
    try:
        guard.wait(_STOP_GRACE + 5)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()
    if guard.stdout is not None:
        guard.stdout.close()


def log_file(data: Path) -> Path:
    """Return the file that Java's output goes to."""
    return data / "broker.log"


def pid_file(data: Path) -> Path:
    """Return the file that Java's process id stands in."""
    return data / "broker.pid"


def last_words(data: Path) -> str:
    """Return the log's last lines without stack frames, for an error message."""
    try:
        text = log_file(data).read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")
    except FileNotFoundError:
        return "(nothing)"
    lines = [line for line in text.splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines[-_LOG_TAIL_LINES:])


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, as the handler of a signal."""
    raise KeyboardInterrupt


def main(order: dict[str, Any]) -> int:
    """Run the commands one after the other until the parent is gone or one of them ends in error."""
    data = Path(order["data"])
    signal.signal(signal.SIGTERM, interrupt)
    try:
        for command in order["commands"]:
            code = _guarded(command, data, order["parent"], temporary=order["temporary"])
            if code is None:
                return 0
            if code or command is order["commands"][-1]:
                # The parent reads it: the data may be gone by then.
                sys.stdout.write(last_words(data) + "\n")
                sys.stdout.flush()
                return code
    except KeyboardInterrupt:
        return 0
    finally:
        if order["temporary"]:
            shutil.rmtree(data, ignore_errors=True)
    return 0


def _guarded(command: list[str], data: Path, parent: int, *, temporary: bool) -> int | None:
    """Return the command's exit code when it ends by itself, None when it was ended with the parent."""
    with log_file(data).open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 - the parent's own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_guard(),  # noqa: PLW1509 - the guard has one thread
        )
    try:
        pid_file(data).write_text(str(child.pid), encoding="ascii")
        while child.poll() is None:
            if _parent_gone(parent):
                return None
        return child.returncode
    finally:
        _end_java(child, at_once=temporary)


def _parent_gone(parent: int) -> bool:
    """Wait a moment for the pipe's end; nothing is ever written into it, so readable means closed."""
    readable, _, _ = select.select([sys.stdin], [], [], 0.2)
    return bool(readable) or os.getppid() != parent


def _end_java(child: subprocess.Popen[bytes], *, at_once: bool) -> None:
    """End Java; temporary data is thrown away, so nothing in it is worth waiting for."""
    if not at_once:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(_STOP_GRACE)
    child.kill()
    child.wait()


def _die_with_guard() -> Callable[[], None] | None:
    """Return what has the kernel end Java when somebody kills the guard alone; None where it cannot."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    pdeathsig = 1
    return lambda: prctl(pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
