"""Redis is lost while pods are bound: nothing is granted before the ledger is rebuilt, and then everything is as the
world shows.
"""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta

import pytest

from berthmaster.routing import pod_key
from domain.kubernetes.names import ENDPOINTS, PORTS_STATE
from events.workqueue import LeasedKey
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import QUICK, Fleet
from tests.support.ports.world_checks import check_all
from workers.cloud.driver import GroupSettings
from workers.cloud.tags import CLUSTER, LOAD_BALANCER, OWNER, POOL, PORT, UID, WANT
from workers.port_audit.reconciler import audit
from workers.port_pools.reconciler import PortPoolReconciler
from workers.reconcile import LEASE, new_nonce, run_key
from workers.run import Run


def three_bound(fleet: Fleet) -> dict[str, object]:
    fleet.pool("arena")
    for n in range(3):
        fleet.pod(f"p{n}", "a=7777/UDP@arena,b=7778/TCP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    return {f"p{n}": fleet.shown(f"p{n}") for n in range(3)}


@pytest.mark.row("EV-10", "AL-19", "AL-20")
def test_after_a_flush_every_pod_keeps_its_ports_and_no_call_writes(fleet: Fleet, aws: Aws) -> None:
    before = three_bound(fleet)
    writes = {a: n for a, n in aws.counts().items() if not a.startswith("Describe")}
    fleet.redis.flushall()
    fleet.pod("new", "7777/UDP@arena", ip="10.0.0.9")
    assert fleet.run_pod("new") is None  # workers take nothing before the publisher has stamped
    fleet.sync()
    fleet.run_pod("new")
    assert fleet.state("new") == "Pending"  # nor is anything granted before the ledger is rebuilt
    assert {a: n for a, n in aws.counts().items() if not a.startswith("Describe")} == writes
    fleet.settle()
    assert {name: fleet.shown(name) for name in before} == before
    assert fleet.state("new") == "Bound"
    assert aws.counts()["CreateListener"] == writes["CreateListener"] + 1
    check_all(fleet, aws)


PODS = 5


class KeptRun(Run):
    """Counts how often it is asked to keep its lease."""

    def __init__(self, fleet: Fleet, key: str) -> None:
        taken = fleet.queue.take(key, LEASE, new_nonce(), requested=True)
        assert isinstance(taken, LeasedKey)
        super().__init__(fleet.queue, taken, LEASE, time.monotonic())
        self.kept = 0

    def keep(self, at_least: timedelta) -> None:
        self.kept += 1
        super().keep(at_least)


@pytest.mark.row("EV-10")
def test_the_lease_outlasts_a_list_of_many_pods(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 50,000 pods the list took longer than a lease: others took the key in turn, and no rebuild ever ended."""
    kept = list[int]()
    fleet.pool("arena")
    for n in range(PODS):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    for page in (500, 1):
        monkeypatch.setattr(fleet.api, "page", page)
        fleet.redis.flushall()
        fleet.sync()
        run = KeptRun(fleet, "portpool/arena")
        run_key(run, PortPoolReconciler(fleet.services), QUICK, lambda _: True)
        assert len(fleet.owners("arena")) == PODS
        kept.append(run.kept)
    assert kept[1] >= kept[0] + PODS - 1


@pytest.mark.row("FZ-05", "EV-10")
def test_pods_deleted_while_redis_was_away_leave_nothing(fleet: Fleet, aws: Aws) -> None:
    """Rule afterstamp."""
    three_bound(fleet)
    fleet.redis.flushall()
    fleet.delete("p0")
    fleet.settle()
    assert set(fleet.owners("arena")) == {f"{fleet.namespace}/p{n}" for n in (1, 2)}
    check_all(fleet, aws)


@pytest.mark.row("EV-10", "AL-02")
@pytest.mark.parametrize("at", range(6))
def test_a_bind_that_died_before_the_flush_is_cleaned_up_and_done_again(fleet: Fleet, aws: Aws, at: int) -> None:
    """Rule resync."""
    three_bound(fleet)
    fleet.pod("x", "a=7777/UDP@arena,b=7778/TCP@arena", ip="10.0.0.9")
    fleet.sync()
    fuse = Fuse(at, after=True)
    driver = fuse.guard(fleet.driver)
    with contextlib.suppress(Killed):
        fleet.run(
            pod_key(fleet.namespace, "x"), fleet.other(driver=lambda _: driver, pods=fuse.guard(fleet.services.pods))
        )
    fleet.redis.flushall()
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.state("x") == "Bound"
    assert len(fleet.shown("x")[1]) == 2
    check_all(fleet, aws)


@pytest.mark.row("EV-10", "EV-09")
def test_a_run_that_began_before_the_flush_writes_nothing_after_the_rebuild(fleet: Fleet, aws: Aws) -> None:
    """Rule incarnation."""
    three_bound(fleet)
    fleet.pod("x", "7777/UDP@arena", ip="10.0.0.9")
    fleet.sync()

    def flush_and_rebuild() -> None:
        fleet.redis.flushall()
        fleet.sync()
        for key in fleet.queued():
            if not key.endswith("/x"):
                fleet.run(key)

    driver = Interposed(fleet.driver, "register", flush_and_rebuild)
    assert fleet.run(pod_key(fleet.namespace, "x"), fleet.other(driver=lambda _: driver)) is None
    assert fleet.state("x") in ("", "Pending")  # the record was refused, so nothing was published
    fleet.settle()
    assert fleet.state("x") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("EV-10", "AL-19")
def test_a_collision_is_resolved_in_favour_of_the_clouds_tag(fleet: Fleet, aws: Aws) -> None:
    """Rules surplus, tagrule: an annotation says that a port is p1's, the listener on it says p0's: p1 gets another."""
    three_bound(fleet)
    stolen = fleet.shown("p0")[1]
    text = fleet.api.get(fleet.pod_path("p0"))["metadata"]["annotations"][ENDPOINTS]
    fleet.api.patch(fleet.pod_path("p1"), {"metadata": {"annotations": {ENDPOINTS: text, PORTS_STATE: "Bound"}}})
    fleet.redis.flushall()
    fleet.settle()
    assert fleet.shown("p0")[1] == stolen
    assert fleet.state("p1") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("FZ-07")
def test_orphans_of_ours_go_after_the_grace_and_others_never(fleet: Fleet, aws: Aws) -> None:
    three_bound(fleet)
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    ours = {
        CLUSTER: fleet.cluster,
        POOL: "arena",
        UID: "gone",
        OWNER: f"{fleet.namespace}/gone",
        WANT: "1/TCP",
        LOAD_BALANCER: lb.name,
    }
    for port, tags in (
        (30500, ours | {PORT: "30500"}),
        (30501, {"made-by": "hand"}),
        (30502, ours | {PORT: "30502", CLUSTER: "other"}),
    ):
        group = aws.client().create_target_group(
            Name=f"bm-{port}-{fleet.cluster}", Protocol="TCP", Port=1, VpcId=aws.ids.vpc, TargetType="ip",
            Tags=[{"Key": k, "Value": v} for k, v in tags.items()],
        )["TargetGroups"][0]["TargetGroupArn"]  # fmt: skip
        fleet.driver.ensure_listener(lb.arn, port, "TCP", group, tags)
    audit(fleet.services)
    fleet.settle()
    ports = {listener.port for listener in fleet.driver.listeners(lb.arn)}
    assert 30500 not in ports
    assert {30501, 30502} <= ports
    assert fleet.owners("arena").keys() == {f"{fleet.namespace}/p{n}" for n in range(3)}


@pytest.mark.row("FZ-07")
def test_an_orphan_younger_than_the_grace_is_left_alone(fleet: Fleet, aws: Aws) -> None:
    three_bound(fleet)
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    tags = {
        CLUSTER: fleet.cluster,
        POOL: "arena",
        UID: "gone",
        OWNER: "a/gone",
        WANT: "1/TCP",
        LOAD_BALANCER: lb.name,
        PORT: "30500",
    }
    group = fleet.driver.ensure_target_group(f"bm-lone-{fleet.cluster}", "TCP", 1, GroupSettings(aws.ids.vpc), tags)
    audit(fleet.other(orphan_grace=timedelta(minutes=5)))
    fleet.settle()
    assert fleet.driver.find_target_group(f"bm-lone-{fleet.cluster}")
    audit(fleet.services)
    fleet.settle()
    assert fleet.driver.find_target_group(f"bm-lone-{fleet.cluster}") is None
    assert group


def test_a_listener_deleted_by_hand_is_made_again_on_the_same_port(fleet: Fleet, aws: Aws) -> None:
    """Rule audit."""
    before = three_bound(fleet)
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    fleet.driver.delete_listener(fleet.driver.listeners(lb.arn)[0].arn)
    audit(fleet.services)
    fleet.settle()
    assert {name: fleet.shown(name) for name in before} == before
    check_all(fleet, aws)
