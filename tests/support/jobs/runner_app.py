"""A client's own Celery application, made a runner: what tests start as runner processes.

Each run leaves a line `task job phase` in the list `runner:diary`, at its start and at its end.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from celery import Celery, Task

from berthmaster.redis.incarnation import connect
from berthmaster.runner import current, install

DIARY = "runner:diary"
URL = os.environ.get("DIARY_URL") or os.environ["BERTHMASTER_RUNNER__REDIS__URL"]  # not as the runner's own user
app: Celery[Any] = Celery("runner")
install(app)


def note(task: Task[Any, Any], what: str) -> None:
    now = current(task)
    connect(URL).rpush(DIARY, f"{what} {now.job} {now.phase}" if now else f"{what} plain")


@app.task(bind=True, name="work")
def work(self: Task[Any, Any], seconds: float = 0) -> str:
    note(self, "start")
    time.sleep(seconds)
    note(self, "end")
    return "done"


@app.task(name="apart")
def apart(seconds: float) -> str:
    """Has nothing to do with Redis."""
    time.sleep(seconds)
    return "done"


@app.task(bind=True, name="fail")
def fail(self: Task[Any, Any]) -> None:
    note(self, "start")
    raise RuntimeError("as it was told")


@app.task(bind=True, name="die")
def die(self: Task[Any, Any]) -> None:
    """The process goes without a word."""
    note(self, "start")
    os._exit(1)


@app.task(bind=True, name="leave")
def leave(self: Task[Any, Any]) -> None:
    """As command line programs end."""
    note(self, "start")
    sys.exit(3)


@app.task(bind=True, name="odd")
def odd(self: Task[Any, Any]) -> str:
    """The name of a file that is not UTF-8."""
    note(self, "start")
    return os.fsdecode(b"\xff.tf")
