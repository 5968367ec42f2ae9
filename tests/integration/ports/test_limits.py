"""What the account may have: a load balancer gives no more ports than that, and a refusal names the number."""

from __future__ import annotations

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet

MANY = "(the account may have 0 network load balancers in us-east-1)"


@pytest.mark.row("CL-10", "PP-06")
def test_a_load_balancer_gives_no_more_ports_than_the_account_allows(fleet: Fleet, aws: Aws) -> None:
    aws.change(quotas={"listeners_per_load_balancer": 2})
    fleet.pool("arena")
    for n in range(5):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    assert [lb.capacity for lb in fleet.ledger("arena").load_balancers] == [2, 2, 2]
    assert [fleet.state(f"p{n}") for n in range(5)] == ["Bound"] * 5
    assert "CreateListener TooManyListeners" not in aws.refusals()


@pytest.mark.row("CL-10", "SU-09")
def test_a_refused_scale_up_says_how_many_load_balancers_there_may_be(fleet: Fleet, aws: Aws) -> None:
    aws.change(quotas={"load_balancers": 0})
    fleet.pool("arena")
    fleet.pod("p0", "7777/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    fleet.drain()
    fleet.scale()
    listed = fleet.api.list("/api/v1/namespaces/default/events")["items"]
    told = [e["message"] for e in listed if e["reason"] == "ScaleUpFailed"]  # also those of other tests
    assert any("TooManyLoadBalancers" in each and each.endswith(MANY) for each in told)
