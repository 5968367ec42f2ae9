"""The metrics' part of the reference: every metric of every process, from the registries."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, NamedTuple

from prometheus_client import REGISTRY

from events.publisher.metrics import Metrics
from workers import cloud
from workers.app import TASKS
from workers.telemetry.gauges import GAUGES


class Signal(NamedTuple):
    """A metric. `kind` is its type, such as `counter`."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def metrics() -> Iterator[Signal]:
    """Yield all metrics, sorted; a histogram without `_bucket`, `_sum` and `_count`."""
    clouds = (module.name for module in walk_packages(cloud.__path__, f"{cloud.__name__}."))
    for module in (*TASKS, *clouds):
        import_module(module)
    metrics = [*_of(REGISTRY), *_of(Metrics().registry)]
    yield from sorted([*metrics, *(Signal(name, "gauge", gauge.labels, gauge.text) for name, gauge in GAUGES.items())])


def _of(registry: Any) -> Iterator[Signal]:
    for metric in registry._collector_to_names:
        name = getattr(metric, "_name", "")
        if name.startswith("berthmaster_"):
            kind = metric._type
            full = f"{name}_total" if kind == "counter" else name
            yield Signal(full, kind, tuple(metric._labelnames), metric._documentation)
