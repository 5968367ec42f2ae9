"""Claims on a Kubernetes API and a real Redis, step by step. The test plays kubelet, the pools and the clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import Redis

from berthmaster.claims.answers import ClaimAnswers
from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.identity import Identity
from berthmaster.routing import pod_claim_key
from domain.backoff import RetryPolicy
from domain.claims.pod import Phase
from domain.kubernetes.names import CLAIMED_BY, LAST_OWNER, OWNER, PHASE, POOL, REVISION
from domain.kubernetes.objects import KubeObject, Pod
from domain.outcome import Outcome
from events.kube.api import KubeApi, NotFound
from events.workqueue import Workqueue
from tests.support.claims.claim_settings import SETTINGS
from tests.support.event_stream import journal_on
from tests.support.jobs.slot_world import SlotWorld
from workers.claims.reconciler import PodClaimReconciler
from workers.claims.services import ClaimServices
from workers.kube.claim_pods import pool_pod
from workers.kube.events import KubeEvents
from workers.kube.our_kinds import as_snapshot
from workers.kube.pod_claims import PodClaims, claim_path
from workers.kube.pod_pools import owner_reference
from workers.reconcile import reconcile
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.pool_names import PodPoolNames
from workers.stores.slots.claimable import IndexEntry, keep_claimable
from workers.stores.slots.view import view

QUICK = RetryPolicy(timedelta(milliseconds=1), timedelta(milliseconds=10))
Json = dict[str, Any]
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
ALLOWED = ["match", "rank", "tier"]
"""Labels that claims may add to the pods of any pool here."""
IMAGE = {"containers": [{"name": "game", "image": "game:1"}]}


class Unsent:
    """Drops what is dispatched: no test of claims needs the messages of jobs."""

    def send(self, placed: object) -> list[Any]:
        del placed
        return []


class ClaimWorld:
    def __init__(self, redis: Redis, api: KubeApi, namespace: str) -> None:
        self.redis, self.api, self.namespace = redis, api, namespace
        self.queue = Workqueue(redis, publish=lambda _: None)
        assert self.queue.assume_epoch("1:test")
        self.queue.stamp("1:test")
        self.slots: dict[str, SlotWorld] = {}
        self.owners: dict[str, list[Json]] = {}
        self.clock = datetime.now(UTC)
        self.revision = "r1"
        self.services = ClaimServices(
            kube=api,
            queue=self.queue,
            claims=PodClaims(api),
            events=KubeEvents(api),
            journal=journal_on(redis),
            index=ClaimIndex(redis),
            waiting=WaitingClaims(redis),
            answers=ClaimAnswers(redis),
            pools=PodPoolNames(redis),
            ledger=self.ledger,
            dispatcher=lambda ledger: Dispatcher(ledger, Unsent()),
            now=lambda: self.clock,
            missing_grace=SETTINGS.claims.missing_grace,
            retry=SETTINGS.claims.retry,
            retry_longest=SETTINGS.claims.retry_longest,
            call_time=SETTINGS.call_time,
        )

    def on(self, api: KubeApi) -> ClaimServices:
        """Return the services of a worker that reaches Kubernetes by `api`."""
        return replace(self.services, kube=api, claims=PodClaims(api), events=KubeEvents(api))

    def owned_by(self, fleet: str) -> None:
        """Let a fleet claim the Redis, as its publisher does."""
        assert self.queue.assume_epoch("1:test", Identity(fleet))
        self.queue.stamp("1:test")

    # ---- pools

    def ledger(self, pool: str) -> SlotLedger:
        """Return the ledger of a pool (namespace/name). For an unknown pool it is empty and not verified."""
        slots = self.slots.get(pool.rpartition("/")[2])
        return slots.ledger if slots else SlotLedger(self.redis, self._scripts(), pool)

    def _scripts(self) -> Any:
        return next(iter(self.slots.values())).scripts if self.slots else SlotWorld(self.redis, "none/none").scripts

    def pool(self, name: str = "warm", labels: dict[str, str] | None = None, most: int = 10) -> None:
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodPool", "metadata": {"name": name}}
        template = {"metadata": {"labels": labels or {}}, "spec": IMAGE}
        path = f"/apis/berthmaster.dev/v1alpha1/namespaces/{self.namespace}/podpools"
        spec = {"template": template, "maxReplicas": most, "slots": [], "claims": {"allowedPodLabels": ALLOWED}}
        created = self.api.create(path, body | {"spec": spec})
        self.owners[name] = [owner_reference(as_snapshot(KubeObject(created)))]
        self.slots[name] = SlotWorld(self.redis, f"{self.namespace}/{name}")
        self.services.pools.add(f"{self.namespace}/{name}")
        self.offer(name)

    def pod(
        self, name: str, pool: str = "warm", *, offer: bool = True, layout: tuple[str, ...] = (), **labels: str
    ) -> Json:
        """Create an idle, ready and claimable pod. `layout` has its slots for jobs."""
        own_labels = {POOL: pool, REVISION: self.revision, PHASE: Phase.IDLE.value, **labels}
        meta = {"name": name, "labels": own_labels, "ownerReferences": self.owners.get(pool, [])}
        self.api.create(f"{self.pods_path()}", {"metadata": meta, "spec": IMAGE})
        pod = self.status(name, READY)
        self.slots[pool].add(pod["metadata"]["uid"], layout)
        if offer:
            self.offer(pool)
        return pod

    def offer(self, pool: str = "warm", created: dict[str, datetime] | None = None, *, protects: bool = False) -> None:
        """Publish the claimable pods of a pool, as the pool's run does. `protects`: the pool protects them."""
        ledger, token = self.slots[pool].ledger, "9999999999999999-offer"
        ledger.resize(token, None, 0, 5000, 0)
        pods = [pool_pod(Pod(pod), self.clock) for pod in self.pods()]
        offered = [pod for pod in pods if pod.pool == pool and pod.free and pod.normal and not pod.cordoned]
        aged = [replace(pod, created=(created or {}).get(pod.name, pod.created)) for pod in offered]
        keep_claimable(ledger, token, self.revision, [IndexEntry.of(pod) for pod in aged], protects=protects)

    def drained(self, name: str, pool: str = "warm") -> None:
        """Free a drained pod, as the pool's run does."""
        pod = self.get(name)
        (slots,) = (slots for slots in view(self.slots[pool].ledger).pods if slots.uid == pod["metadata"]["uid"])
        assert self.slots[pool].ledger.take_over(slots.uid, slots.token, "drain")
        self.label(name, PHASE, Phase.IDLE.value)
        self.slots[pool].ledger.open(slots.uid, "drain")
        self.offer(pool)

    # ---- pods

    def pods_path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def pods(self) -> list[Json]:
        items: list[Json] = self.api.list(self.pods_path())["items"]
        return items

    def get(self, pod: str) -> Json:
        return self.api.get(f"{self.pods_path()}/{pod}")

    def status(self, pod: str, status: Json) -> Json:
        return self.api.patch(f"{self.pods_path()}/{pod}/status", {"status": status})

    def label(self, pod: str, key: str, value: str | None) -> None:
        self.api.patch(f"{self.pods_path()}/{pod}", {"metadata": {"labels": {key: value}}})

    def annotate(self, pod: str, key: str, value: str | None) -> None:
        self.api.patch(f"{self.pods_path()}/{pod}", {"metadata": {"annotations": {key: value}}})

    def end(self, pod: str) -> None:
        self.api.delete(f"{self.pods_path()}/{pod}", {"gracePeriodSeconds": 0})

    def labels(self, pod: str) -> dict[str, str]:
        labels: dict[str, str] = self.get(pod)["metadata"]["labels"]
        return labels

    def holder(self, pod: str) -> str:
        """Return the phase of a pod, with the name of its claim."""
        labels = self.labels(pod)
        names = {claim.uid: claim.name for claim in self.claims()}
        uid = labels.get(CLAIMED_BY, "")
        return f"{labels[PHASE]} {names.get(uid, uid)}".strip()

    def last_owner(self, pod: str) -> str:
        labels = self.labels(pod)
        assert OWNER not in labels
        return labels.get(LAST_OWNER, "")

    def views(self, pool: str = "warm") -> dict[str, str]:
        """Return the state of each pod in the slot ledger."""
        names = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in self.pods()}
        return {names.get(slots.uid, slots.uid): slots.view for slots in view(self.slots[pool].ledger).pods}

    # ---- claims

    def claim(self, name: str = "a", **spec: Any) -> Json:
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodClaim", "metadata": {"name": name}}
        path = claim_path(self.namespace, "")
        return self.api.create(path, body | {"spec": {"poolName": "warm"} | spec})

    def bound(self, name: str = "a", **spec: Any) -> str:
        """Create a claim and run it once. Returns the name of its pod."""
        self.claim(name, **spec)
        self.run(name)
        return self.pod_of(name)

    def claims_path(self) -> str:
        return claim_path(self.namespace, "")

    def read(self, name: str = "a") -> Json:
        return self.api.get(claim_path(self.namespace, name))

    def claims(self) -> list[KubeObject]:
        return self.services.claims.all(self.namespace)

    def pod_of(self, name: str = "a") -> str:
        return str(self.read(name)["spec"].get("podName") or "")

    def phase(self, name: str = "a") -> str:
        return str((self.read(name).get("status") or {}).get("phase", ""))

    def condition(self, kind: str, name: str = "a") -> Json:
        (condition,) = (entry for entry in self.read(name)["status"]["conditions"] if entry["type"] == kind)
        return dict(condition)

    def event_reasons(self) -> set[str]:
        """Return the reasons of the namespace's Events."""
        items: list[Json] = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return {event["reason"] for event in items}

    def spec(self, name: str = "a", **changes: Any) -> None:
        self.api.patch(claim_path(self.namespace, name), {"spec": changes})

    def move(self, target: str, name: str = "a") -> None:
        self.services.claims.move(KubeObject(self.read(name)), target)

    def delete(self, name: str = "a") -> None:
        self.api.delete(claim_path(self.namespace, name))

    def gone(self, name: str = "a") -> bool:
        try:
            self.read(name)
        except NotFound:
            return True
        return False

    def run(self, name: str = "a", services: ClaimServices | None = None) -> Outcome | None:
        """Run the claim once, by a worker with these services."""
        key = pod_claim_key(self.namespace, name)
        self.queue.touch([key])
        return reconcile(self.queue, key, PodClaimReconciler(services or self.services), QUICK)

    def lease_ends(self, name: str = "a") -> None:
        """End the lease of a run that paused or died, so that another worker may take the claim."""
        self.redis.zadd("{queue}timer", {pod_claim_key(self.namespace, name): 0})
        self.queue.sweep_due(1000)

    def later(self, by: timedelta) -> None:
        self.clock += by
