"""The metrics of a publisher: one object a process, with its own registry, so that an import registers nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from berthmaster.redis.refusals import spell

LATENCIES: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """The publisher's metrics, `berthmaster_publisher_...`; the label `resource` is pods, portpools or events."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        by_resource = ("resource",)
        self.received = self.counter("events_received", "Watch events newer than the watermark", by_resource)
        self.published = self.counter("events_published", "Versions sent to Redis", by_resource)
        self.coalesced = self.counter("events_coalesced", "Events overtaken by a newer one of their batch", by_resource)
        self.dropped = self.counter("events_dropped", "Events without effect, by reason", ("resource", "reason"))
        self.relists = self.counter("relists", "Full lists, by reason", ("resource", "reason"))
        self.epochs = self.counter("epochs", "Epochs that were assumed, by what ended the one before", ("reason",))
        self.histories = self.counter("api_histories", "Times that the versions of the Kubernetes API went back", ())
        self.redis_retries = self.counter(
            "redis_retries", "Batches sent again because Redis did not answer", by_resource
        )
        self.latency = Histogram(
            "berthmaster_publisher_publish_seconds",
            "From the arrival of a batch to its effect in Redis",
            by_resource,
            registry=self.registry,
            buckets=LATENCIES,
        )
        self.lag = self.gauge(
            "lag_seconds", "Age of the events that are on their way to Redis, 0 for none", by_resource
        )
        self.begun: dict[str, float | None] = {}
        self.stream_age = self.gauge("stream_age_seconds", "Since a stream last showed that it lives", by_resource)
        self.lease_held = self.gauge("lease_held", "1 while this process is the active publisher", ())
        self.stamped = self.gauge("stamped", "1 while all lists are in and workers may take keys", ())

        refused = self.gauge("refused_seconds", "How long Redis has refused what it is asked, 0 if it does not", ())
        refused.set_function(lambda: spell.lasts or 0.0)

    @contextmanager
    def sending(self, resource: str) -> Iterator[None]:
        """Measure the sending of a batch to Redis."""
        self.begun[resource] = time.monotonic()
        try:
            with self.latency.labels(resource).time():
                yield
        finally:
            self.begun[resource] = None

    def counter(self, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        """Return a new counter of this registry."""
        return Counter(f"berthmaster_publisher_{name}", text, labels, registry=self.registry)

    def gauge(self, name: str, text: str, labels: tuple[str, ...]) -> Gauge:
        """Return a new gauge of this registry."""
        return Gauge(f"berthmaster_publisher_{name}", text, labels, registry=self.registry)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        for resource, begun in list(self.begun.items()):
            self.lag.labels(resource).set(0 if begun is None else time.monotonic() - begun)
        return generate_latest(self.registry)
