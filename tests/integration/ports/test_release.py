"""What is given back, when, and that nothing else is touched."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from tests.support.registries import count
from tests.support.waiting import eventually
from workers.cloud.aws.metrics import CALLS
from workers.cloud.call_budget import OverBudget
from workers.cloud.tags import OWNER, PORT, UID, WANT
from workers.port_audit.reconciler import audit


@pytest.mark.row("FZ-08", "FZ-02", "BD-02")
def test_a_deleted_pod_leaves_nothing_and_its_port_is_free(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.pod("plain", None, ip="10.0.0.2")
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    assert fleet.owners("arena") == {}
    assert fleet.ledger("arena").allocated == 0
    assert fleet.state("plain") == ""
    assert fleet.events("plain") == []
    assert "finalizers" not in fleet.api.get(fleet.pod_path("plain"))["metadata"]
    check_all(fleet, aws)


@pytest.mark.row("BD-13")
def test_an_opt_out_releases_everything_and_clears_the_outputs(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.annotate("a", ports=None)
    fleet.settle()
    assert fleet.shown("a") == ("", [], "")
    assert fleet.owners("arena") == {}
    check_all(fleet, aws)


@pytest.mark.row("BD-03")
def test_a_mistake_in_the_annotation_costs_no_bound_port(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before = fleet.shown("a")[1]
    fleet.annotate("a", ports="7777/UPD@arena")
    fleet.settle()
    state, endpoints, message = fleet.shown("a")
    assert (state, endpoints) == ("Failed", before)
    assert "entry 1" in message
    assert "UPD" in message
    fleet.annotate("a", ports="7777/UDP@arena")
    fleet.settle()
    assert fleet.shown("a") == ("Bound", before, "")


@pytest.mark.row("BD-12")
def test_a_disabled_pod_keeps_its_listener_and_loses_its_target(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before = fleet.shown("a")[1]
    fleet.annotate("a", ports_enabled="false")
    fleet.settle()
    assert fleet.state("a") == "Disabled"
    group = aws.driver().target_groups_owned(fleet.cluster)[0]
    assert [t for t in aws.driver().targets(group.arn) if t.health != "draining"] == []
    fleet.annotate("a", ports_enabled="true")
    fleet.settle()
    assert fleet.shown("a") == ("Bound", before, "")


@pytest.mark.row("FZ-03")
@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError", "InternalFailure", "Throttling"])
def test_a_failed_delete_keeps_the_port_out_of_use(fleet: Fleet, aws: Aws, code: str) -> None:
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.delete("a")
    aws.fault("DeleteListener", code=code, times=1)
    counted = failed_deletes(code)
    fleet.sync()
    fleet.drain()
    assert failed_deletes(code) == counted + 1
    assert [state for *_, state in fleet.owners("arena")[f"{fleet.namespace}/a"]] == ["releasing"]
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.sync()
    fleet.run_pod("b")
    assert fleet.shown("b")[1][0]["port"] == 30001
    fleet.due()
    fleet.settle()
    assert set(fleet.owners("arena")) == {f"{fleet.namespace}/b"}
    check_all(fleet, aws)


def failed_deletes(code: str) -> float:
    return count(CALLS, action="DeleteListener", code=code)


@pytest.mark.row("CL-03", "EV-07")
def test_a_release_that_waits_for_the_call_budget_repeats_no_call(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before = aws.counts()
    fleet.delete("a")
    fleet.sync()
    for action in ("delete_listener", "delete_target_group", "delete_target_group"):
        fleet.run_pod_with("a", Interposed(fleet.driver, action, over_budget))
        fleet.due()
    fleet.settle()
    assert fleet.owners("arena") == {}
    made = {action: n - before.get(action, 0) for action, n in aws.counts().items() if n != before.get(action, 0)}
    assert made == {"DeleteListener": 1, "DeleteTargetGroup": 1}


@pytest.mark.row("FZ-06", "EV-09")
def test_a_listener_that_a_late_call_makes_during_a_release_goes_as_well(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    listener = fleet.driver.listeners(lb.arn)[0]
    fleet.delete("a")
    fleet.sync()

    def late_call() -> None:
        fleet.driver.ensure_listener(lb.arn, listener.port, "UDP", listener.target_group_arn, listener.tags)

    fleet.run_pod_with("a", Interposed(fleet.driver, "delete_target_group", late_call))
    fleet.due()
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.owners("arena") == {}
    assert fleet.driver.listeners(lb.arn) == []
    check_all(fleet, aws)


def over_budget() -> None:
    raise OverBudget("no token yet", timedelta(milliseconds=1))


@pytest.mark.row("BD-23")
def test_a_pod_recreated_under_its_name_gets_a_port_and_the_old_ones_go(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    for n in range(12):
        fleet.pod("a", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
        if n % 3 == 0:
            fleet.settle()
        elif n % 3 == 1:
            fleet.sync()
        fleet.delete("a")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.1.1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert len(fleet.owners("arena")[f"{fleet.namespace}/a"]) == 1
    check_all(fleet, aws)


@pytest.mark.row("BD-31")
def test_a_conflict_is_retried_and_is_no_failure(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    fleet.annotate("a", unrelated="1")  # a newer version than the snapshot that the run decides from
    fleet.drain()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert "PortsFailed" not in fleet.events("a")


@pytest.mark.row("BD-28")
def test_an_event_is_made_once_a_transition(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena")
    fleet.settle()
    for _ in range(3):
        fleet.queue.touch([f"pod/{fleet.namespace}/a"])
        fleet.settle()
    assert fleet.events("a").count("PortsWaitBackend") == 1
    fleet.address("a", "10.0.0.1")
    fleet.settle()
    assert fleet.events("a").count("PortsBound") == 1


def test_a_settled_pod_costs_no_call(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before = aws.counts()
    quiet = fleet.other(pods=None, pools=None, events=None)  # a settled run must not need Kubernetes
    fleet.queue.touch([f"pod/{fleet.namespace}/a"])
    fleet.run(f"pod/{fleet.namespace}/a", quiet)
    assert aws.counts() == before
    assert fleet.queued() == []


@pytest.mark.row("FZ-09", "FZ-08")
def test_a_deleted_namespace_leaves_nothing_in_the_cloud_and_nobody_in_the_ledger(fleet: Fleet, aws: Aws) -> None:
    create = {"enabled": True, "maxLoadBalancers": 1, "parameters": {"subnets": list(aws.ids.subnets)}}
    fleet.pool("arena", endPort=30003, autoCreate=create)
    fleet.pod("bound", "a=7777/UDP@arena,b=80/TCP@arena", ip="10.0.0.1")
    fleet.pod("isolated", "7777/UDP@arena", ip="10.0.0.2", ports_enabled="false")
    fleet.pod("addressless", "7777/UDP@arena")
    fleet.settle()
    fleet.pod("waiting", "7777/UDP@arena", ip="10.0.0.3")
    fleet.settle()
    assert fleet.state("waiting") == "NoPortAvailable"
    fleet.api.delete(f"/api/v1/namespaces/{fleet.namespace}")
    eventually(lambda: not fleet.api.list(f"/api/v1/namespaces/{fleet.namespace}/pods")["items"], timeout=60)
    fleet.settle()
    assert (fleet.owners("arena"), fleet.ledger("arena").waiting) == ({}, 0)
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    assert fleet.driver.listeners(lb.arn) == []
    assert fleet.driver.target_groups_owned(fleet.cluster) == []


@pytest.mark.row("FZ-02", "FZ-03", "FZ-05", "BD-19")
@pytest.mark.parametrize("lost", [[UID], [OWNER], [PORT], [UID, OWNER, PORT, WANT]], ids="+".join)
def test_a_listener_that_lost_the_tags_of_its_owner_goes_with_its_port(fleet: Fleet, aws: Aws, lost: list[str]) -> None:
    """Redis is lost as well: else the ledger would know its ARN."""
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    aws.client().remove_tags(ResourceArns=[fleet.driver.listeners(lb.arn)[0].arn], TagKeys=lost)
    fleet.redis.flushall()
    fleet.delete("a")
    fleet.settle()
    audit(fleet.services)
    for _ in range(3):
        fleet.due()
        fleet.settle()
    assert (fleet.driver.listeners(lb.arn), fleet.driver.target_groups_owned(fleet.cluster)) == ([], [])
    assert fleet.owners("arena") == {}
