"""What a claim adds to a pod: what the claim asks for, as far as the pod's pool allows it."""

from __future__ import annotations

from pydantic import ValidationError

from domain.claims.additions import Additions, AllowedKeys, Metadata
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import ClaimsSpec
from workers.claims.services import ClaimServices
from workers.kube.claim_pods import additions_to, pool_of
from workers.kube.pod_pools import PodPools


class PodAdditions:
    """What claims may add to pods of one namespace. Each pool is read once, and only for a claim that adds anything."""

    def __init__(self, services: ClaimServices, namespace: str) -> None:
        self._pools, self._namespace = PodPools(services.kube), namespace
        self._allowed = dict[str, AllowedKeys]()

    def to(self, pod: Pod, asked: Metadata) -> Additions:
        """Split what the pod's claim asks for. Raises KubeError."""
        return additions_to(pod, asked, self._allowed_by(pool_of(pod))) if asked else Additions()

    def _allowed_by(self, pool: str | None) -> AllowedKeys:
        """A pool that is gone, or whose lists are invalid, allows nothing."""
        if pool is None:
            return AllowedKeys()
        if pool not in self._allowed:
            stored = self._pools.read(self._namespace, pool)
            try:
                claims = ClaimsSpec.model_validate((stored.body["spec"] if stored else {}).get("claims") or {})
            except ValidationError:
                claims = ClaimsSpec()
            self._allowed[pool] = AllowedKeys(pool, claims.allowed_pod_labels, claims.allowed_pod_annotations)
        return self._allowed[pool]
