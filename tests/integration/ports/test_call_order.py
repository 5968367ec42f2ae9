"""Which of a pod's calls go before the calls of others when the call budget is short."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Interposed
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import create
from workers.cloud.call_budget import ApiClass, OverBudget
from workers.cloud.priority import Priority


@dataclass
class Asked:
    """Buckets that always give, and remember who asked for a write."""

    writes: list[tuple[str, Priority]] = field(default_factory=list)

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        if api_class is ApiClass.WRITE:
            self.writes.append((caller.partition("/")[0], priority))
        return None

    def drain(self, api_class: ApiClass) -> None:
        """Nobody throttles here."""


def test_a_pod_that_has_a_target_group_goes_before_those_without(fleet: Fleet, aws: Aws) -> None:
    asked = Asked()
    fleet.driver = aws.driver(asked)
    fleet.pool("arena")
    fleet.pod("a", "1/TCP@arena", "10.0.0.1")
    fleet.settle()
    growth, *binding = asked.writes
    assert growth == ("scale-up", Priority.GROW)
    assert binding == [("pod", Priority.BIND), ("pod", Priority.FINISH)]


@pytest.mark.parametrize("action", ["ensure_listener", "register"])
@pytest.mark.parametrize(("seconds", "state"), [(1, ""), (60, "Allocated")])
def test_a_pod_that_waits_long_for_the_call_budget_says_so_once(
    fleet: Fleet, action: str, seconds: int, state: str
) -> None:
    fleet.pool("arena")
    fleet.pod("first", "1/TCP@arena", "10.0.0.1")
    fleet.settle()
    fleet.pod("a", "1/TCP@arena", "10.0.0.5")
    fleet.sync()

    def over_budget() -> None:
        raise OverBudget("no token yet", timedelta(seconds=seconds))

    for _ in range(2):
        fleet.run_pod_with("a", Interposed(fleet.driver, action, over_budget))
        fleet.due()
    assert fleet.state("a") == state
    assert fleet.events("a") == ["PortsAllocated"] * bool(state)
    fleet.settle()
    assert fleet.shown("a")[0::2] == ("Bound", "")


@pytest.mark.row("BD-42")
def test_a_pod_that_has_waited_for_a_port_says_at_the_first_short_wait_that_it_has_one(fleet: Fleet) -> None:
    fleet.pool("arena", endPort=30001, autoCreate=create(fleet, 1))
    fleet.pod("first", "1/TCP@arena, 2/TCP@arena", "10.0.0.1")
    fleet.settle()
    fleet.pod("a", "1/TCP@arena", "10.0.0.5")
    fleet.settle()
    assert fleet.state("a") == "NoPortAvailable"
    fleet.delete("first")
    fleet.sync()
    fleet.run_pod("first")

    def over_budget() -> None:
        raise OverBudget("no token yet", timedelta(milliseconds=100))

    fleet.run_pod_with("a", Interposed(fleet.driver, "ensure_listener", over_budget))
    assert fleet.state("a") == "Allocated"
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"
