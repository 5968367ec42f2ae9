"""Each transition of a port and of its pool is one line of the log, with who, where and why."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.log_lines import told
from tests.support.ports.fleet import Fleet

ONE = {"pool": "arena", "port": 30000}


def lived(fleet: Fleet) -> list[Any]:
    """The lines of a pod that makes its pool grow, is bound, and goes."""
    with capture_logs() as lines:
        fleet.pool("arena")
        fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
        fleet.settle()
        assert fleet.state("a") == "Bound"
        fleet.delete("a")
        fleet.settle()
        assert not any(fleet.owners("arena").values())
    return lines


@pytest.mark.row("EV-17")
def test_each_transition_of_a_port_is_one_line(fleet: Fleet) -> None:
    lines, pod = lived(fleet), f"{fleet.namespace}/a"
    expected: list[tuple[str, dict[str, object]]] = [
        ("allocation_failed", {"pod": pod, "pool": "arena"}),
        ("scale_up_requested", {"pool": "arena"}),
        ("load_balancers_added", {"pool": "arena", "woken": 1}),
        ("port_allocated", {"pod": pod, **ONE}),
        ("pod_state_changed", {"pod": pod, "state": "Bound"}),
        ("port_released", {"pod": pod, **ONE}),
    ]
    assert [(event, len(told(lines, event, **facts))) for event, facts in expected] == [(e, 1) for e, _ in expected]
    (allocated,) = told(lines, "port_allocated")
    assert allocated["lb"] in told(lines, "load_balancers_added")[0]["lbs"]
    assert told(lines, "port_recorded", pod=pod, lb=allocated["lb"], port=30000) != []
