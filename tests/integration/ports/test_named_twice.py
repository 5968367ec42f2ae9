"""A created load balancer that spec.loadBalancers names as well."""

from __future__ import annotations

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.idle_pool import DELAY, look, there
from tests.support.ports.ledger_recount import grow_old
from tests.support.ports.pool_edits import create
from tests.support.ports.world_checks import check_all
from workers.kube.port_pools import PATH
from workers.scale_up.sweep import sweep


def test_a_created_load_balancer_that_is_named_as_well_counts_once(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30003, autoCreate=create(fleet, 1))
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    (lb,) = fleet.driver.find_owned_load_balancers(fleet.cluster)
    fleet.api.patch(f"{PATH}/arena", {"spec": {"loadBalancers": [lb.arn]}})
    fleet.settle()
    seen = fleet.ledger("arena")
    assert (len(seen.load_balancers), seen.free) == (1, 3)


def test_a_pool_that_names_a_created_load_balancer_still_grows(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30003, autoCreate=create(fleet, 2))
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    (lb,) = fleet.driver.find_owned_load_balancers(fleet.cluster)
    fleet.api.patch(f"{PATH}/arena", {"spec": {"loadBalancers": [lb.arn]}})
    fleet.settle()
    for n in range(5):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 2}")
    for _ in range(3):
        fleet.settle()
        fleet.due()
        sweep(fleet.services)
    assert [fleet.state(f"p{n}") for n in range(5)] == ["Bound"] * 5, fleet.shown("p4")
    check_all(fleet, aws)


def test_named_then_off_then_pool_deleted(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30003, autoCreate=create(fleet, 1))
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", ports_retain="true")
    fleet.settle()
    (lb,) = fleet.driver.find_owned_load_balancers(fleet.cluster)
    fleet.api.patch(f"{PATH}/arena", {"spec": {"loadBalancers": [lb.arn], "autoCreate": {"enabled": False}}})
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    fleet.api.delete(f"{PATH}/arena")
    for _ in range(3):
        fleet.settle()
        fleet.due()
    assert fleet.api.list(PATH)["items"] == []
    assert fleet.driver.target_groups_owned(fleet.cluster) == []


def test_a_created_load_balancer_that_its_pool_names_is_not_removed(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30004)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    (lb,) = there(fleet)
    fleet.api.patch(f"{PATH}/arena", {"spec": {"loadBalancers": [lb.arn]}})
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert [found.arn for found in there(fleet)] == [lb.arn]
