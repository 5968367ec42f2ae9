"""Counters of a prefork worker: each child counts in a file, and the parent's endpoint adds the files up.

prometheus_client keeps a file for each process id for ever, and there is a new child every ten thousand tasks. Ours
keeps one for each place in the pool, and the next child in that place continues the file. So no counter goes back, and
no file of a dead process is left.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import Any

from billiard.process import current_process
from prometheus_client import CollectorRegistry, ProcessCollector, values
from prometheus_client.multiprocess import MultiProcessCollector

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client's own variable. If the user sets it, the files are in a directory of this worker's within."""


def share() -> CollectorRegistry:
    """Set up the files. Call it in the parent, before it has children and before any label of a counter is used."""
    directory = tempfile.mkdtemp(prefix="berthmaster-metrics-", dir=os.environ.get(DIRECTORY))
    os.environ[DIRECTORY] = directory
    atexit.register(_remove, directory, os.getpid())
    values.ValueClass = values.MultiProcessValue(place)  # type: ignore[no-untyped-call] # has no types there
    registry = CollectorRegistry()
    MultiProcessCollector(registry, directory)  # type: ignore[no-untyped-call] # nor there: it registers itself
    ProcessCollector(registry=registry)
    return registry


def place() -> str:
    """Return this process's name in the pool; no two living processes share one."""
    child: Any = current_process()
    return f"child-{child.index}" if hasattr(child, "index") else "parent"


def _remove(directory: str, parent: int) -> None:
    if os.getpid() == parent:
        shutil.rmtree(directory, ignore_errors=True)
