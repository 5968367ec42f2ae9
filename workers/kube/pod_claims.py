"""Reads and writes PodClaims. Each write is conditional on the version that was read.

A write raises Conflict or NotFound when the claim has changed since.
"""

from __future__ import annotations

from typing import Any

from berthmaster.kinds import POD_CLAIM
from domain.kubernetes.names import BOUND_AT, RENEWAL, REQUESTED, TARGET_TAKEN
from domain.kubernetes.objects import KubeObject, new_object
from events.kube.api import AlreadyExists, KubeApi, NotFound
from workers.kube.conditional_writes import delete_if_unchanged, patch_if_unchanged
from workers.kube.our_kinds import API_VERSION, path

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

    def create(self, namespace: str, name: str, annotations: dict[str, str], spec: Json) -> KubeObject | None:
        """Create a claim. None: a claim of this name exists."""
        metadata = {"name": name, "namespace": namespace, "annotations": annotations}
        body = new_object(API_VERSION, POD_CLAIM.name, metadata, spec=spec)
        try:
            return KubeObject(self._kube.create(claim_path(namespace), body))
        except AlreadyExists:
            return None

    def renew(self, claim: KubeObject, renewal: str) -> KubeObject:
        """Renew a claim that has a ttl."""
        return self._write(claim, {"annotations": {RENEWAL: renewal}})

    def set_calls(self, claim: KubeObject, calls: str, renewal: str | None = None) -> KubeObject:
        """Replace the ids of the calls that ask for the claim. With `renewal` the claim is renewed too."""
        renewed = {} if renewal is None else {RENEWAL: renewal}
        return self._write(claim, {"annotations": {REQUESTED: calls, **renewed}})

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

    def delete(self, claim: KubeObject) -> None:
        """Delete the claim in the version that was read. Raises Conflict or NotFound."""
        delete_if_unchanged(self._kube, claim_path(claim.namespace, claim.name), claim.precondition)

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
