"""Reads and writes PodClaims. Each write is conditional on the version that was read.

A write raises Conflict or NotFound when the claim has changed since.
"""

from __future__ import annotations

from typing import Any

from berthmaster.kinds import POD_CLAIM
from domain.kubernetes.names import BOUND_AT, TARGET_TAKEN
from domain.kubernetes.objects import KubeObject
from events.kube.api import KubeApi, NotFound
from workers.kube.conditional_writes import patch_if_unchanged
from workers.kube.our_kinds import path

Json = dict[str, Any]


class PodClaims:
    """Reads and writes PodClaims."""

    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, namespace: str, name: str) -> KubeObject | None:
        """Read a claim. None: the API server says that there is no such claim."""
        try:
            return KubeObject(self._kube.get(claim_path(namespace, name)))
        except NotFound:
            return None

    def all(self, namespace: str, **query: Any) -> list[KubeObject]:
        """List the claims of a namespace, consistently; `query` may have a labelSelector."""
        return [KubeObject(claim) for claim in self._kube.list(claim_path(namespace), **query)["items"]]

    def set_finalizers(self, claim: KubeObject, finalizers: list[str]) -> KubeObject:
        """Replace the claim's finalizers."""
        return self._write(claim, {"finalizers": finalizers})

    def name(self, claim: KubeObject, pod: str, node: str | None, bound_at: str) -> KubeObject:
        """Name the pod that the claim has now, and end any move."""
        notes = {BOUND_AT: bound_at, TARGET_TAKEN: None}
        return self._write(claim, {"annotations": notes}, {"podName": pod, "nodeName": node, "sourcePod": None})

    def clear(self, claim: KubeObject) -> KubeObject:
        """Name no pod."""
        none = dict.fromkeys(("podName", "nodeName", "sourcePod"))
        return self._write(claim, {"annotations": {TARGET_TAKEN: None}}, none)

    def mark(self, claim: KubeObject, node: str | None) -> KubeObject:
        """Record that the move's target is taken: the source may be drained."""
        spec = claim.spec
        taken = f"{spec['sourcePod']['podName']} {spec['podName']}"
        return self._write(claim, {"annotations": {TARGET_TAKEN: taken}}, {"nodeName": node})

    def move(self, claim: KubeObject, target: str) -> KubeObject:
        """Ask for a move: the claim's pod becomes the source, and `target` its pod."""
        spec = claim.spec
        source = {"podName": spec["podName"], "nodeName": spec.get("nodeName") or None}
        return self._write(claim, {}, {"podName": target, "nodeName": None, "sourcePod": source})

    def set_status(self, claim: KubeObject, status: Json) -> KubeObject:
        """Write the status. Raises Conflict or NotFound when the claim has changed since it was read."""
        path = f"{claim_path(claim.namespace, claim.name)}/status"
        return KubeObject(patch_if_unchanged(self._kube, path, claim.precondition, status=status))

    def _write(self, claim: KubeObject, metadata: Json, spec: Json | None = None) -> KubeObject:
        parts = {} if spec is None else {"spec": spec}
        path = claim_path(claim.namespace, claim.name)
        return KubeObject(patch_if_unchanged(self._kube, path, claim.precondition, metadata, **parts))


def claim_path(namespace: str, name: str = "") -> str:
    """Return the API path of a claim, or of the namespace's claims without a name."""
    return path(namespace, POD_CLAIM.plural, name)
