"""Growing on failure: once an epoch, as much as the demand needs, whatever dies on the way."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest
from redis import ConnectionError as RedisAway

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Interposed, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from tests.support.ready_keys import READY
from workers.cloud.names import load_balancer_name
from workers.cloud.tags import pool_tags
from workers.port_audit.reconciler import audit
from workers.scale_up.intent import scale_up
from workers.scale_up.sweep import sweep
from workers.stores.ports.pool_ledger import PortPoolLedger


def grown(fleet: Fleet, most: int, **more: Any) -> dict[str, Any]:
    subnets = list(fleet.network.subnets)
    return {"enabled": True, "maxLoadBalancers": most, "parameters": {"subnets": subnets}} | more


def short_of_ports(fleet: Fleet, pods: int, **changes: Any) -> None:
    """A pool of load balancers with five ports each and so many pods, all of which have failed once."""
    fleet.pool("arena", endPort=30004, **changes)
    fleet.sync()
    fleet.drain()
    for n in range(pods):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.sync()
    fleet.drain()


def bound(fleet: Fleet, pods: int) -> int:
    return sum(fleet.state(f"p{n}") == "Bound" for n in range(pods))


@pytest.mark.row("SU-03", "SU-04", "SU-01", "AL-22")
def test_all_that_fail_together_make_one_request_and_one_round_as_large_as_the_demand(fleet: Fleet, aws: Aws) -> None:
    short_of_ports(fleet, 12)
    assert len(fleet.requests) == 1
    fleet.settle()
    assert bound(fleet, 12) == 12
    assert aws.counts()["CreateLoadBalancer"] == 3
    assert fleet.ledger("arena").waiting == 0
    check_all(fleet, aws)


@pytest.mark.row("SU-04", "PP-16")
def test_a_round_is_bounded_and_the_rest_follows_up_to_the_limit(fleet: Fleet, aws: Aws) -> None:
    create = grown(fleet, 2, maxPerRound=1)
    short_of_ports(fleet, 12, autoCreate=create)
    fleet.scale()
    assert aws.counts()["CreateLoadBalancer"] == 1
    fleet.settle()
    assert aws.counts()["CreateLoadBalancer"] == 2
    assert bound(fleet, 12) == 10
    assert sorted(fleet.state(f"p{n}") for n in range(12))[-2:] == ["NoPortAvailable"] * 2


@pytest.mark.row("SU-05")
def test_a_request_of_an_old_epoch_creates_nothing_and_one_of_the_new_passes_at_once(fleet: Fleet, aws: Aws) -> None:
    create = grown(fleet, 3, maxPerRound=1)
    short_of_ports(fleet, 7, autoCreate=create)
    old = fleet.requests[0]
    fleet.scale()
    assert [epoch for _, epoch, _ in fleet.requests] != [old[1]]
    before = aws.counts()["CreateLoadBalancer"]
    scale_up(fleet.services, *old)
    assert aws.counts()["CreateLoadBalancer"] == before
    fleet.settle()
    assert bound(fleet, 7) == 7


@pytest.mark.row("SU-07", "PP-19", "SU-08")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_winner_that_dies_is_replaced_and_nothing_is_created_twice(
    fleet: Fleet, aws: Aws, at: int, after: bool
) -> None:
    short_of_ports(fleet, 12)
    pool, epoch, token = fleet.requests.pop()
    driver = Fuse(at, after).guard(fleet.driver)
    with contextlib.suppress(Killed):
        scale_up(fleet.other(driver=lambda _: driver), pool, epoch, token)
    sweep(fleet.services)
    assert fleet.requests == []  # its key still keeps others away
    fleet.redis.delete(PortPoolLedger(fleet.services.ledger("arena")).key_of(epoch))  # as its expiry does
    sweep(fleet.services)
    fleet.settle()
    assert bound(fleet, 12) == 12
    assert len(fleet.driver.find_owned_load_balancers(fleet.cluster)) == 3
    assert len(fleet.ledger("arena").load_balancers) == 3
    check_all(fleet, aws)


@pytest.mark.row("SU-07", "EV-10")
@pytest.mark.parametrize("then", ["creates", "has added", "finds Redis away"])
def test_a_winner_whose_redis_is_lost_ends_and_another_goes_on(fleet: Fleet, aws: Aws, then: str) -> None:
    short_of_ports(fleet, 12)
    request, services = fleet.requests.pop(), fleet.services

    def lose() -> None:
        fleet.redis.flushall()
        if then == "finds Redis away":
            raise RedisAway("Connection refused")

    if then == "has added":
        services = fleet.other(events=Interposed(fleet.services.events, "pool", lose))
    else:
        driver = Interposed(fleet.driver, "create_load_balancer", lose)
        services = fleet.other(driver=lambda _: driver)
    scale_up(services, *request)
    fleet.sync()
    fleet.settle()
    assert bound(fleet, 12) == 12
    assert len(fleet.driver.find_owned_load_balancers(fleet.cluster)) == 3
    check_all(fleet, aws)


@pytest.mark.row("SU-07")
def test_two_winners_of_one_epoch_carry_out_the_same_intent(fleet: Fleet, aws: Aws) -> None:
    """The key of a slow winner expired, or was flushed: a second request passes."""
    short_of_ports(fleet, 12)
    pool, epoch, token = fleet.requests.pop()
    fleet.redis.delete(PortPoolLedger(fleet.services.ledger("arena")).key_of(epoch))
    sweep(fleet.services)
    second = fleet.requests.pop()
    between = Interposed(fleet.driver, "create_load_balancer", lambda: scale_up(fleet.services, *second))
    scale_up(fleet.other(driver=lambda _: between), pool, epoch, token)
    fleet.settle()
    assert len(fleet.driver.find_owned_load_balancers(fleet.cluster)) == 3
    assert bound(fleet, 12) == 12
    assert PortPoolLedger(fleet.services.ledger("arena")).pressure(timedelta(0)).short <= 0


@pytest.mark.row("SU-09")
@pytest.mark.parametrize("code", ["TooManyLoadBalancers", "InvalidSubnet", "AccessDenied", "InternalFailure"])
def test_a_failed_creation_is_told_and_tried_again(fleet: Fleet, aws: Aws, code: str) -> None:
    short_of_ports(fleet, 3)
    aws.fault("CreateLoadBalancer", code=code, times=1)
    fleet.scale()
    listed = fleet.api.list("/api/v1/namespaces/default/events")["items"]
    told = [e for e in listed if e["reason"] == "ScaleUpFailed" and code in e["message"]]
    assert told
    assert fleet.ledger("arena").state == "Active"
    assert fleet.ledger("arena").intent
    for key in fleet.redis.scan_iter("{pp:arena}scale-up:*"):
        assert 0 < fleet.redis.pttl(key) <= 120_000  # the back-off, after which the sweep asks again
        fleet.redis.delete(key)
    sweep(fleet.services)
    fleet.settle()
    assert bound(fleet, 3) == 3


@pytest.mark.row("SU-07")
@pytest.mark.parametrize("lose", ["error", "cut"])
def test_a_creation_whose_answer_is_lost_is_adopted(fleet: Fleet, aws: Aws, lose: str) -> None:
    short_of_ports(fleet, 3)
    aws.fault("CreateLoadBalancer", lose=lose)
    fleet.scale()
    for key in fleet.redis.scan_iter("{pp:arena}scale-up:*"):
        fleet.redis.delete(key)
    sweep(fleet.services)
    fleet.settle()
    assert bound(fleet, 3) == 3
    assert len(fleet.driver.find_owned_load_balancers(fleet.cluster)) == 1


@pytest.mark.row("SU-10", "PP-17")
def test_a_pool_at_its_limit_creates_nothing_until_the_limit_is_raised(fleet: Fleet, aws: Aws) -> None:
    create = grown(fleet, 1)
    short_of_ports(fleet, 7, autoCreate=create)
    fleet.settle()
    assert bound(fleet, 7) == 5
    sweep(fleet.services)
    fleet.settle()
    assert aws.counts()["CreateLoadBalancer"] == 1
    fleet.due()
    fleet.settle()
    (message,) = {fleet.shown(f"p{n}")[2] for n in range(7) if fleet.state(f"p{n}") == "NoPortAvailable"}
    assert message == "pool arena has no free port for 1 of 1 wanted, and has 1 of 1 load balancers (maxLoadBalancers)"
    fleet.api.patch("/apis/berthmaster.dev/v1alpha1/portpools/arena", {"spec": {"autoCreate": grown(fleet, 2)}})
    fleet.settle()
    sweep(fleet.services)
    fleet.settle()
    assert bound(fleet, 7) == 7
    assert aws.counts()["CreateLoadBalancer"] == 2


@pytest.mark.row("PP-17", "SU-10")
def test_without_auto_create_nothing_is_created_and_a_freed_port_goes_to_a_waiter(fleet: Fleet, aws: Aws) -> None:
    lb = fleet.driver.create_load_balancer(f"mine-{fleet.cluster}", aws.parameters, {"made-by": "hand"})
    created = aws.counts()["CreateLoadBalancer"]
    short_of_ports(fleet, 6, autoCreate={"enabled": False}, loadBalancers=[lb.arn])
    fleet.settle()
    sweep(fleet.services)
    fleet.settle()
    assert bound(fleet, 6) == 5
    assert aws.counts()["CreateLoadBalancer"] == created
    waiter = next(n for n in range(6) if fleet.state(f"p{n}") == "NoPortAvailable")
    assert fleet.shown(f"p{waiter}")[2].endswith(", and creates no load balancers (autoCreate)")
    fleet.delete(f"p{(waiter + 1) % 6}")
    fleet.sync()
    fleet.drain()
    assert fleet.state(f"p{waiter}") == "Bound"


@pytest.mark.row("SU-11", "AL-12")
def test_only_the_pool_that_is_short_grows_and_nothing_is_held_meanwhile(fleet: Fleet, aws: Aws) -> None:
    short_of_ports(fleet, 5)
    fleet.settle()
    fleet.pool("lobby", endPort=30004, autoCreate=grown(fleet, 1))
    fleet.pod("seed", "80/TCP@lobby", ip="10.0.9.9")
    fleet.settle()
    fleet.pod("both", "7777/UDP@arena, 80/TCP@lobby", ip="10.0.9.1")
    fleet.sync()
    fleet.drain()
    assert fleet.state("both") == "NoPortAvailable"
    assert f"{fleet.namespace}/both" not in fleet.owners("lobby")
    assert {pool for pool, *_ in fleet.requests} == {"arena"}
    fleet.settle()
    assert fleet.state("both") == "Bound"
    assert len(fleet.ledger("lobby").load_balancers) == 1
    check_all(fleet, aws)


@pytest.mark.row("SU-12")
def test_a_demand_that_the_pool_can_never_meet_is_refused_and_creates_nothing(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30004, autoCreate=grown(fleet, 2))
    fleet.pod("huge", ",".join(f"{7000 + n}/UDP@arena" for n in range(11)), ip="10.0.0.1")
    fleet.settle()
    state, _, message = fleet.shown("huge")
    assert state == "Failed"
    assert "11 ports" in message
    assert "CreateLoadBalancer" not in aws.counts()


@pytest.mark.row("SU-01")
def test_one_pod_may_need_several_load_balancers(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", autoCreate=grown(fleet, 3))
    fleet.pod("wide", ",".join(f"{7000 + n}/UDP@arena" for n in range(100)), ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("wide") == "Bound"
    assert {row["loadBalancer"] for row in fleet.shown("wide")[1]} == {
        load_balancer_name(fleet.cluster, "arena", slot) for slot in (0, 1)
    }
    check_all(fleet, aws)


@pytest.mark.row("SU-13", "SU-14", "SU-08")
def test_a_waiter_whose_wake_up_was_lost_is_found_by_the_sweep(fleet: Fleet, aws: Aws) -> None:
    create = grown(fleet, 1)
    short_of_ports(fleet, 6, autoCreate=create)
    fleet.settle()
    waiter = next(n for n in range(6) if fleet.state(f"p{n}") == "NoPortAvailable")
    other = (waiter + 1) % 6
    fleet.delete(f"p{other}")
    fleet.sync()
    fleet.run_pod(f"p{other}")
    fleet.redis.delete("{queue}dirty", *READY.values())  # the wake-up is lost
    assert fleet.state(f"p{waiter}") == "NoPortAvailable"
    sweep(fleet.services)
    fleet.drain()
    assert fleet.state(f"p{waiter}") == "Bound"
    check_all(fleet, aws)


@pytest.mark.row("SU-08")
def test_a_waiter_that_is_gone_leaves_the_list_and_asks_for_nothing(fleet: Fleet, aws: Aws) -> None:
    short_of_ports(fleet, 2, autoCreate=grown(fleet, 1))
    fleet.delete("p0")
    fleet.delete("p1")
    fleet.sync()
    fleet.drain()
    assert fleet.ledger("arena").waiting == 0
    fleet.scale()
    assert "CreateLoadBalancer" not in aws.counts()


@pytest.mark.row("PP-19", "SU-07")
def test_a_load_balancer_of_ours_outside_the_ledger_is_adopted(fleet: Fleet, aws: Aws) -> None:
    short_of_ports(fleet, 1)
    fleet.settle()
    name = load_balancer_name(fleet.cluster, "arena", 1)
    fleet.driver.create_load_balancer(name, aws.parameters, pool_tags(fleet.cluster, "arena"))
    audit(fleet.services)
    fleet.scale()
    assert name in {lb.name for lb in fleet.ledger("arena").load_balancers}
    assert aws.counts()["CreateLoadBalancer"] == 3  # two, and one that found the second there
    assert len(fleet.driver.find_owned_load_balancers(fleet.cluster)) == 2
