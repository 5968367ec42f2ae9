"""Labels of namespaces, by which a pool selects pods. Cached for a while: every allocation asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from domain.kubernetes.objects import KubeObject
from events.kube.api import KubeApi, NotFound, path_of

KEPT = timedelta(seconds=30)
MOST_KEPT = 1000
MOST_CHARACTERS = 8192
"""The most namespaces in the cache, and the most characters of one's labels."""


class Namespaces:
    """A cache of namespaces. Threads may share one."""

    def __init__(self, kube: KubeApi, kept: timedelta = KEPT, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube, self._kept, self._clock = kube, kept.total_seconds(), clock
        self._kept_labels: dict[str, tuple[float, Mapping[str, str]]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """Return the labels, {} for a namespace that is gone. Raises KubeError; Denied without the right to `get`
        namespaces.
        """
        until, labels = self._kept_labels.get(name, (0.0, {}))
        if self._clock() >= until:
            labels = self._read(name)
            self._keep(name, labels)
        return labels

    def _keep(self, name: str, labels: Mapping[str, str]) -> None:
        """Cache the labels, if they are short; few namespaces are cached, because they come and go."""
        if len(self._kept_labels) >= MOST_KEPT:
            self._kept_labels.clear()
        if sum(len(key) + len(value) for key, value in labels.items()) <= MOST_CHARACTERS:
            self._kept_labels[name] = (self._clock() + self._kept, labels)

    def _read(self, name: str) -> Mapping[str, str]:
        try:
            return dict(KubeObject(self._kube.get(path_of("/api/v1", "namespaces", name))).labels)
        except NotFound:
            return {}
