"""The counters of a worker process about its runs.

Every counter has a label, even without need: children of prefork count in files (shared_counters), and
prometheus_client decides where a value lives when its labels are first used, or at import if it has none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from prometheus_client import Counter, Histogram

RECONCILES = Counter("berthmaster_reconciles_total", "Runs of a reconciler, by how they ended.", ["kind", "outcome"])
RECONCILE_SECONDS = Histogram(
    "berthmaster_reconcile_seconds",
    "Duration of a run, from the lease to giving the key back.",
    ["kind", "outcome"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
REFUSALS = Counter("berthmaster_takes_refused_total", "Hints whose key was not taken, by reason.", ["kind", "reason"])
PAYLOADS_REFUSED = Counter("berthmaster_payloads_refused_total", "Task payloads that were not valid.", ["task"])
WRITES_REFUSED = Counter(
    "berthmaster_writes_refused_total",
    "Writes that Kubernetes refused for good (400, 403, 413, 422), by what was written.",
    ["resource", "verb"],
)
JOBS_OVER_TIME = Counter("berthmaster_jobs_over_time_total", "Jobs whose time limit was over.", ["pool", "limit"])
TICKS = Counter(
    "berthmaster_ticks_total", "Ticks, run or skipped: that period had one, or its work goes on.", ["task", "outcome"]
)


EVENTS: Final = "events"
"""The resource Events: a refused Event cannot be reported by an Event."""


def kind_of(key: str) -> str:
    """Return the first part of the key, which names its kind."""
    return key.partition("/")[0]


def observe_reconcile(key: str, outcome: str, seconds: float) -> None:
    """Count a run, and observe how many seconds it took."""
    count, duration = _of_runs(kind_of(key), outcome)
    count.inc()
    duration.observe(seconds)


@lru_cache(maxsize=64)
def _of_runs(kind: str, outcome: str) -> tuple[Counter, Histogram]:
    """Return the two metrics, cached: looking up a child by its labels takes longer than counting."""
    return RECONCILES.labels(kind, outcome), RECONCILE_SECONDS.labels(kind, outcome)


def count_refusal(key: str, reason: str) -> None:
    """Count a refused request of the key."""
    REFUSALS.labels(kind_of(key), reason).inc()


def count_over_time(pool: str, limit: str) -> None:
    """Count a job whose time limit was over."""
    JOBS_OVER_TIME.labels(pool, limit).inc()


def count_refused_write(resource: str, verb: str) -> None:
    """Count a write that the API server refused."""
    WRITES_REFUSED.labels(resource, verb).inc()
