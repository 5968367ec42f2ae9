"""The readiness gate: a pod with it is ready exactly while its state is Bound, in the same write."""

from __future__ import annotations

from typing import Any

import pytest

from domain.kubernetes.names import PORTS_BOUND
from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from workers.kube.pods import PodClient


def condition(fleet: Fleet, name: str = "a") -> dict[str, Any] | None:
    conditions = fleet.api.get(fleet.pod_path(name))["status"].get("conditions") or ()
    return next((each for each in conditions if each["type"] == PORTS_BOUND), None)


def said(fleet: Fleet) -> tuple[str, str]:
    """Status and reason of the condition."""
    found = condition(fleet)
    assert found
    return found["status"], found["reason"]


@pytest.mark.row("BD-11")
def test_a_pod_with_the_gate_is_ready_once_its_ports_are_bound_and_no_longer_when_they_are_not(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", gates=[PORTS_BOUND])
    fleet.settle()
    assert said(fleet) == ("False", "WaitBackend")
    fleet.address("a", "10.0.0.1")
    fleet.settle()
    assert said(fleet) == ("True", "Bound")
    fleet.annotate("a", ports_enabled="false")
    fleet.settle()
    assert said(fleet) == ("False", "Disabled")
    fleet.annotate("a", ports_enabled=None)
    fleet.settle()
    assert said(fleet) == ("True", "Bound")
    fleet.annotate("a", ports=None)
    fleet.settle()
    assert said(fleet) == ("False", "NothingBound")


@pytest.mark.row("BD-11")
def test_other_conditions_are_left_alone(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", gates=[PORTS_BOUND])
    started = {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    fleet.api.join(f"{fleet.pod_path('a')}/status", {"status": {"conditions": [started]}})
    fleet.settle()
    kept = fleet.api.get(fleet.pod_path("a"))["status"]
    assert [started.items() <= each.items() for each in kept["conditions"]].count(True) == 1
    assert kept["podIP"] == "10.0.0.1"
    assert said(fleet) == ("True", "Bound")


@pytest.mark.row("BD-11")
def test_a_pod_without_the_gate_gets_no_condition(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", gates=["other.example/gate"])
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert condition(fleet) is None


@pytest.mark.row("BD-11", "BD-07")
def test_a_pod_is_never_ready_without_its_endpoints_nor_before_its_port_is_given_back(fleet: Fleet, aws: Aws) -> None:
    """Whatever fails between: each version that the API server has had is right in itself."""
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", gates=[PORTS_BOUND])
    fleet.settle()
    aws.fault("DeleteListener", code="InternalFailure", status=500)
    fleet.annotate("a", ports=None)
    fleet.sync()
    fleet.drain()
    assert (said(fleet), fleet.shown("a")[1]) == (("False", "Releasing"), [])
    assert fleet.owners("arena")


@pytest.mark.row("BD-11")
def test_a_condition_that_somebody_else_changed_is_set_right(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", gates=[PORTS_BOUND])
    fleet.settle()
    wrong = {"status": {"conditions": [{"type": PORTS_BOUND, "status": "False"}]}}
    fleet.api.join(f"{fleet.pod_path('a')}/status", wrong)
    fleet.settle()
    assert said(fleet) == ("True", "Bound")


@pytest.mark.row("BD-11", "BD-23")
def test_a_run_that_is_late_does_not_make_a_pod_ready(fleet: Fleet) -> None:
    """The condition carries the version that the run read, as the annotations do."""
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", gates=[PORTS_BOUND])
    fleet.sync()
    fleet.drain()
    pods = Overtaken(fleet)
    fleet.scale()
    fleet.run(f"pod/{fleet.namespace}/a", fleet.other(pods=pods))
    assert said(fleet)[0] == "False"
    fleet.settle()
    assert said(fleet) == ("False", "Disabled")


class Overtaken(PodClient):
    """Somebody isolates the pod right before the write."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet.api)
        self._fleet = fleet

    def show(self, *args: Any) -> Any:
        self._fleet.annotate("a", ports_enabled="false")
        return super().show(*args)
