"""A pod pool on a Kubernetes API and a real Redis, step by step: the test is kubelet, runners and clients."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import orjson
from redis import Redis

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import Placed
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.routing import pod_pool_key
from domain.backoff import RetryPolicy
from domain.outcome import Outcome
from events.kube.api import KubeApi, NotFound
from events.protocol.pool_pod_changes import PoolPodChanges
from events.workqueue import Workqueue
from tests.support.jobs.slot_recount import faults
from tests.support.jobs.slot_world import THREE, Runner, SlotWorld
from workers.kube.events import KubeEvents
from workers.kube.pod_pools import PodPools
from workers.pod_pools.pod_cache import PodCache
from workers.pod_pools.reconciler import PodPoolReconciler
from workers.pod_pools.services import PodPoolServices
from workers.reconcile import reconcile
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaims
from workers.stores.pool_names import PodPoolNames, ShownStatus
from workers.stores.slots.pod_records import PodSlots
from workers.stores.slots.view import view

QUICK = RetryPolicy(timedelta(milliseconds=1), timedelta(milliseconds=10))
Json = dict[str, Any]
TEMPLATE: Json = {"spec": {"containers": [{"name": "runner", "image": "runner:1"}]}}
SILENCE = timedelta(minutes=2)


class Wire:
    """Keeps what is dispatched; the test delivers it."""

    def __init__(self, world: SlotWorld) -> None:
        self._world = world

    def send(self, placed: Iterable[Placed]) -> list[Placed]:
        self._world.send(tuple(placed))
        return []


class PodPoolWorld:
    def __init__(self, redis: Redis, api: KubeApi, namespace: str, **spec: Any) -> None:
        self.redis, self.api, self.namespace = redis, api, namespace
        self.slots = SlotWorld(redis, f"{namespace}/runners")
        self.queue = Workqueue(redis, publish=lambda _: None)
        self.key = pod_pool_key(namespace, "runners")
        self.forgotten: list[str] = []
        self.layout: tuple[str, ...] = THREE  # of runners to come
        self.claim()
        self.services = PodPoolServices(
            kube=api,
            pools=PodPools(api),
            events=KubeEvents(api),
            ledger=lambda _: self.slots.ledger,
            dispatcher=self.dispatcher,
            forget_queue=lambda _, pod: self.forgotten.append(pod),
            environment=lambda pool, _: [{"name": "BERTHMASTER_RUNNER__POOL", "value": pool}],
            names=PodPoolNames(redis),
            shown=ShownStatus(redis),
            claims=ClaimIndex(redis),
            waiting=WaitingClaims(redis),
            withheld="",
            call_time=timedelta(seconds=15),
            silence=SILENCE,
            remember=timedelta(hours=24),
            many=200,
            pod_cache=PodCache(PoolPodChanges(redis), timedelta(0)),  # no publisher tells of changes
            pod_writes=1,  # one after the other, so that a test may count them
        )
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodPool", "metadata": {"name": "runners"}}
        self.path = f"/apis/berthmaster.dev/v1alpha1/namespaces/{namespace}/podpools"
        quick = {"scaling": {"upCooldown": "0s", "downCooldown": "0s"}}
        api.create(self.path, body | {"spec": {"template": TEMPLATE} | quick | spec})

    def dispatcher(self, ledger: SlotLedger) -> Dispatcher:
        return Dispatcher(ledger, Wire(self.slots))

    def claim(self) -> None:
        assert self.queue.assume_epoch("1:test")
        self.queue.stamp("1:test")

    def change(self, **spec: Any) -> None:
        self.api.patch(f"{self.path}/runners", {"spec": spec})

    def run(self) -> Outcome | None:
        """One run of the pool, as a tick or an event asks for it."""
        self.queue.touch([self.key])
        return reconcile(self.queue, self.key, PodPoolReconciler(self.services), QUICK)

    def lease_ends(self) -> None:
        """End the lease of a suspended run: another worker may take the pool."""
        self.redis.zadd("{queue}timer", {self.key: 0})
        self.queue.sweep_due(1000)

    def kubelet(self) -> None:
        """Make every new pod run and its runner report twice; end terminating pods."""
        for pod in self.pods():
            meta = pod["metadata"]
            if "deletionTimestamp" in meta:
                self.end(meta["name"])
                continue
            self.ready(meta["name"], "True")
            self.slots.runners.setdefault(meta["uid"], Runner(meta["uid"], self.layout, pod=meta["name"]))
        self.kubelet_reports()

    def kubelet_reports(self) -> None:
        """Let every runner whose pod exists report twice."""
        there = {pod["metadata"]["uid"] for pod in self.pods()}
        for uid in list(self.slots.runners):
            if uid in there:
                self.slots.beat(uid)
                self.slots.beat(uid)
            else:
                self.forget(uid)

    def ready(self, name: str, status: str) -> None:
        """Set the condition Ready of a pod. It may be gone: a server that collects garbage deletes by itself."""
        conditions = [{"type": "Ready", "status": status}]
        with suppress(NotFound):
            self.api.patch(f"{self.pod_path(name)}/status", {"status": {"phase": "Running", "conditions": conditions}})

    def end(self, name: str) -> None:
        """Delete the pod, and its runner with it."""
        try:
            uid = self.api.get(self.pod_path(name))["metadata"]["uid"]
            self.api.delete(self.pod_path(name), {"gracePeriodSeconds": 0})
        except NotFound:
            return
        self.forget(uid)

    def forget(self, uid: str) -> None:
        if runner := self.slots.runners.pop(uid, None):
            self.slots.excused |= {f"{job} {phase}" for job, phase, _ in runner.ended.values()}

    def fall_silent(self, uid: str) -> None:
        """Make the last report of a pod's runner old."""
        del self.slots.runners[uid]
        pods = self.slots.stored("pods")
        pods[uid]["t"] -= 2 * SILENCE / timedelta(milliseconds=1)
        self.redis.hset(f"{self.slots.ledger.prefix}pods", uid, orjson.dumps(pods[uid]))
        self.redis.hset(
            f"{self.slots.ledger.prefix}watched", "since", int(pods[uid]["t"])
        )  # runs have observed the pool since

    def let_pauses_pass(self) -> None:
        """End the pause between pods that never became ready."""
        key = f"{self.slots.ledger.prefix}unready"
        if self.redis.exists(key):
            self.redis.hset(key, "at", 0)

    def settle(self, rounds: int = 4) -> None:
        for _ in range(rounds):
            self.run()
            self.kubelet()
            self.slots.deliver_all()
        self.run()

    def finish_all(self) -> None:
        for uid, runner in self.slots.runners.items():
            for attempt in list(runner.running):
                self.slots.end(uid, attempt)
                self.slots.tell(uid, attempt)

    def inc(self) -> bytes:
        """The stamp of a verified ledger."""
        stamp: Any = self.redis.hget(f"{self.slots.ledger.prefix}meta", "inc")
        return bytes(stamp)

    @property
    def url(self) -> str:
        return str(self.api.connection.configuration.host)

    def pods(self) -> list[Json]:
        items: list[Json] = self.api.list(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return items

    def events(self) -> list[Json]:
        """Kubernetes Events of the namespace, but for those that its controllers record about a budget."""
        items: list[Json] = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return [event for event in items if event["involvedObject"]["kind"] != "PodDisruptionBudget"]

    def pod_path(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"

    def names(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in self.pods()}

    def views(self) -> list[str]:
        return sorted(pod.view for pod in self.ledger_pods())

    def ledger_pods(self) -> tuple[PodSlots, ...]:
        return view(self.slots.ledger).pods

    def recounted(self) -> list[str]:
        return faults(self.slots)

    def status(self) -> Json:
        status: Json = self.api.get(f"{self.path}/runners").get("status") or {}
        return status
