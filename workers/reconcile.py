"""Runs every reconciler: take the key, run, give the key back with the outcome.

This is the one place that turns outcomes and exceptions into waits, so that no reconciler can lose a key. Whatever
happens, the key is given back clean, given back with a wait, or left to its lease, and a sweep notices the end of that.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from random import SystemRandom

import structlog

from berthmaster.errors import StaleToken, TerminalError, TransientError
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import warn
from domain.backoff import RetryPolicy, backoff
from domain.outcome import Outcome, Settled, Wait
from events.kube.api import keeping
from events.workqueue import EndOfRun, Refusal, Workqueue
from workers.run import Run
from workers.telemetry import metrics

log = structlog.get_logger()
Reconciler = Callable[[Run], Outcome]
LEASE = timedelta(seconds=30)


@dataclass(frozen=True)
class Ending:
    """How a run ends, and the name of that in metrics and logs. `error`: of a run that failed by a bug."""

    name: str
    outcome: Outcome
    tries: int = 0
    error: Exception | None = None


def reconcile(
    queue: Workqueue,
    key: str,
    reconciler: Reconciler,
    policy: RetryPolicy,
    lease: timedelta = LEASE,
    *,
    requested: bool = False,
) -> Outcome | None:
    """Run `reconciler` on `key`, alone. None: nothing to do, another worker has or took the key, or Redis is away.

    The task does not fail without Redis: the key stays dirty, and a hint follows. `requested`: run the key although
    nothing has changed.
    """
    started = time.monotonic()
    with structlog.contextvars.bound_contextvars(key=key):
        try:
            taken = queue.take(key, lease, new_nonce(), requested=requested)
            if isinstance(taken, Refusal):
                metrics.count_refusal(metrics.kind_of(key), taken.value)
                return None
            ending = run_key(Run(queue, taken, lease, started), reconciler, policy, lambda end: queue.done(taken, *end))
            return ending.outcome if ending else None
        except OUTAGE as error:
            warn(log, "key_left_dirty", error, reason="redis_unavailable")
            return None


def run_key(run: Run, reconciler: Reconciler, policy: RetryPolicy, done: Callable[[EndOfRun], bool]) -> Ending | None:
    """Run `reconciler`, and give the key back by `done`, which returns whether the lease was still ours.

    None: it was not, and the queue has marked the key dirty again because of what this run did too late.
    """
    started = time.monotonic()
    with structlog.contextvars.bound_contextvars(token=run.token, tries=run.tries), keeping(run.keep):
        ending = _ending(run, reconciler, policy)
        outcome = ending.outcome
        wait = outcome.for_ if isinstance(outcome, Wait) else None
        kept = done(EndOfRun(wait, ending.tries, run.written, run.released))
        seconds = time.monotonic() - started
        metrics.observe_reconcile(run.key, ending.name if kept else "stale", seconds)
        say = log.debug if ending.name == "settled" and kept else log.info  # a settled run has logged its actions
        say("key_reconciled", outcome=ending.name, kept=kept, seconds=round(seconds, 4), **_wait(outcome))
        return ending if kept else None


def new_nonce() -> str:
    """Return what makes a request of the queue unique."""
    return secrets.token_hex(4)


def _wait(outcome: Outcome) -> dict[str, object]:
    return {"wait": outcome.for_.total_seconds(), "reason": outcome.reason} if isinstance(outcome, Wait) else {}


def _ending(run: Run, reconciler: Reconciler, policy: RetryPolicy) -> Ending:
    try:
        outcome = reconciler(run)
        return Ending("waiting", outcome, outcome.tries) if isinstance(outcome, Wait) else Ending("settled", outcome)
    except TransientError as error:
        return _retry("transient", run, policy, error, error.retry_after)
    except OUTAGE as error:
        return _retry("transient", run, policy, error)
    except TerminalError as error:
        log.warning("reconcile_refused", reason=str(error))
        return Ending("terminal", Settled())
    except StaleToken as error:
        return _retry("stale", run, policy, error)
    except Exception as error:
        log.exception("reconcile_failed")
        return _retry("failed", run, policy, error)


def _retry(name: str, run: Run, policy: RetryPolicy, error: Exception, after: timedelta | None = None) -> Ending:
    wait = after if after is not None else backoff(policy, run.tries, SystemRandom().random())
    tries = run.tries + (after is None)  # a wait that the other side asked for makes no later wait longer
    return Ending(name, Wait(wait, str(error) or type(error).__name__), tries, error)
