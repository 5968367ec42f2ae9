"""Reads pods, and writes the outputs of a port request on them.

Every write carries the resourceVersion that it was decided from, so that a late run writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from domain.kubernetes.names import ENDPOINTS, PORTS_BOUND, PORTS_MESSAGE, PORTS_STATE
from domain.kubernetes.objects import KubeObject, Precondition
from domain.ports.pod import Outputs, PodView, readiness
from events.kube.api import KubeApi, NotFound, path_of
from events.protocol.schemas import pod_snapshot
from events.workqueue import Snapshot
from workers.kube.conditional_writes import join_if_unchanged, patch_if_unchanged


def pod_path(namespace: str, name: str) -> str:
    """Return the API path of a pod."""
    return path_of("/api/v1", "namespaces", namespace, "pods", name)


def pods_path(namespace: str) -> str:
    """Return the API path of the collection."""
    return path_of("/api/v1", "namespaces", namespace, "pods")


def view_of(obj: dict[str, Any]) -> PodView:
    """Return the view of a pod that the API server sent."""
    return PodView.from_snapshot(KubeObject(obj).version, pod_snapshot(obj))


class PodClient:
    """Reads pods with ports, and writes their annotations and condition."""

    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, namespace: str, name: str) -> PodView | None:
        """Read a pod. None: the API server says that there is no such pod."""
        try:
            return view_of(self._kube.get(pod_path(namespace, name)))
        except NotFound:
            return None

    def all(self) -> Iterator[PodView]:
        """List every pod of the cluster, consistently."""
        for obj in self._kube.list("/api/v1/pods")["items"]:
            yield view_of(obj)

    def show(self, pod: PodView, outputs: Outputs) -> tuple[PodView, Snapshot]:
        """Write the outputs in the version that was read. Raises Conflict or NotFound.

        A pod with our readiness gate gets outputs and condition in one write, so that it is never ready without
        endpoints.
        """
        annotations = {PORTS_STATE: outputs.state, ENDPOINTS: outputs.endpoints, PORTS_MESSAGE: outputs.message}
        metadata = {"annotations": annotations}
        path, read = pod_path(pod.namespace, pod.name), Precondition(pod.uid, str(pod.version))
        if pod.gate is None:
            obj = patch_if_unchanged(self._kube, path, read, metadata)
        else:
            status = {"conditions": [_condition(pod, outputs, self._kube.clock.now())]}
            obj = join_if_unchanged(self._kube, f"{path}/status", read, metadata, status=status)
        view = view_of(obj)
        return view, Snapshot(view.version, view.uid, gone=False, body=pod_snapshot(obj))


def _condition(pod: PodView, outputs: Outputs, now: datetime) -> dict[str, str]:
    """The time is that of a change of status, as Kubernetes has it."""
    condition = {"type": PORTS_BOUND, "status": readiness(outputs), "reason": outputs.state or "NothingBound"}
    if condition["status"] != pod.gate:
        condition["lastTransitionTime"] = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return condition
