"""What people read about a pool."""

from __future__ import annotations

from typing import Any

import pytest

from domain.port_pools.status import Findings, LoadBalancerLine, pool_status


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
        "conditions": [
            {"type": "Valid", "status": "True", "reason": "Accepted", "message": ""},
            {"type": "LoadBalancersFound", "status": "True", "reason": "AllFound", "message": ""},
            {"type": "Ready", "status": "True", "reason": "Ready", "message": ""},
        ],
    }


@pytest.mark.row("PP-20", "PP-14")
@pytest.mark.parametrize(
    ("changes", "state"),
    [({}, "Active"), ({"allocated": 47}, "Full"), ({"capacity": 0}, "Full"), ({"special": "NotFound"}, "NotFound")],
)
def test_a_load_balancer_is_active_full_or_not_found(changes: dict[str, Any], state: str) -> None:
    (row,) = pool_status("Active", "1", 0, [line(**changes)], 1)["loadBalancers"]
    assert row["state"] == state


def conditions(state: str = "Active", lines: tuple[LoadBalancerLine, ...] = (), **found: Any) -> dict[str, str]:
    """Type -> `status reason: message`."""
    told = pool_status(state, "1", 0, lines, 1, Findings(**found))["conditions"]
    return {c["type"]: f"{c['status']} {c['reason']}: {c['message']}" for c in told}


@pytest.mark.row("PP-02", "PP-20")
def test_a_faulty_spec_is_told_in_a_condition() -> None:
    problem = "spec: endPort must be greater than startPort"
    status = pool_status("Pending", "", 0, [], 1, Findings(invalid=problem))
    assert (status["state"], status["epoch"], status["loadBalancerCount"]) == ("Pending", 0, 0)
    told = conditions("Pending", invalid=problem)
    assert (told["Valid"], told["Ready"]) == (f"False Invalid: {problem}", f"False Invalid: {problem}")


@pytest.mark.row("PP-24")
def test_a_conflict_with_another_pool_is_told_in_a_condition() -> None:
    told = conditions("Pending", conflict="it overlaps lobby")
    assert (told["Valid"], told["Ready"]) == ("False Conflict: it overlaps lobby", "False Conflict: it overlaps lobby")


@pytest.mark.row("PP-14")
def test_load_balancers_of_no_use_are_named_with_the_reason() -> None:
    assert conditions(unusable={"arn:b": "it is gone", "arn:a": "it is red"})["LoadBalancersFound"] == (
        "False Unusable: arn:a: it is red; arn:b: it is gone"
    )
    many = conditions(unusable={f"arn:{n:02}": "gone" for n in range(12)})["LoadBalancersFound"]
    assert many.endswith("arn:09: gone (and 2 more)")


@pytest.mark.row("PP-20", "PP-21")
@pytest.mark.parametrize(
    ("state", "full", "found", "ready"),
    [
        ("Active", False, {}, "True Ready: "),
        ("Active", False, {"trouble": "AWS said no"}, "True Ready: "),
        ("Active", True, {"growable": True}, "True Ready: "),
        ("Active", True, {"growable": True, "trouble": "AWS said no"}, "False Refused: AWS said no"),
        ("Active", True, {}, "False Exhausted: no load balancer has a free port, and no other may be created"),
        ("Pending", False, {}, "False Pending: the ledger of the pool is not ready yet"),
        ("Pending", False, {"trouble": "AWS said no"}, "False Refused: AWS said no"),
        ("Deleting", False, {}, "False Deleting: the pool is being deleted"),
        ("Deleting", False, {"left": "2 pods hold ports"}, "False Deleting: 2 pods hold ports"),
    ],
)
def test_a_pool_is_ready_when_it_can_give_a_port(state: str, full: bool, found: dict[str, Any], ready: str) -> None:
    lines = (line(allocated=47 if full else 3),)
    assert conditions(state, lines, **found)["Ready"] == ready
