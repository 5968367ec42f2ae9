"""The audit judges only what it can know: pods bind and leave while it lists AWS."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis import Redis

from berthmaster.errors import StaleToken
from tests.fixtures.aws import Aws
from tests.fixtures.kube import SandboxKube
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from workers.port_audit.reconciler import audit
from workers.scale_up.sweep import sweep


def test_a_listener_made_while_the_audit_lists_aws_is_not_missing(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("early", "1/TCP@arena", "10.0.0.1")
    fleet.settle()

    def bind_another() -> None:
        fleet.pod("late", "1/TCP@arena", "10.0.0.2")
        fleet.settle()

    after_listeners = Interposed(fleet.driver, "target_groups_owned", bind_another)
    audit(fleet.other(driver=lambda _: after_listeners))
    assert fleet.queued() == []
    fleet.settle()
    assert fleet.state("late") == "Bound"


@pytest.mark.row("EV-32")
@pytest.mark.usefixtures("crds_sandbox")
def test_an_audit_keeps_its_tick_before_each_call_and_stops_when_it_is_lost(
    redis: Redis, kube_sandbox: SandboxKube, aws: Aws
) -> None:
    """Rule tick-kept."""
    fleet = Fleet.in_own_cluster(redis, kube_sandbox, aws)
    for name in ("arena", "lobby"):
        fleet.pool(name)
        fleet.pod(name, f"1/TCP@{name}", "10.0.0.1")
    fleet.settle()
    kept: list[int] = []

    def keep(_: timedelta) -> None:
        kept.append(calls(aws))

    before = calls(aws)
    audit(fleet.services, keep)
    assert set(kept) >= set(range(before, calls(aws)))

    def lost(_: timedelta) -> None:
        raise StaleToken("another worker has acquired ports.audit")

    before = calls(aws)
    with pytest.raises(StaleToken):
        audit(fleet.services, lost)
    assert calls(aws) == before


def calls(aws: Aws) -> int:
    return sum(aws.counts().values())


@pytest.mark.row("EV-32")
@pytest.mark.usefixtures("crds_sandbox")
def test_a_sweep_keeps_its_tick_before_each_pool(redis: Redis, kube_sandbox: SandboxKube, aws: Aws) -> None:
    """Rule tick-kept."""
    fleet = Fleet.in_own_cluster(redis, kube_sandbox, aws)
    for name in ("arena", "lobby"):
        fleet.pool(name)
    fleet.settle()
    kept: list[timedelta] = []

    def keep(at_least: timedelta) -> None:
        kept.append(at_least)
        if len(kept) == 2:
            raise StaleToken("another worker has acquired ports.sweep")

    with pytest.raises(StaleToken):
        sweep(fleet.services, keep)
    assert len(fleet.queued()) == 1


def test_what_an_audit_remembers_ends_by_itself(fleet: Fleet) -> None:
    """The audit of a pool that is deleted meanwhile would leave it for ever."""
    fleet.pool("arena")
    fleet.pod("a", "1/TCP@arena", "10.0.0.1")
    fleet.settle()
    fleet.redis.hdel("{pp:arena}owners", f"{fleet.namespace}/a")
    audit(fleet.services)
    remembered = [key for key in fleet.redis.scan_iter("{pp:arena}*") if key.endswith((b"}drift", b"}turn"))]
    assert sorted(remembered) == [b"{pp:arena}drift", b"{pp:arena}turn"]
    assert all(fleet.redis.ttl(key) > 0 for key in remembered)
