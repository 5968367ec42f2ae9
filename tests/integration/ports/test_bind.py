"""One pod's way to its ports and back."""

from __future__ import annotations

import pytest

from tests.fixtures.aws import Aws
from tests.support.fleet import Fleet


@pytest.mark.row("BD-09", "SU-01", "SU-06", "SU-15")
def test_a_pod_gets_a_port_on_a_load_balancer_that_its_failure_created(fleet: Fleet, aws: Aws) -> None:
    fleet.pod("a", "game=7777/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    assert fleet.state("a") == "PoolNotFound"
    fleet.pool("arena")
    fleet.settle()
    state, endpoints, message = fleet.shown("a")
    assert (state, message) == ("Bound", "")
    row = endpoints[0]
    assert (row["name"], row["containerPort"], row["protocol"], row["port"]) == ("game", 7777, "UDP", 30000)
    assert row["address"] == f"{row['host']}:30000"
    counts = aws.counts()
    assert {a: counts.get(a, 0) for a in ("CreateLoadBalancer", "CreateTargetGroup", "CreateListener", "RegisterTargets")} == {
        "CreateLoadBalancer": 1, "CreateTargetGroup": 1, "CreateListener": 1, "RegisterTargets": 1,
    }  # fmt: skip
    assert fleet.events("a") == ["PortsBound", "PortsNoPortAvailable", "PortsPoolNotFound"]
