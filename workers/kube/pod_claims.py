"""Reading and writing PodClaims: each write on the version that was read, so that what was decided from it still holds.

Those that raise nothing else raise Conflict or NotFound when it has changed since.
"""

from __future__ import annotations

from typing import Any

from berthmaster.kinds import POD_CLAIM
from domain.claims.labels import BOUND_AT, TARGET_TAKEN
from events.kube.api import KubeApi, NotFound
from workers.kube.our_kinds import path

Json = dict[str, Any]


class PodClaims:
    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, namespace: str, name: str) -> Json | None:
        """None: the API server says that there is no such claim."""
        try:
            return self._kube.get(claim_path(namespace, name))
        except NotFound:
            return None

    def all(self, namespace: str, **query: Any) -> list[Json]:
        """Of the namespace, from a consistent list; `query` may have a labelSelector."""
        items: list[Json] = self._kube.list(claim_path(namespace), **query)["items"]
        return items

    def set_finalizers(self, claim: Json, finalizers: list[str]) -> Json:
        return self._write(claim, {"finalizers": finalizers})

    def name(self, claim: Json, pod: str, node: str, bound_at: str) -> Json:
        """That pod is its own now, and it does not move."""
        notes = {BOUND_AT: bound_at, TARGET_TAKEN: None}
        return self._write(claim, {"annotations": notes}, {"podName": pod, "nodeName": node or None, "sourcePod": None})

    def clear(self, claim: Json) -> Json:
        """It names no pod."""
        none = dict.fromkeys(("podName", "nodeName", "sourcePod"))
        return self._write(claim, {"annotations": {TARGET_TAKEN: None}}, none)

    def mark(self, claim: Json, node: str) -> Json:
        """The target of its move is taken: its source may be drained."""
        spec = claim["spec"]
        taken = f"{spec['sourcePod']['podName']} {spec['podName']}"
        return self._write(claim, {"annotations": {TARGET_TAKEN: taken}}, {"nodeName": node or None})

    def move(self, claim: Json, target: str) -> Json:
        """Asks for it: the pod that it names becomes the one that it leaves."""
        spec = claim["spec"]
        source = {"podName": spec["podName"], "nodeName": spec.get("nodeName") or None}
        return self._write(claim, {}, {"podName": target, "nodeName": None, "sourcePod": source})

    def set_status(self, claim: Json, status: Json) -> Json:
        meta = claim["metadata"]
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}, "status": status}
        return self._kube.patch(f"{claim_path(meta['namespace'], meta['name'])}/status", patch)

    def _write(self, claim: Json, metadata: Json, spec: Json | None = None) -> Json:
        meta = claim["metadata"]
        patch: Json = {"metadata": {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"], **metadata}}
        if spec is not None:
            patch["spec"] = spec
        return self._kube.patch(claim_path(meta["namespace"], meta["name"]), patch)


def claim_path(namespace: str, name: str = "") -> str:
    return path(namespace, POD_CLAIM.plural, name)
