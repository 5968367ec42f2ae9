"""What a pod is told when AWS refuses, and how long what cannot be done yet is tried."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key
from domain.backoff import RetryPolicy
from domain.outcome import Wait
from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from workers.cloud.errors import Busy, CloudDenied, CloudInvalid
from workers.ports.reconciler import PodReconciler
from workers.reconcile import reconcile

DENIED = CloudDenied("CreateListener", "AccessDenied", "not allowed", "AWS")
BUSY = Busy("CreateListener", "PriorRequestNotComplete", "later", "AWS")
INVALID = CloudInvalid("CreateListener", "InvalidTarget", "odd", "AWS")


class Refusing:
    """A driver whose listeners fail with what `error` makes."""

    def __init__(self, driver: Any, error: BaseException) -> None:
        self._driver, self._error = driver, error

    def on_behalf_of(self, *args: Any, **named: Any) -> Refusing:
        return Refusing(self._driver.on_behalf_of(*args, **named), self._error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def ensure_listener(self, *_: Any) -> str:
        raise self._error


def wrapped(cause: BaseException) -> TransientError:
    error = TransientError("the port cannot be bound")
    error.__cause__ = cause
    return error


@pytest.mark.row("BD-30")
@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (wrapped(DENIED), "Failed", "AWS CreateListener: AccessDenied"),
        (wrapped(wrapped(INVALID)), "Failed", "AWS CreateListener: InvalidTarget: odd"),
        (wrapped(BUSY), "Allocated", "AWS CreateListener: PriorRequestNotComplete"),
        (ExceptionGroup("two", [BUSY, DENIED]), "Failed", "AWS CreateListener: AccessDenied"),
        (wrapped(ExceptionGroup("two", [BUSY])), "Allocated", "AWS CreateListener: PriorRequestNotComplete"),
    ],
)
def test_a_wrapped_error_selects_the_state_of_what_is_in_it_and_is_tried_again(
    fleet: Fleet, error: BaseException, state: str, message: str
) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    fleet.drain()
    fleet.scale()
    outcome = fleet.run_pod_with("a", Refusing(fleet.driver, error))
    assert isinstance(outcome, Wait)
    assert (fleet.shown("a")[0], fleet.shown("a")[2]) == (state, message)
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"


@pytest.mark.row("CL-05", "FZ-03")
def test_what_stays_in_use_is_tried_ever_less_often_and_its_port_given_to_nobody(fleet: Fleet, aws: Aws) -> None:
    """After a late call of a stale run, AWS says in use as long as it takes."""
    fleet.pool("arena", endPort=30001, autoCreate=fleet_of_one(fleet))
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    fleet.pod("b", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.2")
    aws.fault("DeleteTargetGroup", code="ResourceInUse", times=None)
    fleet.delete("a")
    fleet.sync()
    policy = RetryPolicy(timedelta(seconds=1), timedelta(seconds=8), jitter=0)
    waits = list[float]()
    for _ in range(5):
        fleet.due()
        key = pod_key(fleet.namespace, "a")
        outcome = reconcile(fleet.queue, key, PodReconciler(fleet.services), policy)
        assert isinstance(outcome, Wait)
        assert "ResourceInUse" in outcome.reason
        waits.append(outcome.for_.total_seconds())
    assert waits == [1, 2, 4, 8, 8]
    fleet.settle()
    assert fleet.state("b") == "NoPortAvailable"
    aws.heal()
    fleet.due()
    fleet.settle()
    assert fleet.state("b") == "Bound"


def fleet_of_one(fleet: Fleet) -> dict[str, Any]:
    return {"enabled": True, "maxLoadBalancers": 1, "parameters": {"subnets": list(fleet.network.subnets)}}


@pytest.mark.row("CL-16", "CL-04")
@pytest.mark.parametrize("code", ["ExpiredToken", "RequestExpired", "InvalidClientTokenId"])
def test_credentials_that_expired_on_the_way_cost_a_try_and_nothing_else(fleet: Fleet, aws: Aws, code: str) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    fleet.drain()
    fleet.scale()
    aws.fault("CreateListener", code=code, status=403)
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert len(fleet.driver.target_groups_owned(fleet.cluster)) == 1


@pytest.mark.row("CL-01")
def test_workers_that_start_again_ask_aws_for_nothing_that_has_not_changed(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    for n in range(12):
        fleet.pod(f"p{n}", "7777/UDP@arena,7778/TCP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    before = aws.counts()
    fleet.driver = aws.driver()  # a process that remembers nothing
    keys = [*(pod_key(fleet.namespace, f"p{n}") for n in range(12)), "portpool/arena"]
    fleet.queue.touch(keys)
    fleet.settle()
    assert all(fleet.state(f"p{n}") == "Bound" for n in range(12))
    assert aws.counts() == before
