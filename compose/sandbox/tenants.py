"""Tenants that each need a whole warm pod: create claims, and later replace the oldest periodically.

The pods run nothing. When a pod drains, the kubelet answers for it that no sessions are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

import structlog

from compose.sandbox.kube.apply import apply
from events.kube.api import KubeApi, KubeError

Json = dict[str, Any]
log = structlog.get_logger()
NAMESPACE: Final = "databases"
POOL: Final = "warm"
API: Final = "berthmaster.dev/v1alpha1"
CLAIMS: Final = f"/apis/{API}/namespaces/{NAMESPACE}/podclaims"
WARM: Final = 2
"""How many pods are kept warm."""
EVERY: Final = 5.0
"""Seconds between two tenants that leave, once the summary is shown."""


@dataclass(frozen=True)
class Tenant:
    """A claim, as people see it. `pod`: the claim's pod, or its target pod."""

    name: str
    phase: str = "Pending"
    pod: str = ""
    moves: bool = False

    @classmethod
    def from_object(cls, obj: Mapping[str, Any]) -> Tenant:
        """Return the tenant of a PodClaim object."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        phase = "Moving" if "sourcePod" in spec else status.get("phase") or "Pending"
        return cls(obj["metadata"]["name"], phase, spec.get("podName") or "", "sourcePod" in spec)


def pod_pool(tenants: int) -> Json:
    """Return the pool of warm pods, large enough for the tenants."""
    answers = {"sandbox.berthmaster.dev/sessions": "0"}
    containers = [{"name": "db", "image": "registry.example.com/db:1.0"}]
    return {
        "apiVersion": API,
        "kind": "PodPool",
        "metadata": {"name": POOL, "namespace": NAMESPACE},
        "spec": {
            "slots": [],
            "maxIdle": WARM,
            "maxReplicas": tenants + 2 * WARM,
            "minDrain": "2s",
            "drainTimeout": "20s",
            "template": {"metadata": {"annotations": answers}, "spec": {"containers": containers}},
        },
    }


class Tenants:
    """Creates and deletes claims. Call `prepare` once, and `step` often with the present claims."""

    def __init__(self, api: KubeApi, number: int) -> None:
        self.api, self.number, self.created, self.due = api, number, 0, 0.0
        self.ended = set[str]()

    def prepare(self) -> None:
        """Create the namespace and the pod pool."""
        apply(self.api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        apply(self.api, [pod_pool(self.number)])

    def step(self, claims: Mapping[str, Tenant], now: float, *, more: bool = False) -> None:
        """Create a claim if one is due. `now`: as `time.monotonic()`. `more`: also replace tenants."""
        if now < self.due:
            return
        try:
            if self.created < self.number:
                self._come(now + 0.3)
            elif more:
                self._churn(claims)
                self.due = now + EVERY
        except KubeError as error:  # deleted by hand, for example
            log.info("tenant_refused", error=str(error))

    def _come(self, due: float) -> None:
        self.created, self.due = self.created + 1, due
        spec = {"poolName": POOL, "ownerName": f"tenant-{self.created % 10}"}
        meta = {"name": f"db-{self.created:03}"}
        self.api.create(CLAIMS, {"apiVersion": API, "kind": "PodClaim", "metadata": meta, "spec": spec})

    def _churn(self, claims: Mapping[str, Tenant]) -> None:
        """Delete the oldest bound claim, and let a new one be created."""
        if name := next_to_end(claims, self.ended):
            self.api.delete(f"{CLAIMS}/{name}")
            self.ended.add(name)
            self.number += 1


def next_to_end(claims: Mapping[str, Tenant], ended: Set[str]) -> str:
    """Return the oldest bound claim, '' if there is none. `ended`: deleted claims, which stay visible for a while."""
    return min((name for name, claim in claims.items() if claim.phase == "Bound" and name not in ended), default="")


def pending(claims: Mapping[str, Tenant], number: int) -> Iterator[str]:
    """Yield what has not happened yet."""
    bound = [claim.pod for claim in claims.values() if claim.phase == "Bound"]
    if len(bound) < number:
        others = ", ".join(f"{claim.name} ({claim.phase})" for claim in claims.values() if claim.phase != "Bound")
        yield f"{len(bound)} of {number} claims are bound{': ' + others if others else ''}"
    if twice := sorted({pod for pod in bound if bound.count(pod) > 1}):
        yield f"pods with more than one claim: {', '.join(twice)}"
