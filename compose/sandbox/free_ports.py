"""Find free loopback ports for servers that are about to start.

A free port may be taken before its server binds it: two processes that search at the same time would find the same one.
Each process therefore locks a range of its own for as long as it lives, and takes ports from it in turn.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from random import SystemRandom

PORTS = range(12_000, 30_000)
"""Below the ports that systems use for outgoing connections (32768 or higher)."""

OF_A_PROCESS = 400


def free_port() -> int:
    """Return a port that stays free until its server starts, also if the server is killed and restarts.

    Raises OSError if no port is free.
    """
    own = ports_of(os.getpid())
    for _ in range(OF_A_PROCESS):
        if is_free(port := next(own)):
            return port
    raise OSError("no free port on 127.0.0.1")


@cache
def ports_of(_process: int) -> Iterator[int]:
    """Return the ports of a process, in a cycle. A forked child has another id, so it gets a range of its own.

    Raises OSError when other processes have locked every range.
    """
    starts = PORTS[::OF_A_PROCESS]
    for start in SystemRandom().sample(starts, len(starts)):
        if locked(start):
            return cycle(PORTS[start - PORTS.start :][:OF_A_PROCESS])
    raise OSError(f"{len(starts)} processes hold every range of ports between {PORTS.start} and {PORTS.stop}")


def locked(start: int) -> bool:
    """Lock the port range until this process ends; the operating system closes the file."""
    folder = Path(tempfile.gettempdir()) / f"berthmaster-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    marker = os.open(folder / str(start), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(marker)
        return False
    return True


def is_free(port: int) -> bool:
    """Return whether a server could bind the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what servers set, too
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
