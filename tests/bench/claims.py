"""Claim -> `Bound`: from the version in which a claim is there to the version whose status says so, on warm pools of
100 and of 4,400 pods: with those that are refilled, just below the 5,000 that a pool may have.

Rounds of as many claims as the small pool has warm pods. Both are refilled between the rounds and while claims come.
Then claim -> endpoints: from the call of `Fleet.claim` to its return, on warm pods that have a port each.

Real are the publisher, two worker processes, beat, Redis, and the sandbox's Kubernetes API and kubelet.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from berthmaster.claims.client import ClaimedPod
from berthmaster.client import Fleet
from berthmaster.kinds import POD_CLAIM
from compose.sandbox.kube.apply import apply
from compose.sandbox.stack import Stack
from compose.sandbox.workload import pool as port_pool
from domain.kubernetes.names import PORTS, PORTS_STATE
from domain.kubernetes.objects import KubeObject
from domain.ports.pod import PortsState
from events.kube.api import KubeApi
from events.publisher.resources import resource_of
from events.publisher.watch import Batch, Listing, ResourceWatch
from events.settings import WatchSettings
from tests.bench.measuring import Figure, Report, Tell, percentile
from tests.support.waiting import eventually

NAME: Final = "claims"
RATE: Final = 50.0
ROOT: Final = "/apis/berthmaster.dev/v1alpha1/namespaces"
API: Final = "berthmaster.dev/v1alpha1"
CALLS: Final = 10.0
"""Calls of `Fleet.claim` a second."""
PARTS: Final = ("p50", "p99")
HANDS: Final = 8
Json = dict[str, Any]


def run(quick: bool, tell: Tell) -> Report:
    small, large, rounds = (100, 1000, 1) if quick else (100, 4400, 5)
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), flower=False, throttle=False) as stack:
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=60)
        api = stack.kube.api("bench")
        found = {pods: on_pool(api, stack, pods, small, rounds, tell) for pods in (small, large)}
        called = with_ports(api, stack, 20 if quick else 100, tell)
        api.close()
    details = {f"{pods} pods": told for pods, told in found.items()}
    return Report(NAME, (*figures(found), *of_calls(called)), details | {"Fleet.claim": called})


def on_pool(api: KubeApi, stack: Stack, pods: int, count: int, rounds: int, tell: Tell) -> Json:
    with WarmPool(api, f"bench-{pods}", pods, pods + (rounds + 1) * count) as pool:
        told = []
        for turn in range(rounds + 1):
            eventually(lambda: whole(stack) and pool.idle() >= pods, timeout=600, every=0.5)
            tell(f"{count} claims at {RATE:g}/s on {pods} warm pods")
            told.append(pool.claim([f"claim-{turn}-{n}" for n in range(count)], RATE, stack))
    return joined(told[1:])  # the first one warms up


def with_ports(api: KubeApi, stack: Stack, count: int, tell: Tell) -> Json:
    """Time calls of `Fleet.claim` in ms, on as many warm pods with a port each."""
    ports = port_pool(count, stack.remote_aws.network())
    apply(api, [ports])
    asks = {PORTS: f"game=7777/UDP@{ports['metadata']['name']}"}
    with WarmPool(api, "bench-ports", count, 2 * count, asks) as pool, Fleet(stack.redis.url) as fleet:
        eventually(lambda: whole(stack) and pool.with_ports() >= count, timeout=600, every=0.5)
        tell(f"{count} calls of Fleet.claim at {CALLS:g}/s")
        started, latencies, pods = time.monotonic(), list[float](), list[ClaimedPod]()

        def call(number: int) -> None:
            time.sleep(max(0.0, started + number / CALLS - time.monotonic()))
            began = time.monotonic()
            pods.append(fleet.claim(f"{pool.namespace}/warm", timeout=timedelta(minutes=2)))
            latencies.append((time.monotonic() - began) * 1000)

        with ThreadPoolExecutor(HANDS) as hands:
            list(hands.map(call, range(count)))
        for pod in pods:
            pod.release()
    endpoints = {endpoint.address for pod in pods for endpoint in pod.endpoints}
    return {"p50": percentile(latencies, 0.5), "p99": percentile(latencies, 0.99), "endpoints": len(endpoints)}


def of_calls(called: Json) -> tuple[Figure, ...]:
    note = f"{called['endpoints']} endpoints"
    return tuple(Figure(f"Fleet.claim -> endpoints at {CALLS:g}/s, {p}", called[p], "ms", note=note) for p in PARTS)


def joined(rounds: Sequence[Json]) -> Json:
    latencies = [latency for each in rounds for latency in each["latencies"]]
    count, took = len(latencies), sum(each["took"] for each in rounds)
    asking = sum(each["asking"] for each in rounds)
    return {
        "p50": percentile(latencies, 0.5),
        "p99": percentile(latencies, 0.99),
        "asked_per_second": count / asking,
        "bound_per_second": count / took,
    }


class WarmPool:
    """A namespace with one pool without slots; `seen` has when each claim was first there, and first Bound."""

    def __init__(self, api: KubeApi, namespace: str, pods: int, most: int, notes: Json | None = None) -> None:
        self.api, self.namespace = api, namespace
        self.stop, self.listed = Event(), Event()
        self.seen: dict[str, dict[str, float]] = {"made": {}, "Bound": {}}
        self.thread = Thread(target=self.watch, daemon=True)
        template = {"metadata": {"annotations": notes or {}}, "spec": {"containers": [{"name": "db", "image": "db"}]}}
        self.spec = {"template": template, "slots": [], "maxIdle": pods, "maxReplicas": most}

    def __enter__(self) -> WarmPool:
        apply(self.api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}])
        self.thread.start()
        assert self.listed.wait(20)
        self.create("podpools", "PodPool", "warm", self.spec)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join(10)

    def create(self, plural: str, kind: str, name: str, spec: Json) -> None:
        body = {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.api.create(f"{ROOT}/{self.namespace}/{plural}", body)

    def idle(self) -> int:
        pods = self.api.list(f"/api/v1/namespaces/{self.namespace}/pods", labelSelector="berthmaster.dev/phase=Idle")
        return len(pods["items"])

    def with_ports(self) -> int:
        """Return how many idle pods have their ports."""
        pods = self.api.list(f"/api/v1/namespaces/{self.namespace}/pods", labelSelector="berthmaster.dev/phase=Idle")
        return sum(KubeObject(pod).annotations.get(PORTS_STATE) == PortsState.BOUND for pod in pods["items"])

    def claim(self, names: Sequence[str], per_second: float | None, stack: Stack, timeout: float = 120) -> Json:
        """Latencies in ms; in s, how long it took to ask, and from the first request to the last bind.

        `per_second` None: as fast as possible. `timeout`: seconds that all may take once they were asked for.
        """
        started = time.monotonic()

        def at_its_time(numbered: tuple[int, str]) -> None:
            if per_second:
                time.sleep(max(0.0, started + numbered[0] / per_second - time.monotonic()))
            self.create("podclaims", "PodClaim", numbered[1], {"poolName": "warm"})

        with ThreadPoolExecutor(HANDS) as hands:
            list(hands.map(at_its_time, enumerate(names)))
        asking = time.monotonic() - started
        eventually(lambda: whole(stack) and set(names) <= self.seen["Bound"].keys(), timeout, every=0.05)
        took = time.monotonic() - started
        latencies = [(self.seen["Bound"][name] - self.seen["made"][name]) * 1000 for name in names]
        return {"latencies": latencies, "asking": asking, "took": took}

    def watch(self) -> None:
        for change in ResourceWatch(
            self.api, resource_of(POD_CLAIM, self.namespace), WatchSettings(), self.stop
        ).follow():
            now = time.monotonic()
            if isinstance(change, Listing):
                self.listed.set()
            elif isinstance(change, Batch):
                for event in change.events:
                    self.note(event["object"], now)

    def note(self, claim: Json, now: float) -> None:
        name = claim["metadata"]["name"]
        self.seen["made"].setdefault(name, now)
        if (claim.get("status") or {}).get("phase") == "Bound":
            self.seen["Bound"].setdefault(name, now)


def whole(stack: Stack) -> bool:
    """Raises when a process has ended by itself."""
    stack.check()
    return True


def figures(found: dict[int, Json]) -> tuple[Figure, ...]:
    (small, few), (large, many) = found.items()
    asked = f"asked at {many['asked_per_second']:.0f}/s, bound at {many['bound_per_second']:.0f}/s"
    return (
        Figure(f"claim -> Bound at {RATE:g}/s, p50, {small} pods", few["p50"], "ms"),
        Figure(f"claim -> Bound at {RATE:g}/s, p99, {small} pods", few["p99"], "ms", at_most=250),
        Figure(f"claim -> Bound at {RATE:g}/s, p50, {large} pods", many["p50"], "ms", note=asked),
        Figure(f"claim -> Bound at {RATE:g}/s, p99, {large} pods", many["p99"], "ms", at_most=250),
        Figure(f"p99, {large} pods against {small}", many["p99"] / few["p99"], "x", at_most=1.5),
        Figure("claims bound", many["bound_per_second"], "/s"),
    )
