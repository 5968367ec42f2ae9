"""Labels of namespaces, by which a pool says whose pods may take its ports. Kept for a while: every allocation asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from events.kube_api import KubeApi, NotFound

KEPT = timedelta(seconds=30)


class Namespaces:
    """Threads may share one."""

    def __init__(self, kube: KubeApi, kept: timedelta = KEPT, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube, self._kept, self._clock = kube, kept.total_seconds(), clock
        self._known: dict[str, tuple[float, Mapping[str, str]]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """{} for a namespace that is gone. Raises KubeError; Denied without the right to `get` namespaces."""
        until, labels = self._known.get(name, (0.0, {}))
        if self._clock() >= until:
            labels = self._read(name)
            self._known[name] = (self._clock() + self._kept, labels)
        return labels

    def _read(self, name: str) -> Mapping[str, str]:
        try:
            return dict(self._kube.get(f"/api/v1/namespaces/{name}")["metadata"].get("labels") or {})
        except NotFound:
            return {}
