"""End the processes that this one started when this one ends, even by SIGKILL, which runs no `finally`.

A small watcher process reads the ids of started processes from a pipe. The pipe ends with us, however we end. Then the
watcher kills each process that still has the start time it had when it was named, with its process group if it leads
one.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock

LOCK = Lock()


def end_with_us(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Register a process to end with this one. Safe from any thread, and for a process that has ended already."""
    with LOCK, suppress(BrokenPipeError):
        pipe = _watcher(os.getpid()).stdin
        assert pipe
        pipe.write(b"%d\n" % process.pid)
        pipe.flush()


@lru_cache(maxsize=1)
def _watcher(_of: int) -> subprocess.Popen[bytes]:
    """Return the watcher of this process; a forked child gets its own."""
    command = [sys.executable, "-S", "-E", __file__]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    atexit.register(_dismiss, watcher, os.getpid())
    return watcher


def _dismiss(watcher: subprocess.Popen[bytes], of: int) -> None:
    """Let the watcher end, but do not wait for long. A forked child leaves its parent's watcher alone."""
    if os.getpid() == of:
        with suppress(BrokenPipeError, subprocess.TimeoutExpired):
            watcher.communicate(timeout=10)


def started(pid: int) -> str:
    """Return the start time of a process as the kernel counts it, '' if it has ended. Process ids are reused."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def main() -> None:
    """Read ids until the pipe ends, then kill the processes that still run."""
    starts = {int(line): started(int(line)) for line in sys.stdin}
    for pid, when in starts.items():
        if when and started(pid) == when:
            with suppress(ProcessLookupError, PermissionError):
                leads = os.getpgid(pid) == pid
                (os.killpg if leads else os.kill)(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
