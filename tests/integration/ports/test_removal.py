"""Load balancers go when nobody needs them, whatever dies on the way; never one that somebody uses."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.idle_pool import DELAY, events, listen, look, one_idle, states, there
from tests.support.ports.ledger_recount import grow_old
from tests.support.ports.world_checks import check_all
from workers.cloud.driver import GroupSettings
from workers.cloud.tags import LOAD_BALANCER, RETIRING, pool_tags
from workers.kube.port_pools import PATH


@pytest.mark.row("PP-28")
def test_a_load_balancer_that_stays_empty_is_removed_and_one_in_use_is_not(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30001)
    for n in range(3):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    assert len(there(fleet)) == 2
    last = next(n for n in range(3) if fleet.shown(f"p{n}")[1][0]["loadBalancer"] == there(fleet)[1].name)
    fleet.delete(f"p{last}")
    fleet.settle()
    look(fleet)
    assert len(there(fleet)) == 2  # not for long enough
    before, (used, idle) = aws.counts(), there(fleet)
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert [lb.arn for lb in there(fleet)] == [used.arn]
    assert states(fleet) == {used.name: "Full"}
    assert [message for message in events(fleet, "LoadBalancerRemoved") if idle.name in message]
    assert aws.counts()["DeleteLoadBalancer"] - before.get("DeleteLoadBalancer", 0) == 1
    fleet.pod("late", "7777/UDP@arena", ip="10.0.0.9")
    fleet.settle()
    assert fleet.state("late") == "Bound"  # in the slot that became free
    check_all(fleet, aws)


@pytest.mark.row("PP-28")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(6))
def test_whatever_dies_during_a_removal_the_next_run_ends_it(fleet: Fleet, aws: Aws, at: int, after: bool) -> None:
    """Rule resume: listeners, tag, listeners, delete, target groups, delete of a spare one."""
    lb = one_idle(fleet)
    tags = pool_tags(fleet.cluster, "arena") | {LOAD_BALANCER: lb.name}
    group = fleet.driver.ensure_target_group(f"bm-spare-{at}", "TCP", 1, GroupSettings(aws.ids.vpc), tags)
    fleet.driver.ensure_listener(lb.arn, 30003, "TCP", group, tags)  # made beforehand, of no pod
    with contextlib.suppress(Killed):
        look(fleet, Fuse(at, after).guard(fleet.driver))
    fleet.due()
    look(fleet)
    assert there(fleet) == []
    assert fleet.driver.target_groups_owned(fleet.cluster) == []
    assert fleet.ledger("arena").load_balancers == ()
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert fleet.state("b") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("PP-28")
def test_a_strangers_listener_keeps_it_until_it_goes(fleet: Fleet, aws: Aws) -> None:
    """The ledger does not know it: nobody has looked at AWS since it came."""
    lb = one_idle(fleet)
    listener = listen(aws, lb)
    look(fleet)
    assert [(found.arn, RETIRING in found.tags) for found in there(fleet)] == [(lb.arn, False)]
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert fleet.state("b") == "Bound"  # it gives ports meanwhile
    fleet.delete("b")
    fleet.settle()
    fleet.driver.delete_listener(listener)
    grow_old(fleet.redis, "{pp:arena}", DELAY)
    look(fleet)
    assert there(fleet) == []


@pytest.mark.row("PP-28")
def test_a_stranger_that_the_ledger_remembers_and_aws_has_no_more_keeps_nothing(fleet: Fleet, aws: Aws) -> None:
    lb = one_idle(fleet)
    listener = listen(aws, lb, 30001)
    fleet.api.patch(f"{PATH}/arena", {"spec": {"lbPolicy": "Uniform"}})
    fleet.settle()
    assert fleet.ledger("arena").load_balancers[0].foreign == (30001,)
    fleet.driver.delete_listener(listener)
    for _ in range(3):
        look(fleet)
    assert there(fleet) == []


@pytest.mark.row("PP-28")
def test_a_strangers_listener_that_comes_late_keeps_it_retiring(fleet: Fleet, aws: Aws) -> None:
    """Rules lookagain, neverback."""
    lb = one_idle(fleet)
    made: list[str] = []
    look(fleet, Interposed(fleet.driver, "tag", lambda: made.append(listen(aws, lb))))
    look(fleet)
    assert [found.arn for found in there(fleet)] == [lb.arn]
    assert states(fleet) == {lb.name: "Retiring"}
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert fleet.state("b") == "Bound"  # on another one
    fleet.driver.delete_listener(made[0])
    look(fleet)
    assert lb.arn not in {found.arn for found in there(fleet)}
    check_all(fleet, aws)


@pytest.mark.row("PP-28")
def test_a_pod_that_comes_during_the_removal_gets_another_one(fleet: Fleet, aws: Aws) -> None:
    """Rule fence: between retiring and the delete nothing is given on it."""
    lb = one_idle(fleet)

    def bind() -> None:
        fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
        fleet.sync()
        fleet.run_pod("b")

    look(fleet, Interposed(fleet.driver, "delete_load_balancer", bind))
    fleet.settle()
    assert fleet.state("b") == "Bound"
    assert lb.arn not in {found.arn for found in there(fleet)}
    check_all(fleet, aws)


def allocate(fleet: Fleet, name: str) -> None:
    """The ledger gives the pod a port; its run dies before AWS knows anything of it."""
    fleet.pod(name, "7777/UDP@arena", ip="10.0.0.2")
    fleet.sync()
    with contextlib.suppress(Killed):
        fleet.run_pod_with(name, Fuse(0).guard(fleet.driver))
    assert list(fleet.owners("arena")) == [f"{fleet.namespace}/{name}"]


@pytest.mark.row("PP-28")
def test_a_pod_that_comes_before_it_retires_keeps_it(fleet: Fleet, aws: Aws) -> None:
    """Re-checked under the ledger: the run looked at an empty one, and at its listeners."""
    lb = one_idle(fleet)

    class Late(Interposed):
        def listeners(self, arn: str) -> Any:
            found = fleet.driver.listeners(arn)
            if not fleet.exists("b"):
                allocate(fleet, "b")
            return found

    look(fleet, Late(fleet.driver, "nothing", lambda: None))
    fleet.due()
    fleet.settle()
    assert [(found.arn, RETIRING in found.tags) for found in there(fleet)] == [(lb.arn, False)]
    assert fleet.state("b") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("PP-28")
def test_a_slow_worker_deletes_only_the_load_balancer_that_it_confirmed(fleet: Fleet, aws: Aws) -> None:
    """Rule samearn: its lease is over: another worker has removed it, and its slot has a new one with a pod."""
    one_idle(fleet)

    def another_removes_it() -> None:
        fleet.due()
        look(fleet)
        assert there(fleet) == []
        fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
        fleet.settle()

    look(fleet, Interposed(fleet.driver, "delete_load_balancer", another_removes_it))
    fleet.settle()
    assert fleet.state("b") == "Bound"
    assert len(there(fleet)) == 1
    check_all(fleet, aws)


@pytest.mark.row("PP-28")
def test_after_a_loss_of_redis_a_tagged_one_is_given_to_nobody_and_goes(fleet: Fleet, aws: Aws) -> None:
    """Rule retiretag: the delete of the old worker may be on its way when the ledger has forgotten."""
    lb = one_idle(fleet)

    def lose() -> None:
        fleet.redis.flushall()
        fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
        fleet.settle()

    look(fleet, Interposed(fleet.driver, "delete_load_balancer", lose))
    fleet.settle()
    assert fleet.state("b") == "Bound"
    assert lb.arn not in {found.arn for found in there(fleet)}
    check_all(fleet, aws)


@pytest.mark.row("PP-28")
def test_a_worker_that_tags_after_a_loss_of_redis_deletes_nothing_that_is_used(fleet: Fleet, aws: Aws) -> None:
    """Rule confirmretired: the rebuild saw no tag, the load balancer gives ports again, which AWS does not show yet."""
    lb = one_idle(fleet)

    def lose() -> None:
        fleet.redis.flushall()
        fleet.settle()
        allocate(fleet, "b")

    look(fleet, Interposed(fleet.driver, "tag", lose))
    fleet.due()
    fleet.settle()
    assert fleet.state("b") == "Bound"
    assert [found.arn for found in there(fleet)] == [lb.arn]
    check_all(fleet, aws)
