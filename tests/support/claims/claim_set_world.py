"""A claim set on a Kubernetes API and a real Redis, step by step. The test plays the claims' runs and kubelet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from redis import Redis

from berthmaster.routing import pod_claim_set_key
from domain.backoff import RetryPolicy
from domain.kubernetes.names import CLAIM_SET, CLAIMED_BY, DELETION_COST, TEMPLATE_HASH
from domain.outcome import Outcome, Settled
from events.kube.api import KubeApi
from events.workqueue import Workqueue
from tests.support.claims.claim_settings import SETTINGS
from tests.support.faults.interposed_kube import InterposedKube
from workers.claim_sets.reconciler import PodClaimSetReconciler
from workers.claim_sets.services import ClaimSetServices
from workers.kube.events import KubeEvents
from workers.kube.pod_claim_sets import PodClaimSets
from workers.reconcile import reconcile
from workers.stores.claims.set_names import ClaimSetNames
from workers.stores.claims.set_pace import ClaimSetPace

Json = dict[str, Any]
QUICK = RetryPolicy(timedelta(milliseconds=1), timedelta(milliseconds=10))
GROUP = "berthmaster.dev/v1alpha1"
POD: Json = {"containers": [{"name": "server", "image": "server:1"}]}


class ClaimSetWorld:
    """Set `db`, whose claims ask for pods of one pool."""

    def __init__(self, redis: Redis, api: KubeApi, namespace: str, replicas: int = 2, pool: str = "warm") -> None:
        self.redis, self.api, self.namespace = redis, api, namespace
        self.queue = Workqueue(redis, publish=lambda _: None)
        assert self.queue.assume_epoch("1:test")
        self.queue.stamp("1:test")
        self.key = pod_claim_set_key(namespace, "db")
        names, pace = ClaimSetNames(redis), ClaimSetPace(redis)
        self.services = ClaimSetServices(api, PodClaimSets(api), KubeEvents(api), names, pace, SETTINGS.call_time)
        template = {"metadata": {"labels": {"app": "db"}}, "spec": {"poolName": pool}}
        spec = {"replicas": replicas, "selector": {"app": "db"}, "template": template}
        body = {"apiVersion": GROUP, "kind": "PodClaimSet", "metadata": {"name": "db"}, "spec": spec}
        self.uid: str = api.create(self.path("podclaimsets"), body)["metadata"]["uid"]
        self.most = 0
        self.pods = dict[str, str]()  # of each claim, the newest

    def path(self, plural: str, name: str = "") -> str:
        root = "/api/v1" if plural == "pods" else f"/apis/{GROUP}"
        return f"{root}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def run(self) -> Outcome | None:
        self.queue.touch([self.key])
        return reconcile(self.queue, self.key, PodClaimSetReconciler(self.services), QUICK)

    def lease_ends(self) -> None:
        """End the lease of a paused run, so that another worker may take the set."""
        self.redis.zadd("{queue}timer", {self.key: 0})
        self.queue.sweep_due(1000)

    def standing_still(self, method: str, part: str, work: Callable[[], object], times: int = 1) -> None:
        """Run the set. Right before its first such request (`times` 1) its lease ends, and others do `work`."""
        whole, errors = self.services, list[Exception]()

        def happens(_: str) -> None:
            self.services = whole
            self.lease_ends()
            try:
                work()
            except Exception as error:
                errors.append(error)
                raise

        stands = InterposedKube(self.api, method, part, happens, times)
        self.through(stands)
        self.run()
        self.services = whole
        for error in errors:
            raise error
        assert stands.left < times, "it never came to that request"

    def through(self, kube: KubeApi) -> None:
        """Send all requests of runs through this client."""
        self.services = replace(self.services, kube=kube, sets=PodClaimSets(kube), events=KubeEvents(kube))

    # ---- users

    def scale(self, replicas: int) -> None:
        self.api.patch(f"{self.path('podclaimsets', 'db')}/scale", {"spec": {"replicas": replicas}})

    def change_template(self, **spec: Any) -> None:
        self.api.patch(self.path("podclaimsets", "db"), {"spec": {"template": {"spec": spec}}})

    # ---- the runs of its claims

    def bind(self, name: str, ready: bool = True, cost: int | None = None) -> None:
        """Bind the claim to a pod of its own."""
        uid = self.claim(name)["metadata"]["uid"]
        self.pods[name] = pod = f"{name}-{uid[:8]}"
        labels = {CLAIMED_BY: uid, CLAIM_SET: self.uid}
        self.api.create(self.path("pods"), {"metadata": {"name": pod, "labels": labels}, "spec": POD})
        self.ready(name, "True" if ready else "False")
        if cost is not None:
            self.set_cost(name, cost)
        self.change_claim(name, podName=pod)
        self.set_phase(name, "Bound")

    def ready(self, name: str, status: str) -> None:
        status_body = {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}
        self.api.patch(f"{self.path('pods', self.pods[name])}/status", {"status": status_body})

    def set_cost(self, name: str, cost: int) -> None:
        self.api.patch(self.path("pods", self.pods[name]), {"metadata": {"annotations": {DELETION_COST: str(cost)}}})

    def change_claim(self, name: str, **spec: Any) -> None:
        self.api.patch(self.path("podclaims", name), {"spec": spec})

    def set_phase(self, name: str, phase: str) -> None:
        self.api.patch(f"{self.path('podclaims', name)}/status", {"status": {"phase": phase}})

    def move(self, name: str) -> None:
        """Ask the claim to move to another pod."""
        self.change_claim(name, podName=f"{name}-target", sourcePod={"podName": self.pods[name]})

    def has_moved(self, name: str) -> None:
        """Undo the move, as when the target was taken."""
        self.change_claim(name, podName=self.pods[name], sourcePod=None)

    def keep(self, name: str) -> None:
        """Add the finalizer, as the claim's own run does."""
        self.api.patch(self.path("podclaims", name), {"metadata": {"finalizers": ["berthmaster.dev/claim"]}})

    def let_go(self, name: str) -> None:
        self.api.patch(self.path("podclaims", name), {"metadata": {"finalizers": None}})

    def settle(self, rounds: int = 12) -> None:
        """Run until nothing is left to do. Every claim gets a pod."""
        for _ in range(rounds):
            ended = self.run()
            self.most = max(self.most, len(self.live()))
            for claim in self.claims():
                if not claim["spec"].get("podName"):
                    self.bind(claim["metadata"]["name"])
            if ended == Settled():
                return

    # ---- what there is

    def events(self) -> list[tuple[str, str]]:
        """Return reason and message of each Event of the set, sorted."""
        items = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return sorted((e["reason"], e["message"]) for e in items if e["involvedObject"]["kind"] == "PodClaimSet")

    def claims(self) -> list[Json]:
        items: list[Json] = self.api.list(self.path("podclaims"))["items"]
        return items

    def claim(self, name: str) -> Json:
        return self.api.get(self.path("podclaims", name))

    def live(self) -> set[str]:
        return {c["metadata"]["name"] for c in self.claims() if "deletionTimestamp" not in c["metadata"]}

    def templates(self) -> dict[str, str]:
        """Return of each claim the hash of the template that it was created from."""
        return {c["metadata"]["name"]: c["metadata"]["labels"][TEMPLATE_HASH] for c in self.claims()}

    @property
    def object(self) -> Json:
        return self.api.get(self.path("podclaimsets", "db"))

    @property
    def status(self) -> Json:
        status: Json = self.object.get("status") or {}
        return status

    def condition(self, kind: str) -> tuple[str, str]:
        """Return status and reason of a condition."""
        (condition,) = (c for c in self.status["conditions"] if c["type"] == kind)
        return condition["status"], condition["reason"]

    def message(self, kind: str) -> str:
        (message,) = (c["message"] for c in self.status["conditions"] if c["type"] == kind)
        return str(message)
