"""What is ours and names no pod goes: precreated target groups without a listener, and what has lost its tags."""

from __future__ import annotations

import contextlib

import pytest

from domain.port_audit.difference import Remedy
from domain.port_audit.plan import plan
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import create, nudge
from tests.support.ports.precreated import existing
from tests.support.ports.world_checks import check_all
from workers.cloud.names import load_balancer_name
from workers.cloud.tags import LOAD_BALANCER, OWNER, PORT, UID, WANT
from workers.kube.port_pools import PATH
from workers.port_audit.observe import live_pods, observe
from workers.port_audit.reconciler import audit, repair
from workers.scale_up.sweep import sweep
from workers.stores.ports.view import entries_of_owner, owners


@pytest.mark.row("FZ-07", "PP-10")
def test_a_lone_precreated_target_group_of_a_load_balancer_that_left(fleet: Fleet, aws: Aws) -> None:
    """The filling run died before CreateListener; then the load balancer was taken out of the pool."""
    arn, other = existing(fleet, aws), existing(fleet, aws, 1)
    fleet.pool("arena", precreate={"udp": 3}, loadBalancers=[arn], autoCreate={"enabled": False})
    fleet.sync()
    driver = Interposed(fleet.driver, "ensure_listener", killed)
    with contextlib.suppress(Killed):
        fleet.run("portpool/arena", fleet.other(driver=lambda _: driver))
    fleet.api.patch(f"{PATH}/arena", {"spec": {"loadBalancers": [other]}})
    fleet.due()
    fleet.settle()
    for _ in range(2):
        audit(fleet.services)
        nudge(fleet)
    check_all(fleet, aws)


def killed() -> None:
    raise Killed


@pytest.mark.row("FZ-07", "PP-15")
@pytest.mark.parametrize("after", [False, True])
def test_one_that_is_blocked_while_it_is_filled_leaves_nothing(fleet: Fleet, aws: Aws, after: bool) -> None:
    fleet.pool("arena", precreate={"udp": 12}, autoCreate=create(fleet, 2))
    fleet.sync()
    fleet.drain()
    for n in range(12):
        fleet.pod(f"p{n}", "7/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.sync()
    fleet.drain()
    fleet.scale()
    driver = Fuse(5, after).guard(fleet.driver)
    with contextlib.suppress(Killed):
        fleet.run("portpool/arena", fleet.other(driver=lambda _: driver))
    name = load_balancer_name(fleet.cluster, "arena", 0, "bm")
    fleet.api.patch(f"{PATH}/arena", {"spec": {"lbBlocklist": [name]}})
    fleet.due()
    fleet.settle()
    for _ in range(2):
        sweep(fleet.services)
        audit(fleet.services)
        fleet.due()
        fleet.settle()
    assert [fleet.state(f"p{n}") for n in range(12)] == ["Bound"] * 12
    check_all(fleet, aws)


@pytest.mark.row("FZ-07", "AL-20")
@pytest.mark.parametrize("keys", [[LOAD_BALANCER], [OWNER, UID, WANT, PORT, LOAD_BALANCER]], ids=["one", "all"])
@pytest.mark.parametrize("listener_went", [False, True], ids=["listener", "target group"])
def test_what_lost_its_tags_before_redis_was_lost_is_removed(
    fleet: Fleet, aws: Aws, keys: list[str], listener_went: bool
) -> None:
    """Nobody can say any more whose it was, only that it is ours."""
    fleet.pool("arena")
    for name, address in (("gone", "10.0.0.1"), ("stays", "10.0.0.2")):
        fleet.pod(name, "7/UDP@arena", address)
    fleet.settle()
    ((_, (left,)),) = [row for row in owners(fleet.services.ledger("arena")) if row[0].endswith("/gone")]
    aws.client().remove_tags(ResourceArns=[left.listener, left.target_group], TagKeys=keys)
    if listener_went:
        aws.client().delete_listener(ListenerArn=left.listener)
    fleet.delete("gone")
    fleet.redis.flushall()
    fleet.settle()
    for _ in range(3):  # the first audit notes the listener, the second deletes it; then its target group is alone
        audit(fleet.services)
        nudge(fleet)
    (balancer,) = fleet.ledger("arena").load_balancers
    assert left.listener not in {row.arn for row in fleet.driver.listeners(balancer.arn)}
    assert left.target_group not in {group.arn for group in fleet.driver.target_groups_owned(fleet.cluster)}
    assert fleet.state("stays") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("FZ-07", "AL-20")
def test_a_listener_that_gets_an_owner_after_the_audit_has_read_the_ledger_stays(fleet: Fleet, aws: Aws) -> None:
    """Its pod's run finds it there, and takes it for its own."""
    fleet.pool("arena")
    fleet.pod("a", "7/UDP@arena", "10.0.0.1")
    fleet.settle()
    ((_, (entry,)),) = owners(fleet.services.ledger("arena"))
    aws.client().remove_tags(ResourceArns=[entry.listener, entry.target_group], TagKeys=[LOAD_BALANCER])
    fleet.annotate("a", endpoints=None)
    fleet.redis.flushall()
    fleet.sync()
    fleet.run("portpool/arena")
    observed = observe(fleet.services, "arena", lambda: live_pods(fleet.queue), 0)
    assert observed
    repair_plan = plan(observed.comparison)
    assert Remedy.CLOSE in {each.remedy for each in repair_plan}
    fleet.drain()
    (adopted,) = entries_of_owner(fleet.services.ledger("arena"), f"{fleet.namespace}/a")
    assert adopted.listener == entry.listener
    repair(fleet.services, "arena", observed, repair_plan)
    (balancer,) = fleet.ledger("arena").load_balancers
    assert [row.arn for row in fleet.driver.listeners(balancer.arn)] == [entry.listener]


@pytest.mark.row("FZ-07")
@pytest.mark.parametrize("owner", ["games/..", "games/a/log"])
def test_a_tag_that_no_pod_can_have_keeps_nothing(fleet: Fleet, aws: Aws, owner: str) -> None:
    """A port under such a name would have no run that releases it."""
    fleet.pool("arena")
    fleet.pod("gone", "7/UDP@arena", "10.0.0.1")
    fleet.settle()
    ((_, (left,)),) = owners(fleet.services.ledger("arena"))
    fleet.driver.tag([left.listener, left.target_group], {OWNER: owner})
    fleet.delete("gone")
    fleet.redis.flushall()
    fleet.settle()
    assert fleet.owners("arena") == {}
    fleet.pod("next", "7/UDP@arena", "10.0.0.2")
    fleet.settle()
    for _ in range(2):
        audit(fleet.services)
        nudge(fleet)
    assert fleet.state("next") == "Bound"
    check_all(fleet, aws)
