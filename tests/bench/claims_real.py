"""Claims on the real API server with a player of kubelets: one alone, bursts, and steady rates, on a pool of 200.

Each scene has a namespace with a full pool of its own. A scene ends when all its claims are Bound and the pool is full
again. Requests are counted in the audit log of the API server, so the counts are exact: everything that our accounts
asked for but watches and leases. CPU time is that of whole processes.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import orjson
import psutil

from compose.sandbox.daemon import Daemon
from compose.sandbox.kube.apply import apply
from compose.sandbox.kube.real import RealKube
from compose.sandbox.stack import Stack
from domain.claims.pod import Phase
from domain.kubernetes.names import PHASE
from domain.kubernetes.objects import KubeObject
from events.kube.api import KubeApi
from events.kube.errors import Unavailable
from events.publisher.resources import pool_pods
from events.publisher.watch import Batch, Listing, ResourceWatch
from events.settings import WatchSettings
from tests.bench.claims import ROOT, WarmPool, whole
from tests.bench.measuring import Figure, Report, Tell, percentile
from tests.support.waiting import eventually

NAME: Final = "claims_real"
WARM: Final = 200
LONGEST: Final = 300.0
"""Seconds that the claims of a scene, and the refill after them, may take."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """`count` claims at a rate, None for all at once."""

    name: str
    count: int
    per_second: float | None = None


SCENES: Final = (
    Scene("one", 10, 1),
    Scene("100 at once", 100),
    Scene("300 at once", 300),
    Scene("10/s", 300, 10),
    Scene("20/s", 600, 20),
    Scene("40/s", 1200, 40),
)
QUICK: Final = (Scene("one", 3, 1), Scene("30 at once", 30), Scene("20/s", 100, 20))


def run(quick: bool, tell: Tell) -> Report:
    warm, scenes = (30, QUICK) if quick else (WARM, SCENES)
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack(Path(folder), api="real", flower=False, throttle=False) as stack,
    ):
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=120)
        api = stack.kube.api("bench")
        api.timeout = LONGEST  # a collection is deleted one by one
        results = {scene.name: play(scene, warm, api, stack, tell) for scene in scenes}
        api.close()
    return Report(NAME, figures(results), results)


def play(scene: Scene, warm: int, api: KubeApi, stack: Stack, tell: Tell) -> Json:
    namespace = f"bench-{scene.name.replace(' ', '-').replace('/', '-')}"
    admit(api, namespace)
    with WarmPool(api, namespace, warm, warm + scene.count) as pool, counted_pods(api, namespace) as pods:

        def full() -> bool:
            return whole(stack) and pods.warm >= warm

        eventually(full, timeout=LONGEST, every=0.2)
        meter = Meter(stack)
        before, pods.fewest = meter.read(), pods.warm
        claims = pool.claim([f"claim-{n}" for n in range(scene.count)], scene.per_second, stack, LONGEST)
        ready = meter.read()
        eventually(full, timeout=LONGEST, every=0.2)
        refilled, fewest = meter.read(), pods.fewest
        eventually(lambda: emptied(api, f"{ROOT}/{namespace}/podclaims"), timeout=LONGEST)
        api.delete(f"{ROOT}/{namespace}/podpools/warm")
        eventually(lambda: whole(stack) and pods.all == 0, timeout=LONGEST, every=0.5)
    result = {
        "all ready, s": claims["took"],
        "p50, ms": percentile(claims["latencies"], 0.5),
        "p99, ms": percentile(claims["latencies"], 0.99),
        "fewest warm": fewest,
        **{f"until ready: {name}": value / scene.count for name, value in spent(before, ready).items()},
        **{f"with refill: {name}": value / scene.count for name, value in spent(before, refilled).items()},
        "seconds with refill": refilled["seconds"] - before["seconds"],
    }
    tell(f"{scene.name}: {', '.join(f'{name} {value:.4g}' for name, value in result.items() if ' http ' not in name)}")
    return result


def emptied(api: KubeApi, path: str) -> bool:
    """A server with much to do gives up a large deletion in the middle."""
    with suppress(Unavailable):
        api.delete(path)
    return not api.list(path)["items"]


def admit(api: KubeApi, namespace: str) -> None:
    """Create the namespace, and let the workers have pod pools there."""
    apply(api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, binding(namespace)])


def binding(namespace: str) -> Json:
    name, group = "berthmaster-pod-pools", "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "worker", "namespace": "berthmaster"}],
    }


class Pods:
    """Counts the pods of a namespace by a watch. `warm`: Idle and ready now; `fewest`: the fewest since it was set."""

    def __init__(self) -> None:
        self.names: dict[str, bool] = {}
        self.warm = self.fewest = 0

    @property
    def all(self) -> int:
        return len(self.names)

    def note(self, event: Json) -> None:
        pod = KubeObject(event["object"])
        if event["type"] == "DELETED":
            self.names.pop(pod.name, None)
        else:
            self.names[pod.name] = pod.ready and not pod.deleting and pod.labels.get(PHASE) == Phase.IDLE
        self.warm = sum(self.names.values())
        self.fewest = min(self.fewest, self.warm)


@contextmanager
def counted_pods(api: KubeApi, namespace: str) -> Iterator[Pods]:
    """Follow the pods of a namespace that has none yet."""
    pods, stop, listed = Pods(), Event(), Event()

    def follow() -> None:
        for change in ResourceWatch(api, pool_pods(namespace), WatchSettings(), stop).follow():
            if isinstance(change, Listing):
                listed.set()
            elif isinstance(change, Batch):
                for event in change.events:
                    pods.note(event)

    thread = Thread(target=follow, daemon=True)
    thread.start()
    assert listed.wait(20)
    yield pods
    stop.set()
    thread.join(10)


class Meter:
    """Reads what a stack on the real API server has spent so far."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.offset, self.requests = stack, 0, Counter[str]()

    def read(self) -> dict[str, float]:
        """`cpu ours`, `cpu api server` (with etcd), and `seconds` now; `requests`, and of each kind `http get pods`."""
        kube = self.stack.kube
        assert isinstance(kube, RealKube)
        self._follow(kube.audit_log)
        stack = self.stack
        return {
            "cpu ours": sum(map(cpu_time, [stack.publisher, stack.beat, *stack.workers])),
            "cpu api server": sum(map(cpu_time, [kube.etcd, kube.front])),
            "seconds": time.monotonic(),
            "requests": self.requests.total(),
            **{f"http {name}": count for name, count in self.requests.items()},
        }

    def _follow(self, log: Path) -> None:
        with log.open("rb") as lines:
            lines.seek(self.offset)
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                self.offset += len(line)
                self._count(orjson.loads(line))

    def _count(self, entry: Json) -> None:
        of = entry.get("objectRef") or {}
        if entry["stage"] == "ResponseComplete" and entry["verb"] != "watch" and of.get("resource") != "leases":
            parts = (entry["verb"], of.get("resource", "other"), of.get("subresource"))
            self.requests[" ".join(filter(None, parts))] += 1


def cpu_time(daemon: Daemon) -> float:
    """Seconds of user and system time that the process has used so far."""
    assert daemon.process
    times = psutil.Process(daemon.process.pid).cpu_times()
    return float(times.user + times.system)


def spent(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: value - before.get(name, 0) for name, value in after.items() if name != "seconds"}


def figures(results: dict[str, Json]) -> tuple[Figure, ...]:
    return tuple(figure for name, result in results.items() for figure in of_scene(name, result))


def of_scene(name: str, result: Json) -> Iterator[Figure]:
    steady = name.endswith("/s")
    if name == "one":
        yield Figure("one claim alone, ready after", result["p50, ms"], "ms", at_most=40)
    elif not steady:
        yield Figure(f"{name}, all ready after", result["all ready, s"], "s", at_most=ALL_READY.get(name))
    else:
        budget = name == "20/s"
        yield Figure(f"{name}, ready after, p50", result["p50, ms"], "ms", at_most=100 if budget else None)
        yield Figure(f"{name}, ready after, p99", result["p99, ms"], "ms", at_most=500 if budget else None)
        yield Figure(f"{name}, fewest warm pods", result["fewest warm"], "", at_least=100 if budget else None)
    yield Figure(f"{name}, requests a claim until ready", result["until ready: requests"], "", at_most=6)
    yield Figure(f"{name}, requests a claim with refill", result["with refill: requests"], "", at_most=9)
    ours, theirs = (result[f"with refill: cpu {of}"] * 1000 for of in ("ours", "api server"))
    yield Figure(f"{name}, CPU of ours a claim with refill", ours, "ms", at_most=15, note=f"API server {theirs:.0f} ms")


ALL_READY: Final = {"100 at once": 2.0, "300 at once": 5.0}
