"""What keeps a load balancer that nobody seems to use, and what goes with one."""

from __future__ import annotations

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.idle_pool import DELAY, events, look, one_idle, states, there
from tests.support.ports.ledger_recount import grow_old
from tests.support.ports.world_checks import check_all
from workers.cloud.driver import GroupSettings
from workers.cloud.tags import LOAD_BALANCER, PORT, RETIRING, pool_tags
from workers.kube.port_pools import PATH
from workers.port_audit.reconciler import audit
from workers.scale_up.sweep import sweep

LATE = {"uid": "gone", "owner": "games/gone", "port": "30003", "want": "7777/UDP"}


@pytest.mark.row("PP-28")
@pytest.mark.parametrize("code", ["AccessDenied", "OperationNotPermitted"])
def test_a_delete_that_aws_refuses_is_told_and_tried_again_later(fleet: Fleet, aws: Aws, code: str) -> None:
    lb = one_idle(fleet)
    aws.fault("DeleteLoadBalancer", code=code, times=1)
    fleet.queue.touch(["portpool/arena"])
    fleet.settle()
    sweep(fleet.services)
    fleet.settle()
    assert states(fleet) == {lb.name: "Retiring"}
    assert aws.counts()["DeleteLoadBalancer"] == 1  # put off
    assert [message for message in events(fleet, "LoadBalancerNotRemoved") if code in message]
    look(fleet)
    assert there(fleet) == []


@pytest.mark.row("PP-28")
def test_a_listener_of_a_pod_that_the_ledger_does_not_know_keeps_it(fleet: Fleet, aws: Aws) -> None:
    """A late call of a stale run made it: the audit removes it first, and then the load balancer goes."""
    lb = one_idle(fleet)
    tags = pool_tags(fleet.cluster, "arena") | {LOAD_BALANCER: lb.name}
    tags |= {f"berthmaster.dev/{key}": value for key, value in LATE.items()}
    group = fleet.driver.ensure_target_group("bm-late", "TCP", 1, GroupSettings(aws.ids.vpc), tags)
    fleet.driver.ensure_listener(lb.arn, 30003, "TCP", group, tags)
    look(fleet)
    assert [found.arn for found in there(fleet)] == [lb.arn]
    for _ in range(2):
        audit(fleet.services)
        fleet.settle()
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert there(fleet) == []
    check_all(fleet, aws)


@pytest.mark.row("PP-28")
def test_one_that_another_pool_names_stays(fleet: Fleet, aws: Aws) -> None:
    lb = one_idle(fleet)
    fleet.pool("lobby", startPort=20000, endPort=20004, loadBalancers=[lb.arn], autoCreate={"enabled": False})
    fleet.settle()
    look(fleet)
    assert [found.arn for found in there(fleet)] == [lb.arn]


@pytest.mark.row("PP-28", "PP-17")
def test_with_automatic_creation_off_nothing_is_removed_either(fleet: Fleet, aws: Aws) -> None:
    mine = fleet.driver.create_load_balancer(f"mine-{fleet.cluster}", aws.parameters, {"made-by": "hand"})
    lb = one_idle(fleet)
    change = {"spec": {"autoCreate": {"enabled": False}, "loadBalancers": [mine.arn]}}
    fleet.api.patch(f"{PATH}/arena", change)
    fleet.settle()
    look(fleet)
    assert [found.arn for found in there(fleet)] == [lb.arn]


@pytest.mark.row("PP-28")
def test_an_existing_load_balancer_is_never_removed(fleet: Fleet, aws: Aws) -> None:
    mine = fleet.driver.create_load_balancer(f"mine-{fleet.cluster}", aws.parameters, {"made-by": "hand"})
    fleet.pool("arena", loadBalancers=[mine.arn])
    fleet.settle()
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert [lb.arn for lb in fleet.driver.find_load_balancers(arns=[mine.arn])] == [mine.arn]


@pytest.mark.row("PP-28", "PP-10")
def test_one_with_precreated_listeners_goes_with_them_and_its_slot_is_filled_anew(fleet: Fleet, aws: Aws) -> None:
    lb = one_idle(fleet, precreate={"udp": 2})
    assert len(fleet.driver.listeners(lb.arn)) == 2
    left = fleet.driver.listeners(lb.arn)[0].target_group_arn
    aws.client().remove_tags(ResourceArns=[left], TagKeys=[LOAD_BALANCER, PORT])
    look(fleet)
    assert there(fleet) == []
    assert fleet.driver.target_groups_owned(fleet.cluster) == []
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert fleet.state("b") == "Bound"
    assert [found.name for found in there(fleet)] == [lb.name]
    assert len(fleet.driver.listeners(there(fleet)[0].arn)) == 2


@pytest.mark.row("PP-28", "PP-10")
def test_nothing_is_made_beforehand_on_one_that_retires(fleet: Fleet, aws: Aws) -> None:
    """Its delete is refused; a listener is removed by hand meanwhile."""
    lb = one_idle(fleet, precreate={"udp": 2})
    aws.fault("DeleteLoadBalancer", code="OperationNotPermitted", times=1)
    look(fleet)
    assert states(fleet) == {lb.name: "Retiring"}
    fleet.driver.delete_listener(fleet.driver.listeners(lb.arn)[0].arn)
    for _ in range(2):
        audit(fleet.services)
        fleet.settle()
    assert len(fleet.driver.listeners(lb.arn)) == 1
    assert fleet.ledger("arena").free == 0


@pytest.mark.row("PP-28")
def test_one_with_a_port_that_is_kept_for_its_owner_stays_until_that_is_over(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30004)
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", ports_retain="1h")
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    (lb,) = there(fleet)
    assert list(fleet.owners("arena").values()) == [[(lb.name, 30000, "retained")]]
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert [(found.arn, RETIRING in found.tags) for found in there(fleet)] == [(lb.arn, False)]
    fleet.pod("a", None, ports_retain="1h")  # the name is back and does not ask for it
    fleet.settle()
    fleet.settle()
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert there(fleet) == []
    check_all(fleet, aws)
