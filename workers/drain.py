"""Serves ready keys, one after the other, for one hint: the end of a run and the next key are one step of the queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

import structlog

from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import warn
from domain.backoff import RetryPolicy
from domain.outcome import Outcome, Settled
from events.workqueue import EndOfRun, LeasedKey, Refusal, Workqueue
from workers.reconcile import LEASE, Ending, Reconciler, new_nonce, run_key
from workers.run import Run
from workers.telemetry import metrics

log = structlog.get_logger()
OF_DRAINS: Final = "drain"
"""The kind in the metric of refusals: a hint names none."""
Report = Callable[[Ending | None], None]
"""Is called with the end of a run, None for one whose lease was lost."""


class Serving(Protocol):
    """What a drain asks its process for."""

    def reconciler(self, key: str) -> Reconciler | None:
        """Return the reconciler of the key's kind, None for a key that no reconciler accepts."""

    def run_of(self, key: LeasedKey) -> AbstractContextManager[Report]:
        """Enter it around the run of a key, and report its end."""

    def stopping(self) -> bool:
        """Tell whether the process is asked to end."""


@dataclass(frozen=True)
class Slice:
    """How long a drain goes on (rule `slice`): other messages must get its thread."""

    keys: int = 50
    time: timedelta = timedelta(seconds=1)


class QueueDrain:
    """One drain. A fault of one key ends neither the drain nor the lease of another key."""

    def __init__(
        self,
        queue: Workqueue,
        serving: Serving,
        policy: RetryPolicy,
        lease: timedelta = LEASE,
        limits: Slice | None = None,
    ) -> None:
        self._queue, self._serving, self._policy, self._lease = queue, serving, policy, lease
        self._limits, self._identity = limits or Slice(), new_nonce()
        self._ends = time.monotonic() + self._limits.time.total_seconds()
        self._asked = 0.0  # when the present key was asked for
        self._next: LeasedKey | Refusal = Refusal.CLEAN
        self.served = 0

    def serve(self, hint: str) -> int:
        """Serve ready keys until none is left or the slice is over. Returns how many were served.

        While Redis is away the drain ends, and the key in hand is left to its lease. A process that is asked to end
        takes no key: it has another hint sent, which other processes take.
        """
        try:
            if self._serving.stopping():
                self._queue.decline(hint)
            else:
                self._begin(hint)
            while isinstance(self._next, LeasedKey):
                self.served += 1
                self._run(self._next)
        except OUTAGE as error:
            warn(log, "key_left_dirty", error, reason="redis_unavailable")
        return self.served

    def _begin(self, hint: str) -> None:
        self._asked = time.monotonic()
        self._next = self._queue.take_next(hint, self._lease, self._identity, new_nonce())
        if isinstance(self._next, Refusal):
            metrics.count_refusal(OF_DRAINS, self._next.value)

    def _run(self, taken: LeasedKey) -> None:
        run = Run(self._queue, taken, self._lease, self._asked)
        with structlog.contextvars.bound_contextvars(key=taken.key), self._serving.run_of(taken) as report:
            report(run_key(run, self._reconcile, self._policy, lambda end: self._done(taken, end)))

    def _reconcile(self, run: Run) -> Outcome:
        reconciler = self._serving.reconciler(run.key) or discard
        return reconciler(run)

    def _done(self, taken: LeasedKey, end: EndOfRun) -> bool:
        lease = self._lease if self._goes_on() else None
        self._asked = time.monotonic()
        ended = self._queue.done_and_next(taken, end, lease, self._identity, new_nonce())
        self._next = ended.next
        return ended.accepted

    def _goes_on(self) -> bool:
        over = self.served >= self._limits.keys or time.monotonic() >= self._ends
        return not over and not self._serving.stopping()


def discard(run: Run) -> Outcome:
    """End the run of a key that no reconciler accepts: otherwise it would be ready for ever."""
    log.warning("key_discarded", key=run.key[:300])
    return Settled()
