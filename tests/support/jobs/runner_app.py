"""A client's own Celery application, made a runner: what tests start as runner processes.

Each run leaves a line `task job phase` in the list `runner:diary`, at its start and at its end.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from celery import Celery, Task
from celery.utils.log import get_task_logger

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


@app.task(bind=True, name="deaf")
def deaf(self: Task[Any, Any]) -> None:
    """Hangs, and does not end when it is told to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note(self, "start")
    while True:
        time.sleep(60)


@app.task(bind=True, name="tidy")
def tidy(self: Task[Any, Any]) -> None:
    """Hangs, and cleans up when it is told to end, until a key says that it has."""
    note(self, "start")
    try:
        while True:
            time.sleep(60)
    finally:
        note(self, "clean")
        while not connect(URL).exists("runner:tidied"):
            time.sleep(0.1)


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


@app.task(bind=True, name="talk")
def talk(self: Task[Any, Any], word: str, fails: bool = False) -> None:
    """Says it in each way, the last time by a process of its own."""
    sys.stdout.write(f"printed {word}\n")
    print(f"error {word}", file=sys.stderr, flush=True)  # noqa: T201 - as tasks do
    get_task_logger("of-task").info("logged %s", word)
    logging.getLogger("of-library").warning("logged %s", word)
    thread = threading.Thread(target=sys.stdout.write, args=(f"thread {word}\n",))
    thread.start()
    thread.join()
    subprocess.run(["echo", f"process {word}"], check=True)
    if fails:
        raise RuntimeError("as it was told")
