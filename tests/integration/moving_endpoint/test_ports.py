"""Pods with ports while writes are lost in a failover: each keeps its own, none is given twice, new ones get theirs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import incarnation
from berthmaster.redis.promotion import may_be_promoted
from berthmaster.redis.settings import RedisSettings
from tests.fixtures.aws import Aws
from tests.fixtures.kube import SandboxKube
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from tests.support.servers.moving_endpoint import MovingEndpoint


@pytest.fixture
def fleet(moving: MovingEndpoint, kube_sandbox: SandboxKube, crds_sandbox: None, aws: Aws) -> Iterator[Fleet]:
    with connect_state(RedisSettings(url=moving.url)) as redis:
        yield Fleet.in_own_cluster(redis, kube_sandbox, aws)


@pytest.mark.row("ST-40")
@pytest.mark.parametrize("precreate", [None, {"udp": 10}], ids=["per pod", "precreated"])
def test_what_was_granted_and_released_before_the_failover_holds_after_it(
    fleet: Fleet, moving: MovingEndpoint, aws: Aws, precreate: dict[str, int] | None
) -> None:
    """The promoted replica has never heard of the late pod, and believes that the one that is gone has its port."""
    fleet.pool("arena", **({"precreate": precreate} if precreate else {}))
    for n in range(3):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    moving.lose_writes()
    fleet.delete("p1")
    fleet.settle()
    fleet.pod("late", "7777/UDP@arena", ip="10.0.0.8")
    fleet.settle()
    before = {name: fleet.shown(name) for name in ("p0", "p2", "late")}
    assert {state for state, *_ in before.values()} == {"Bound"}
    old = incarnation(fleet.redis)
    moving.fail_over()
    fleet.pod("new", "7777/UDP@arena", ip="10.0.0.9")
    assert incarnation(fleet.redis) != old
    assert may_be_promoted(fleet.redis, timedelta(seconds=15))
    assert f"{fleet.namespace}/p1" in fleet.owners("arena")  # the copy is old
    assert fleet.run_pod("new") is None  # workers take nothing before the publisher has stamped
    fleet.sync()
    fleet.run_pod("new")
    assert fleet.state("new") == "Pending"  # nor is anything granted before the ledger is rebuilt
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert {name: fleet.shown(name) for name in before} == before
    assert fleet.state("new") == "Bound"
    assert set(fleet.owners("arena")) == {f"{fleet.namespace}/{name}" for name in (*before, "new")}
    check_all(fleet, aws)
