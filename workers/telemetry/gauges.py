"""The state of the fleet as gauges, read from Redis on each scrape.

So every worker's endpoint shows the same, whichever worker did the work, and a dead worker leaves nothing behind. While
Redis does not answer there are no numbers rather than old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import structlog
from prometheus_client import start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from berthmaster.redis.refusals import warn
from workers.telemetry import heartbeat

log = structlog.get_logger()
Samples = Mapping[tuple[str, ...], float]
"""Values of the labels -> number."""


class Gauge(NamedTuple):
    """A gauge of a scrape: its text and the names of its labels."""

    text: str
    labels: tuple[str, ...] = ()


READABLE: Final = "berthmaster_state_readable"
HEARTBEAT: Final = "berthmaster_worker_heartbeat_age_seconds"
GAUGES: Final = {
    "berthmaster_queue_keys": Gauge("Keys of the workqueue, by state; slow ones are ready too.", ("state",)),
    "berthmaster_queue_oldest_seconds": Gauge("How long the oldest ready key has waited, without slow ones."),
    "berthmaster_broker_messages": Gauge("Messages in the queues, if the state's Redis is the broker.", ("queue",)),
    "berthmaster_tick_age_seconds": Gauge("How long ago a periodic task was last done, up to a week.", ("task",)),
    "berthmaster_tick_period_seconds": Gauge("How often a periodic task is to be done.", ("task",)),
    "berthmaster_ports": Gauge("Ports of a pool: allocated, free, or waited for.", ("pool", "state")),
    "berthmaster_waiting_pods": Gauge("Pods that wait: for ports, or for their namespace's share.", ("pool", "reason")),
    "berthmaster_load_balancers": Gauge(
        "Load balancers of a pool: giving ports, filling, retiring, or closed to new ones.", ("pool", "state")
    ),
    "berthmaster_epoch": Gauge("Capacity epoch of a pool: each growth raises it.", ("pool",)),
    "berthmaster_scale_up_open": Gauge("1 while load balancers are being added to the pool.", ("pool",)),
    "berthmaster_ledger_verified": Gauge("1 if the ledger of the pool is trusted, 0 until it is rebuilt.", ("pool",)),
    "berthmaster_pool_readable": Gauge(
        "0 if the ledger of the pool holds what cannot be read: it has no other gauge then.", ("pool",)
    ),
    "berthmaster_drift": Gauge(
        "Differences between AWS, ledger and pods, as the last audit saw them.", ("pool", "kind")
    ),
    "berthmaster_pool_pods": Gauge("Pods of a pod pool that have reported, by view.", ("pool", "view")),
    "berthmaster_pool_size": Gauge("Pods with slots that a pod pool shall have.", ("pool",)),
    "berthmaster_slots": Gauge(
        "Slots of a pod pool: running, reserved, free, or closed (idle on a pod that takes no jobs).", ("pool", "state")
    ),
    "berthmaster_jobs": Gauge(
        "Jobs of a pod pool: waiting, running, reserved, or ended and still known.", ("pool", "state")
    ),
    "berthmaster_claims": Gauge("Claims on whole pods, by the phase that their status shows.", ("namespace", "phase")),
    HEARTBEAT: Gauge("How long ago this worker last showed that it consumes and settles messages in time."),
    READABLE: Gauge("1 if Redis answered this scrape: then the other gauges of the state are there."),
}


class StateGauges(Collector):
    """The gauges. `read` returns samples by gauge name; a gauge that it leaves out has no samples."""

    def __init__(self, read: Callable[[], Mapping[str, Samples]]) -> None:
        self._read = read

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Describe nothing: Redis may be away when the worker starts."""
        return [_family(name, {}) for name in GAUGES]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return all gauges. While Redis does not answer, only `READABLE` (0) and the heartbeat."""
        try:
            samples: dict[str, Samples] = {HEARTBEAT: {(): heartbeat.silence()}, **self._read()}
        except Exception as error:  # noqa: BLE001 - a scrape reports what it can
            warn(log, "state_unreadable", error)
            return [_family(READABLE, {(): 0}), _family(HEARTBEAT, {(): heartbeat.silence()})]
        return [_family(READABLE, {(): 1}), *(_family(name, samples) for name, samples in samples.items())]


def _family(name: str, samples: Samples) -> GaugeMetricFamily:
    about = GAUGES[name]
    family = GaugeMetricFamily(name, about.text, labels=about.labels)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    return family


def serve(address: str, port: int, read: Callable[[], Mapping[str, Samples]], registry: CollectorRegistry) -> None:
    """Start the metrics server of this process. Raises OSError when the port is taken."""
    registry.register(StateGauges(read))
    start_http_server(port, addr=address, registry=registry)
    log.info("metrics_served", address=address, port=port)
