"""Every metric that a process of ours exports, with its labels."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from prometheus_client import REGISTRY, Counter

from events.publisher.metrics import Metrics
from workers.app import TASKS
from workers.telemetry.gauges import GAUGES


def counted() -> dict[str, tuple[str, ...]]:
    """Names as in PromQL, of what is counted: a counter has `_total`, a histogram three names."""
    for module in TASKS:
        import_module(module)
    return {**_of(REGISTRY), **_of(Metrics().registry)}


def all_metrics() -> dict[str, tuple[str, ...]]:
    return {**counted(), **{name: told.labels for name, told in GAUGES.items()}}


def _of(registry: Any) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for metric in registry._collector_to_names:
        name, labels = getattr(metric, "_name", ""), tuple(getattr(metric, "_labelnames", ()))
        if name.startswith("berthmaster_"):
            found |= _names(metric._type, name, labels)
    return found


def _names(kind: str, name: str, labels: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if kind == "histogram":
        return {f"{name}_bucket": (*labels, "le"), f"{name}_sum": labels, f"{name}_count": labels}
    return {f"{name}_total" if kind == "counter" else name: labels}


def count(counter: Counter, **labels: str) -> float:
    """The sum over its other labels."""
    samples = [sample for metric in counter.collect() for sample in metric.samples if sample.name.endswith("_total")]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())
