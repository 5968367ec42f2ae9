"""A fleet in which one process after the other has a wall clock that is far off: users see nothing of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
import pytest

from compose.sandbox.stack import Stack
from compose.sandbox.workload import NAMESPACE
from events.kube.api import KubeApi
from tests.support.faults.shifted_clock import ShiftedClock
from tests.support.servers.forked import ForkedStack
from tests.support.servers.whole import IMPATIENT, PATIENCE
from tests.support.waiting import eventually

Json = dict[str, Any]
GROUP = f"/apis/berthmaster.dev/v1alpha1/namespaces/{NAMESPACE}"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/berthmaster-publisher"
TEMPLATE = {"spec": {"containers": [{"name": "game", "image": "game:1"}]}}
OFF = pytest.mark.parametrize("seconds", [600, -600])


@dataclass
class SkewedFleet:
    """One worker and one publisher, each with a clock of its own, and Redis with another."""

    stack: Stack
    clocks: dict[str, ShiftedClock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        daemons = {"worker": self.stack.workers[0], "publisher": self.stack.publisher, "redis": self.stack.redis.daemon}
        for name, daemon in daemons.items():
            (self.stack.directory / name).mkdir(parents=True, exist_ok=True)
            self.clocks[name] = ShiftedClock(self.stack.directory / name)
            daemon.env |= self.clocks[name].variables

    @property
    def api(self) -> KubeApi:
        return self.stack.kube.api("tests")

    def create(self, kind: str, name: str, **spec: Any) -> None:
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.api.create(f"{GROUP}/{kind.lower()}s", body)

    def pods(self, pool: str) -> dict[str, Json]:
        """By uid, without those that terminate."""
        items = self.api.list(PODS, labelSelector=f"berthmaster.dev/pool={pool}")["items"]
        return {pod["metadata"]["uid"]: pod for pod in items if "deletionTimestamp" not in pod["metadata"]}

    def runs(self, key: str) -> int:
        """How many runs of the key the worker has ended."""
        lines = self.stack.workers[0].log.read_bytes().splitlines()
        told = [orjson.loads(line) for line in lines if line.startswith(b"{") and b"key_reconciled" in line]
        return sum(each.get("key") == key for each in told)

    def has_run(self, key: str, times: int) -> bool:
        return self.runs(key) >= times

    def looks_again(self, key: str, kind: str, name: str) -> None:
        """After two more runs, which began after this."""
        before = self.runs(key)
        for times in (1, 2):
            notes = {"metadata": {"annotations": {"test/look": f"{time.monotonic()}"}}}
            self.api.patch(f"{GROUP}/{kind}/{name}", notes)
            eventually(partial(self.has_run, key, before + times), PATIENCE)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SkewedFleet]:
    settings = IMPATIENT | {"BERTHMASTER_LOG__LEVEL": "DEBUG"}
    with ForkedStack(tmp_path_factory.mktemp("skewed"), flower=False, workers=1, settings=settings) as stack:
        made = SkewedFleet(stack)
        stack.start()
        made.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        eventually(stack.working, PATIENCE)
        yield made
        stack.check()


@pytest.fixture(autouse=True)
def right_again(fleet: SkewedFleet) -> Iterator[None]:
    yield
    for clock in fleet.clocks.values():
        clock.move(0)


def some_pods(fleet: SkewedFleet, pool: str, number: int) -> None:
    eventually(lambda: len(fleet.pods(pool)) == number, PATIENCE)


@OFF
@pytest.mark.row("TM-04")
def test_a_worker_ten_minutes_off_removes_no_booting_pod(fleet: SkewedFleet, seconds: int) -> None:
    name = f"boot{seconds}"
    fleet.clocks["worker"].move(seconds)
    fleet.create("PodPool", name, template=TEMPLATE, minReplicas=2, maxReplicas=2, readyTimeout="300s")
    some_pods(fleet, name, 2)
    booting = fleet.pods(name).keys()
    fleet.looks_again(f"podpool/{NAMESPACE}/{name}", "podpools", name)
    assert fleet.pods(name).keys() == booting


def bound(fleet: SkewedFleet, name: str) -> str:
    """The pod that a claim has in a pool of one warm pod."""
    pool = {"slots": [], "minReplicas": 0, "maxReplicas": 1, "maxIdle": 1, "minDrain": "240s", "drainTimeout": "300s"}
    fleet.create("PodPool", name, template=TEMPLATE, **pool)
    fleet.create("PodClaim", name, poolName=name)
    pods = fleet.pods

    def taken() -> bool:
        return any("berthmaster.dev/claimed-by" in pod["metadata"]["labels"] for pod in pods(name).values())

    eventually(taken, PATIENCE)
    (pod,) = (p for p in pods(name).values() if "berthmaster.dev/claimed-by" in p["metadata"]["labels"])
    return str(pod["metadata"]["name"])


@OFF
@pytest.mark.row("TM-04")
def test_a_drain_has_its_true_length_for_a_worker_ten_minutes_off(fleet: SkewedFleet, seconds: int) -> None:
    """As a second worker that finds the time of the first."""
    name = f"drain{seconds}"
    pod = bound(fleet, name)
    fleet.api.delete(f"{GROUP}/podclaims/{name}")
    eventually(lambda: labels(fleet, pod).get("berthmaster.dev/phase") == "Draining", PATIENCE)
    fleet.clocks["worker"].move(seconds)
    fleet.looks_again(f"podpool/{NAMESPACE}/{name}", "podpools", name)
    assert labels(fleet, pod)["berthmaster.dev/phase"] == "Draining"
    assert "berthmaster.dev/drain" not in fleet.api.get(f"{PODS}/{pod}")["metadata"]["annotations"]


def labels(fleet: SkewedFleet, pod: str) -> Json:
    return dict(fleet.api.get(f"{PODS}/{pod}")["metadata"]["labels"])


@pytest.mark.row("TM-04")
def test_a_claim_keeps_its_terminating_pod_when_the_worker_is_ten_minutes_ahead(fleet: SkewedFleet) -> None:
    pod = bound(fleet, "leave")
    fleet.clocks["worker"].move(600)
    fleet.api.patch(f"{PODS}/{pod}", {"metadata": {"finalizers": ["test/stays"]}})
    fleet.api.delete(f"{PODS}/{pod}", {"gracePeriodSeconds": 300})
    fleet.looks_again(f"podclaim/{NAMESPACE}/leave", "podclaims", "leave")
    claim = fleet.api.get(f"{GROUP}/podclaims/leave")
    assert claim["spec"]["podName"] == pod
    assert labels(fleet, pod)["berthmaster.dev/claimed-by"] == claim["metadata"]["uid"]
    fleet.api.patch(f"{PODS}/{pod}", {"metadata": {"finalizers": None}})


@pytest.mark.row("TM-04")
def test_a_publisher_keeps_its_lease_and_publishes_when_its_clock_jumps(fleet: SkewedFleet) -> None:
    before = last = fleet.api.get(LEASE)["spec"]
    for number, seconds in enumerate((3600, -3600)):
        fleet.clocks["publisher"].move(seconds)
        name = f"late{number}"
        fleet.create("PodPool", name, template=TEMPLATE, minReplicas=1, maxReplicas=1, readyTimeout="300s")
        some_pods(fleet, name, 1)
        after = renewed(fleet, last)
        assert all(after[field] == before[field] for field in ("holderIdentity", "leaseTransitions", "acquireTime"))
        assert after["renewTime"] > last["renewTime"]
        last = after
    assert fleet.stack.publishes()


def renewed(fleet: SkewedFleet, last: Json) -> Json:
    eventually(lambda: fleet.api.get(LEASE)["spec"] != last, PATIENCE)
    return dict(fleet.api.get(LEASE)["spec"])


@pytest.mark.row("TM-03")
def test_the_fleet_goes_on_when_time_of_redis_goes_back(fleet: SkewedFleet) -> None:
    fleet.create("PodPool", "back", template=TEMPLATE, minReplicas=1, maxReplicas=2, readyTimeout="300s")
    some_pods(fleet, "back", 1)
    fleet.clocks["redis"].move(-600)
    before = fleet.runs(f"podpool/{NAMESPACE}/back")
    eventually(lambda: fleet.runs(f"podpool/{NAMESPACE}/back") > before + 5, PATIENCE)  # more than events ask for
