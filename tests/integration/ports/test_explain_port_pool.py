"""`berthmaster explain port-pool`: what a pool has, and what a request would get."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from tests.integration.ports.conftest import Command
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import create


@pytest.mark.row("AL-25")
def test_explain_says_what_a_request_would_get_of_a_port_pool_and_takes_nothing(
    fleet: Fleet, redis: Redis, berthmaster: Command
) -> None:
    fleet.pool("arena", endPort=30003, autoCreate=create(fleet, 2))
    fleet.pod("p0", "7777/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    before = fleet.ledger("arena"), {key: redis.dump(key) for key in redis.keys("{pp:arena}*")}
    [lb] = before[0].load_balancers

    def tried(ports: str) -> Any:
        status, found, _ = berthmaster("explain", "port-pool", "arena", "--ports", ports, "--json")
        assert (status, found["free"], found["used"], found["capacity"]) == (0, 3, 1, 4)
        return found["trial"]

    for ports in ("1/TCP,2-3/UDP@arena", "1/TCP\n2-3/UDP"):
        assert tried(ports)["places"] == [[lb.name, 30001, 2], [lb.name, 30003, 1]]
    grown = tried("1-4/UDP")
    assert (grown["places"], grown["grows_by"]) == ([], 1)
    assert (
        tried("1-5/UDP")["why_not"]
        == "pool arena: 5 ports in a row are asked for and a load balancer of the pool has 4"
    )
    status, said, why = berthmaster("explain", "port-pool", "arena", "--ports", "1/SCTP")
    assert (status, said) == (2, ""), "nobody can read it"
    assert why.startswith("--ports: ")
    assert "SCTP" in why
    assert (fleet.ledger("arena"), {key: redis.dump(key) for key in redis.keys("{pp:arena}*")}) == before
    text = berthmaster("explain", "port-pool", "arena", "--ports", "1-4/UDP")[1]
    assert "ports: 1 of 4 in use, 3 are free, no pod waits" in text
    assert "1-4/UDP: no free port fits: it waits, and the pool creates one load balancer" in text


@pytest.mark.row("AL-25")
def test_explain_says_why_a_port_pool_would_not_serve_a_namespace(fleet: Fleet, berthmaster: Command) -> None:
    fleet.pool("arena", maxPortsPerNamespace=2)
    fleet.pod("p0", "7777/UDP@arena, 7778/UDP@arena", ip="10.0.0.1")
    fleet.settle()

    def tried(*arguments: str) -> Any:
        return berthmaster("explain", "port-pool", "arena", "--ports", "1/TCP", "--json", *arguments)[1]["trial"]

    assert len(tried()["places"]) == 1
    assert len(tried("--namespace", "elsewhere")["places"]) == 1
    assert tried("--namespace", fleet.namespace)["why_not"].endswith("has used up its 2 ports: it waits")


def test_explain_of_a_port_pool_that_is_not_there_says_so(fleet: Fleet, berthmaster: Command) -> None:
    status, _, errors = berthmaster("explain", "port-pool", "nowhere")
    assert (status, errors.strip()) == (
        1,
        "nowhere has no ledger: there is no such PortPool, or its spec was never accepted",
    )
