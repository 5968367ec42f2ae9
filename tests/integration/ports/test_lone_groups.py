"""A precreated target group whose listener was never made goes, when its load balancer gives no ports any more."""

from __future__ import annotations

import contextlib

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import create, nudge
from tests.support.ports.precreated import existing
from tests.support.ports.world_checks import check_all
from workers.cloud.names import load_balancer_name
from workers.kube.port_pools import PATH
from workers.port_audit.reconciler import audit
from workers.scale_up.sweep import sweep


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
