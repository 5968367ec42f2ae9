"""What people read about a pool."""

from __future__ import annotations

from typing import Any

import pytest

from domain.ports.pool_status import LoadBalancerLine, pool_status


def line(name: str = "bm-1", **changes: Any) -> LoadBalancerLine:
    start: dict[str, Any] = {
        "arn": f"arn:{name}",
        "dns_name": f"{name}.example",
        "allocated": 3,
        "capacity": 47,
        "auto_created": True,
        "foreign": 3,
    }
    return LoadBalancerLine(name, **start | changes)


@pytest.mark.row("PP-20")
def test_a_status_sums_up_its_load_balancers() -> None:
    lines = [line(), line("bm-2", allocated=50, capacity=50, foreign=0, auto_created=False)]
    status = pool_status("Active", "1790000000001", 2, lines, 4)
    assert status == {
        "state": "Active",
        "epoch": 1790000000001,
        "observedGeneration": 4,
        "capacity": 97,
        "allocated": 53,
        "waiting": 2,
        "loadBalancerCount": 2,
        "loadBalancers": [
            {
                "name": "bm-1",
                "arn": "arn:bm-1",
                "dnsName": "bm-1.example",
                "state": "Active",
                "allocated": 3,
                "capacity": 47,
                "autoCreated": True,
                "foreignListeners": 3,
            },
            {
                "name": "bm-2",
                "arn": "arn:bm-2",
                "dnsName": "bm-2.example",
                "state": "Full",
                "allocated": 50,
                "capacity": 50,
                "autoCreated": False,
                "foreignListeners": 0,
            },
        ],
        "conditions": [{"type": "Valid", "status": "True", "reason": "Accepted", "message": ""}],
    }


@pytest.mark.row("PP-20", "PP-14")
@pytest.mark.parametrize(
    ("changes", "state"),
    [({}, "Active"), ({"allocated": 47}, "Full"), ({"capacity": 0}, "Full"), ({"missing": True}, "NotFound")],
)
def test_a_load_balancer_is_active_full_or_not_found(changes: dict[str, Any], state: str) -> None:
    (row,) = pool_status("Active", "1", 0, [line(**changes)], 1)["loadBalancers"]
    assert row["state"] == state


@pytest.mark.row("PP-02", "PP-20")
def test_a_faulty_spec_is_told_in_a_condition() -> None:
    status = pool_status("Pending", "", 0, [], 1, "spec: endPort must be greater than startPort")
    assert (status["state"], status["epoch"], status["loadBalancerCount"]) == ("Pending", 0, 0)
    assert status["conditions"] == [
        {
            "type": "Valid",
            "status": "False",
            "reason": "Invalid",
            "message": "spec: endPort must be greater than startPort",
        }
    ]
