"""A pool that may not grow is not asked to, however long pods wait for it; as soon as it may, it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from berthmaster.routing import pod_key
from domain.outcome import Wait
from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.idle_pool import listen, look, one_idle
from tests.support.ports.pool_edits import create, edit
from workers.scale_up.sweep import sweep
from workers.stores.ports.pool_ledger import PortPoolLedger

Change = Callable[[Fleet], object]


def full(fleet: Fleet, **spec: Any) -> None:
    """Two of three pods have the ports of the pool, and the third waits."""
    fleet.pool("arena", endPort=30001, **spec)
    for n in range(3):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    assert sorted(fleet.state(f"p{n}") for n in range(3)) == ["Bound", "Bound", "NoPortAvailable"]


def at_the_limit(fleet: Fleet, aws: Aws) -> None:
    full(fleet, autoCreate=create(fleet, 1))


def without_auto_create(fleet: Fleet, aws: Aws) -> None:
    lb = fleet.driver.create_load_balancer(f"mine-{fleet.cluster}", aws.parameters, {"made-by": "hand"})
    full(fleet, autoCreate={"enabled": False}, loadBalancers=[lb.arn])


def passes(fleet: Fleet) -> list[str]:
    """What the log says of scale-ups while time passes, in which the waiting pod looks again, too."""
    with capture_logs() as lines:
        for _ in range(3):
            fleet.due()
            sweep(fleet.services)
            fleet.settle()
    return [line["event"] for line in lines if line["event"].startswith("scale_up")]


@pytest.mark.row("SU-10", "PP-17")
@pytest.mark.parametrize("begin", [at_the_limit, without_auto_create])
def test_a_pool_that_may_not_grow_is_not_asked_to(fleet: Fleet, aws: Aws, begin: Callable[[Fleet, Aws], None]) -> None:
    begin(fleet, aws)
    assert passes(fleet) == []


@pytest.mark.row("SU-10", "PP-17")
@pytest.mark.parametrize(
    "begin, change",
    [
        (at_the_limit, lambda fleet: edit(fleet, autoCreate=create(fleet, 2))),
        (without_auto_create, lambda fleet: edit(fleet, autoCreate=create(fleet, 1))),
    ],
    ids=["raised", "switched on"],
)
def test_a_pool_that_may_grow_again_is_asked_by_the_next_sweep(
    fleet: Fleet, aws: Aws, begin: Callable[[Fleet, Aws], None], change: Change
) -> None:
    begin(fleet, aws)
    assert passes(fleet) == []
    change(fleet)
    sweep(fleet.services)
    fleet.sync()
    fleet.drain()
    sweep(fleet.services)
    assert len(fleet.requests) == 1
    fleet.settle()
    assert [fleet.state(f"p{n}") for n in range(3)] == ["Bound"] * 3


@pytest.mark.row("SU-13")
def test_a_pod_without_a_port_looks_again_after_the_time_that_is_set(fleet: Fleet, aws: Aws) -> None:
    at_the_limit(fleet, aws)
    (waiter,) = [f"p{n}" for n in range(3) if fleet.state(f"p{n}") != "Bound"]
    fleet.queue.touch([pod_key(fleet.namespace, waiter)])
    outcome = fleet.run(pod_key(fleet.namespace, waiter), fleet.other(recheck=timedelta(seconds=7)))
    assert isinstance(outcome, Wait)
    assert outcome.for_ == timedelta(seconds=7)


@pytest.mark.row("SU-10", "PP-28")
def test_a_load_balancer_that_goes_makes_its_pool_ask_at_once(fleet: Fleet, aws: Aws) -> None:
    """It counts until AWS has it no more: a stranger's listener keeps it that long."""
    lb, strange = one_idle(fleet, autoCreate=create(fleet, 1)), []
    look(fleet, Interposed(fleet.driver, "tag", lambda: strange.append(listen(aws, lb))))
    fleet.pod("b", "7777/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert (fleet.state("b"), passes(fleet)) == ("NoPortAvailable", [])
    fleet.driver.delete_listener(strange[0])
    look(fleet)
    assert len(fleet.requests) == 1
    fleet.settle()
    assert fleet.state("b") == "Bound"


@pytest.mark.row("SU-07", "SU-10")
def test_an_open_intent_is_carried_out_whatever_the_limit(fleet: Fleet, aws: Aws) -> None:
    """One that adopts a load balancer that is there: its slot may be the last."""
    full(fleet, autoCreate=create(fleet, 1))
    PortPoolLedger(fleet.services.ledger("arena")).adopt(1)
    sweep(fleet.services)
    assert len(fleet.requests) == 1
