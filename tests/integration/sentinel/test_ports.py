"""Pods with ports while their Redis fails over: each keeps its own, none is given twice, and new ones get theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berthmaster.redis.client import connect_state
from berthmaster.redis.incarnation import incarnation
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.settings import RedisSettings
from tests.fixtures.aws import Aws
from tests.fixtures.kube import SandboxKube
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from tests.support.servers.sentinel_group import SentinelGroup
from tests.support.waiting import eventually


@pytest.fixture
def fleet(careful: SentinelGroup, kube_sandbox: SandboxKube, crds_sandbox: None, aws: Aws) -> Iterator[Fleet]:
    with connect_state(RedisSettings(url=careful.url)) as redis:
        yield Fleet.in_own_cluster(redis, kube_sandbox, aws)


@pytest.mark.row("EV-10", "AL-19", "AL-20")
def test_over_a_failover_every_pod_keeps_its_ports_and_no_port_is_given_twice(
    fleet: Fleet, careful: SentinelGroup, aws: Aws
) -> None:
    fleet.pool("arena")
    for n in range(3):
        fleet.pod(f"p{n}", "a=7777/UDP@arena,b=7778/TCP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    before = {f"p{n}": fleet.shown(f"p{n}") for n in range(3)}
    fleet.pod("late", "7777/UDP@arena", ip="10.0.0.8")
    fleet.sync()
    old = incarnation(fleet.redis)
    assert fleet.redis.wait(1, 5000) == 1
    careful.fail_over()
    fleet.pod("new", "7777/UDP@arena", ip="10.0.0.9")
    try:
        fleet.run_pod("late")
    except OUTAGE:  # the old master may not be known as such yet
        assert fleet.state("late") != "Bound"
    eventually(lambda: writes_to_another(fleet, old), timeout=40)
    assert fleet.run_pod("new") is None  # workers take nothing before the publisher has stamped
    fleet.sync()
    fleet.run_pod("new")
    assert fleet.state("new") == "Pending"  # nor is anything granted before the ledger is rebuilt
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert {name: fleet.shown(name) for name in before} == before
    assert [fleet.state(name) for name in ("late", "new")] == ["Bound", "Bound"]
    check_all(fleet, aws)


def writes_to_another(fleet: Fleet, old: str) -> bool:
    try:
        return incarnation(fleet.redis) != old and bool(fleet.redis.set("probe", 1))
    except OUTAGE:
        return False
