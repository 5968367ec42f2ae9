"""The real worker with a reconciler that tells on itself, for tests that run worker processes.

What a run does is written in the snapshot of its key: `seconds` (how long it works), `keeps` (renews its lease
meanwhile), `makes` (so many things side by side), `effect` (does something for which it needs its lease), `fails` (see
ERRORS), `waits` (seconds). Starts, effects and ends go to a list.
"""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any

import orjson
import structlog
from celery import shared_task
from redis import Redis

from berthmaster import routing
from berthmaster.errors import TerminalError, TransientError
from domain.outcome import Outcome, Settled, Wait
from workers.app import create_app
from workers.pod_pools.slow_start import slowly
from workers.run import Run
from workers.tasks.keys import KeyRuns, ReconcilingTask, discard_key
from workers.tasks.payloads import ReconcilePod, takes

log = structlog.get_logger()
DIARY = "probe:diary"
STEP = 0.25  # seconds
ERRORS = {
    "transient": TransientError("AWS is tired"),
    "later": TransientError("AWS said when", retry_after=timedelta(seconds=1)),
    "terminal": TerminalError("no such pool"),
    "bug": ZeroDivisionError("a bug"),
}
app = create_app(tasks=("workers.tasks.queue", "tests.support.servers.probe_tasks"))


PODS = KeyRuns(ReconcilePod, lambda parts: lambda run: observed(parts.redis, run))


@shared_task(name=routing.PORTS_RECONCILE, base=ReconcilingTask, keys=PODS)
@takes(ReconcilePod, discard_key)
def reconcile_pod(asked: ReconcilePod) -> None:
    PODS.run(asked)


@shared_task(name=routing.PORTS_SWEEP)
def sweep() -> None:
    """A tick of the beat that is not looked at."""


@shared_task(name=routing.PORTS_AUDIT)
def audit() -> None:
    """As sweep."""


def observed(redis: Redis, run: Run) -> Outcome:
    note(redis, "started", run)
    try:
        return behave(redis, run, run.snapshot.body if run.snapshot else {})
    finally:
        note(redis, "ended", run)


def behave(redis: Redis, run: Run, told: dict[str, Any]) -> Outcome:
    work(run, told)
    if "makes" in told:
        names = [f"pod-{n}" for n in range(told["makes"])]
        slowly(lambda: None, lambda name: log.info("pod_created", pod=name) or "", names)
    if "effect" in told:
        run.keep(timedelta(milliseconds=100))
        note(redis, "effect", run)
    if "fails" in told:
        raise ERRORS[told["fails"]]
    return Wait(timedelta(seconds=told["waits"]), "as told") if "waits" in told else Settled()


def work(run: Run, told: dict[str, Any]) -> None:
    """The sleeping stands for calls to elsewhere."""
    end = time.monotonic() + told.get("seconds", 0)
    while (left := end - time.monotonic()) > 0:
        if "keeps" in told:
            run.keep(timedelta(seconds=1))
        time.sleep(min(left, STEP))


def note(redis: Redis, event: str, run: Run) -> None:
    version = run.snapshot.version if run.snapshot else 0
    entry: dict[str, Any] = {"event": event, "key": run.key, "version": version, "tries": run.tries}
    redis.rpush(DIARY, orjson.dumps({**entry, "token": run.token, "at": time.time(), "process": os.getpid()}))
