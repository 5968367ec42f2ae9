"""The whole port job in one process, step by step: real Redis, Kubernetes API and strict AWS.

`sync` is a publisher's relist, `drain` is what workers do, `scale` what the winners of scale-up requests do. Nothing
runs by itself, so that a test decides who runs when: it can stop a run anywhere, run one twice, or let another come
between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from redis import Redis

from berthmaster.routing import pod_key, port_pool_key
from compose.sandbox.aws.remote import Network
from domain.backoff import RetryPolicy
from domain.kubernetes.names import ENDPOINTS, PORTS, PORTS_MESSAGE, PORTS_STATE
from domain.outcome import Outcome
from events.kube.api import KubeApi, NotFound
from events.protocol.schemas import pod_snapshot, spec_snapshot
from events.workqueue import Mark, Workqueue
from tests.fixtures.aws import Aws
from tests.fixtures.kube import Kube
from tests.support.event_stream import journal_on
from tests.support.ready_keys import ready_keys
from workers.cloud.driver import LoadBalancerApi
from workers.kube.events import KubeEvents
from workers.kube.namespaces import Namespaces
from workers.kube.pods import PodClient
from workers.kube.port_pools import PATH, PortPools
from workers.port_pools.reconciler import PortPoolReconciler
from workers.port_services import PortServices
from workers.ports.reconciler import PodReconciler
from workers.reconcile import reconcile
from workers.scale_up.intent import scale_up
from workers.settings import PortsSettings
from workers.stores.pool_names import PoolNames, ShownStatus
from workers.stores.ports.audit_memory import AuditMemory
from workers.stores.ports.last_errors import Troubles
from workers.stores.ports.ledger import Ledger, load_scripts
from workers.stores.ports.view import LedgerView, owners, view

EPOCH = "1:test"
QUICK = RetryPolicy(timedelta(milliseconds=1), timedelta(milliseconds=10))


@dataclass
class Fleet:
    """Each fleet is its own cluster, so that tests do not meet in AWS."""

    redis: Redis
    api: KubeApi
    namespace: str
    driver: LoadBalancerApi
    network: Network
    cluster: str = "test"
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # scale-ups sent: pool, epoch, token
    outcomes: dict[str, Outcome | None] = field(default_factory=dict)

    @classmethod
    def in_own_cluster(cls, redis: Redis, kube: Kube, aws: Aws) -> Fleet:
        return cls(redis, kube.api, kube.namespace, aws.driver(), aws.ids, cluster=f"c{uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.queue = Workqueue(self.redis, publish=lambda _: None)
        scripts, ports = load_scripts(self.redis), PortsSettings()
        self.services = PortServices(
            queue=self.queue,
            ledger=lambda pool: Ledger(self.redis, scripts, pool),
            driver=lambda _: self.driver,
            pods=PodClient(self.api),
            pools=PortPools(self.api),
            namespaces=Namespaces(self.api, timedelta(0)),
            events=KubeEvents(self.api),
            journal=journal_on(self.redis),
            pool_names=PoolNames(self.redis),
            shown=ShownStatus(self.redis),
            audit_memory=AuditMemory(self.redis),
            troubles=Troubles(self.redis),
            send_scale_up=self.send_scale_up,
            cluster=self.cluster,
            default_spec=ports.default_spec,
            retain_for=ports.retain_for,
            call_time=timedelta(seconds=15),
            scale_up_lease=timedelta(seconds=60),
            orphan_grace=timedelta(0),
            audit_targets=ports.audit_targets,
            recheck=ports.waiting_recheck,
            wake_again_after=timedelta(0),
        )

    def send_scale_up(self, pool: str, epoch: str, token: str) -> bool:
        self.requests.append((pool, epoch, token))
        return True

    # ---- Kubernetes objects

    def pool(self, name: str, **changes: Any) -> dict[str, Any]:
        """A pool with ports 30000 to 30999 and growth to three load balancers, with `changes` to its spec."""
        create = {"enabled": True, "maxLoadBalancers": 3, "parameters": {"subnets": list(self.network.subnets)}}
        spec = {
            "region": "us-east-1",
            "vpcId": self.network.vpc,
            "startPort": 30000,
            "endPort": 30999,
            "autoCreate": create,
        }
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PortPool", "metadata": {"name": name}}
        return self.api.create(PATH, body | {"spec": spec | changes})

    def pod(
        self, name: str, ports: str | None, ip: str = "", gates: Sequence[str] = (), **annotations: str
    ) -> dict[str, Any]:
        notes = {"berthmaster.dev/" + k.replace("_", "-"): v for k, v in annotations.items()}
        meta = {"name": name, "annotations": notes | ({PORTS: ports} if ports is not None else {})}
        spec = {"containers": [{"name": "main", "image": "none"}]}
        gated = {"readinessGates": [{"conditionType": gate} for gate in gates]} if gates else {}
        body = {"metadata": meta, "spec": spec | gated}
        obj = self.api.create(f"/api/v1/namespaces/{self.namespace}/pods", body)
        return self.address(name, ip) if ip else obj

    def pod_path(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"

    def address(self, name: str, *ips: str) -> dict[str, Any]:
        """Report addresses, as a kubelet does."""
        status = {"phase": "Running", "podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
        return self.api.patch(f"{self.pod_path(name)}/status", {"status": status})

    def annotate(self, name: str, **annotations: str | None) -> dict[str, Any]:
        notes = {"berthmaster.dev/" + k.replace("_", "-"): v for k, v in annotations.items()}
        return self.api.patch(self.pod_path(name), {"metadata": {"annotations": notes}})

    def delete(self, name: str) -> None:
        self.api.delete(self.pod_path(name), {"gracePeriodSeconds": 0})

    def shown(self, name: str) -> tuple[str, list[dict[str, Any]], str]:
        """(state, endpoints, message) of a pod."""
        notes = self.api.get(self.pod_path(name))["metadata"].get("annotations") or {}
        return notes.get(PORTS_STATE, ""), json.loads(notes.get(ENDPOINTS) or "[]"), notes.get(PORTS_MESSAGE, "")

    def state(self, name: str) -> str:
        return self.shown(name)[0]

    def events(self, name: str) -> list[str]:
        """Reasons of the Kubernetes Events of an object of the namespace."""
        listed = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return sorted(e["reason"] for e in listed if e["involvedObject"]["name"] == name)

    # ---- who runs

    def sync(self) -> None:
        """Do a publisher's relist: assume an epoch, list, mark the difference, stamp."""
        assert self.queue.assume_epoch(EPOCH)
        listed = self.api.list(f"/api/v1/namespaces/{self.namespace}/pods")
        pools = self.api.list(PATH)
        version = max(int(listed["metadata"]["resourceVersion"]), int(pools["metadata"]["resourceVersion"]))
        known = self.queue.stored_versions()
        marks = [
            self._mark(pod_key(self.namespace, o["metadata"]["name"]), o, pod_snapshot(o)) for o in listed["items"]
        ]
        marks = [m for m in marks if m.key in known or json.loads(m.body)["annotations"]]
        marks += [self._mark(port_pool_key(o["metadata"]["name"]), o, spec_snapshot(o)) for o in pools["items"]]
        there = {m.key for m in marks}
        gone = [
            Mark(k, version, v.uid, gone=True, body=b"{}") for k, v in known.items() if k not in there and not v.gone
        ]
        self.queue.marks(EPOCH, marks + gone, relist=True)
        assert self.queue.stamp(EPOCH)

    def _mark(self, key: str, obj: dict[str, Any], body: dict[str, Any]) -> Mark:
        meta = obj["metadata"]
        return Mark(key, int(meta["resourceVersion"]), meta["uid"], gone=False, body=json.dumps(body).encode())

    def run(self, key: str, services: PortServices | None = None) -> Outcome | None:
        """One run of a key, whatever its turn."""
        kinds: dict[str, Callable[[PortServices], Any]] = {"pod": PodReconciler, "portpool": PortPoolReconciler}
        reconciler = kinds[key.partition("/")[0]](services or self.services)
        self.outcomes[key] = reconcile(self.queue, key, reconciler, QUICK)
        return self.outcomes[key]

    def run_pod(self, name: str) -> Outcome | None:
        return self.run(pod_key(self.namespace, name))

    def run_pod_with(self, name: str, driver: Any) -> Outcome | None:
        """Run a pod with another driver."""
        return self.run(pod_key(self.namespace, name), self.other(driver=lambda _: driver))

    def queued(self) -> list[str]:
        return ready_keys(self.redis)

    def drain(self, most: int = 500) -> int:
        """Run queued keys until none is queued. Returns how many runs that took."""
        runs = 0
        while keys := self.queued():
            for key in keys:
                self.run(key)
                runs += 1
            assert runs <= most, f"still busy after {runs} runs: {self.queued()[:5]} {self.outcomes}"
        return runs

    def scale(self) -> int:
        """Carry out the scale-up requests that were sent so far."""
        requests, self.requests[:] = list(self.requests), []
        for pool, epoch, token in requests:
            scale_up(self.services, pool, epoch, token)
        return len(requests)

    def settle(self, rounds: int = 20) -> None:
        """Let everything happen that happens by itself, until nothing does."""
        for _ in range(rounds):
            self.sync()
            if not self.drain() and not self.scale():
                return
        raise AssertionError(f"not settled after {rounds} rounds: {self.outcomes}")

    def due(self) -> None:
        """End every wait and lease now."""
        keys: Any = self.redis.zrange("{queue}timer", 0, -1)
        if keys:
            self.redis.zadd("{queue}timer", dict.fromkeys(keys, 1))
        self.queue.sweep_due()

    def other(self, **changes: Any) -> PortServices:
        """The services of a second worker."""
        return replace(self.services, **changes)

    # ---- looking

    def ledger(self, pool: str) -> LedgerView:
        return view(self.services.ledger(pool))

    def owners(self, pool: str) -> dict[str, list[tuple[str, int, str]]]:
        """Name -> (load balancer, port, state) of what it holds."""
        return {n: [(e.lb, e.port, str(e.state)) for e in es] for n, es in owners(self.services.ledger(pool))}

    def exists(self, name: str) -> bool:
        try:
            return bool(self.api.get(self.pod_path(name)))
        except NotFound:
            return False
