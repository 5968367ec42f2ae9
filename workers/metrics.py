"""What a worker process tells Prometheus about its runs.

Threads share one registry, so one port shows a whole worker. Children of the prefork pool count in their own memory:
with that pool the counters of the port stay at zero, and only the gauges of the queue are true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import structlog
from prometheus_client import Counter, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import REGISTRY, Collector, CollectorRegistry

log = structlog.get_logger()

RECONCILES = Counter("berthmaster_reconciles_total", "Runs of a reconciler, by how they ended.", ["kind", "outcome"])
RECONCILE_SECONDS = Histogram(
    "berthmaster_reconcile_seconds",
    "Duration of a run, from the lease to giving the key back.",
    ["kind", "outcome"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
REFUSALS = Counter("berthmaster_takes_refused_total", "Hints whose key was not taken, by reason.", ["kind", "reason"])
PAYLOADS_REFUSED = Counter("berthmaster_payloads_refused_total", "Task payloads that were not valid.", ["task"])
MESSAGES_REFUSED = Counter("berthmaster_messages_refused_total", "Entries of a queue that are no message.")
UNSENT = Counter("berthmaster_tasks_unsent_total", "Tasks that the broker did not take; a sweep repeats them.")
TICKS = Counter("berthmaster_ticks_total", "Ticks, run or skipped because that period had one.", ["task", "outcome"])


def kind_of(key: str) -> str:
    return key.partition("/")[0]


def observe_reconcile(key: str, outcome: str, seconds: float) -> None:
    count, duration = _of_runs(kind_of(key), outcome)
    count.inc()
    duration.observe(seconds)


@lru_cache(maxsize=64)
def _of_runs(kind: str, outcome: str) -> tuple[Counter, Histogram]:
    """Looking children up by their labels takes longer than counting."""
    return RECONCILES.labels(kind, outcome), RECONCILE_SECONDS.labels(kind, outcome)


def count_refusal(key: str, reason: str) -> None:
    REFUSALS.labels(kind_of(key), reason).inc()


class QueueDepth(Collector):
    """Gauges of the workqueue, read when asked for. A queue that cannot be read has none, rather than old ones."""

    def __init__(self, depth: Callable[[], Mapping[str, float]]) -> None:
        self._depth = depth

    def collect(self) -> Iterable[GaugeMetricFamily]:
        gauge = GaugeMetricFamily("berthmaster_queue_keys", "Keys of the workqueue, by state.", labels=["state"])
        oldest = GaugeMetricFamily("berthmaster_queue_oldest_seconds", "How long the oldest queued key has waited.")
        try:
            depth = dict(self._depth())
        except Exception as error:  # noqa: BLE001 - a scrape reports what it can
            log.warning("queue_depth_unknown", error=str(error))
            return
        oldest.add_metric([], depth.pop("oldest_queued_seconds", 0.0))
        for state, number in depth.items():
            gauge.add_metric([state], number)
        yield from (gauge, oldest)


def serve(
    address: str, port: int, depth: Callable[[], Mapping[str, float]], registry: CollectorRegistry = REGISTRY
) -> None:
    """Starts the metrics server of this process; port 0 starts none. Raises OSError when the port is taken."""
    if port == 0:
        return
    registry.register(QueueDepth(depth))
    start_http_server(port, addr=address, registry=registry)
    log.info("metrics_served", address=address, port=port)
