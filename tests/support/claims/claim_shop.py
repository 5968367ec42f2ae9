"""Claims and the pool that serves them, all by their real runs. The test plays kubelet, workload and publisher."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from redis import Redis

from berthmaster.routing import pod_claim_key
from domain.kubernetes.names import DRAIN, PHASE, SESSIONS
from events.kube.api import KubeApi
from tests.support.claims.claim_settings import SETTINGS
from tests.support.event_stream import journal_on
from tests.support.pods.pod_pool_world import QUICK, PodPoolWorld
from workers.claims.reconciler import PodClaimReconciler
from workers.kube.events import KubeEvents
from workers.kube.pod_claims import PodClaims, claim_path
from workers.reconcile import reconcile
from workers.wiring.claims import claim_services

Json = dict[str, Any]


class Shop:
    """A pool of pods for claims, and claims `c0`, `c1`, ... on it."""

    def __init__(self, redis: Redis, api: Any, namespace: str, **spec: Any) -> None:
        defaults = {"slots": [], "minReplicas": 0, "maxReplicas": 3, "maxIdle": 1, "minDrain": "0s"}
        self.pool = PodPoolWorld(redis, api, namespace, **(defaults | spec))
        self.api, self.namespace, self.names = api, namespace, set[str]()
        services = claim_services(SETTINGS, redis, self.pool.queue, self.pool.services, journal_on(redis))
        self.services = replace(services, missing_grace=timedelta(0))

    def claim(self, name: str, **spec: Any) -> None:
        self.names.add(name)
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodClaim", "metadata": {"name": name}}
        self.api.create(claim_path(self.namespace, ""), body | {"spec": {"poolName": "runners"} | spec})

    def claims(self) -> dict[str, Json]:
        return {claim.name: dict(claim.raw) for claim in self.services.claims.all(self.namespace)}

    def round(self) -> None:
        """Run the pool, kubelet, the workloads and each claim once."""
        self.pool.run()
        self.kubelet()
        for name in sorted(self.names):  # those that are gone too: the publisher says so
            self.run(name)

    def run(self, name: str, api: KubeApi | None = None) -> None:
        """Run a claim once, by a worker that reaches Kubernetes by `api`."""
        key = pod_claim_key(self.namespace, name)
        self.pool.queue.touch([key])
        by = replace(self.services, kube=api, claims=PodClaims(api), events=KubeEvents(api)) if api else self.services
        reconcile(self.pool.queue, key, PodClaimReconciler(by), QUICK)

    def leases_end(self) -> None:
        """End the leases of runs that died."""
        for name in self.names:
            self.pool.redis.zadd("{queue}timer", {pod_claim_key(self.namespace, name): 0})
        self.pool.queue.sweep_due(1000)

    def kubelet(self) -> None:
        """End pods that are being deleted, make new pods ready, and let workloads answer."""
        for pod in self.pool.pods():
            if "deletionTimestamp" in pod["metadata"]:
                self.pool.end(pod["metadata"]["name"])
            elif not (pod.get("status") or {}).get("conditions"):
                self.pool.ready(pod["metadata"]["name"], "True")
            self.answer(pod)

    def answer(self, pod: Json) -> None:
        """Answer that there are no sessions, when the pod is asked."""
        notes = pod["metadata"].get("annotations") or {}
        if DRAIN in notes and SESSIONS not in notes:
            patch = {"metadata": {"annotations": {SESSIONS: f"0 {notes[DRAIN]}"}}}
            self.api.patch(self.pool.pod_path(pod["metadata"]["name"]), patch)

    def settle(self, rounds: int = 5) -> None:
        for _ in range(rounds):
            self.round()

    def held(self) -> dict[str, str]:
        """Return the pod of each claim. No two claims have one pod, and every pod has the label of its claim."""
        pods = {pod["metadata"]["name"]: pod["metadata"]["labels"] for pod in self.pool.pods()}
        held = {name: claim["spec"]["podName"] for name, claim in self.claims().items() if "podName" in claim["spec"]}
        assert len(set(held.values())) == len(held)
        for name, pod in held.items():
            assert pods[pod]["berthmaster.dev/claimed-by"] == self.claims()[name]["metadata"]["uid"]
        return held

    def phases(self) -> list[str]:
        return sorted(pod["metadata"]["labels"].get(PHASE, "") for pod in self.pool.pods())

    def delete(self, name: str) -> None:
        self.api.delete(claim_path(self.namespace, name))
