"""After a loss of Redis, a pod gets nothing by what its author has written into its annotations that it would not get
by asking for it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from domain.kubernetes.names import ENDPOINTS
from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.precreated import WANT, registered, stocked
from tests.support.ports.world_checks import check_all


def forge(fleet: Fleet, name: str, rows: list[dict[str, Any]]) -> None:
    """Writes into a pod what another pod, or nobody, was given."""
    fleet.api.patch(fleet.pod_path(name), {"metadata": {"annotations": {ENDPOINTS: json.dumps(rows)}}})


def lose_redis(fleet: Fleet) -> None:
    fleet.redis.flushall()
    fleet.settle()


@pytest.mark.row("HO-06")
def test_a_precreated_port_of_a_living_pod_stays_with_it(fleet: Fleet, aws: Aws) -> None:
    """The forger comes first by name, and nothing but the registered target tells who is served."""
    arn = stocked(fleet, aws, tcp=0, udp=1)
    fleet.pod("victim", WANT, ip="10.0.0.1")
    fleet.settle()
    fleet.pod("a-forger", WANT, ip="10.0.0.66")
    forge(fleet, "a-forger", fleet.shown("victim")[1])
    lose_redis(fleet)
    assert (fleet.state("victim"), fleet.state("a-forger")) == ("Bound", "NoPortAvailable")
    assert registered(fleet, arn) == {30000: ["10.0.0.1:7777"]}
    assert fleet.shown("a-forger")[1] == []
    check_all(fleet, aws)


@pytest.mark.row("HO-06", "BD-22")
def test_a_precreated_port_that_is_kept_for_another_stays_kept(fleet: Fleet, aws: Aws) -> None:
    arn = stocked(fleet, aws, tcp=0, udp=1)
    fleet.pod("owner", WANT, ip="10.0.0.1", ports_retain="10m")
    fleet.settle()
    rows = fleet.shown("owner")[1]
    fleet.delete("owner")
    fleet.settle()
    fleet.pod("a-forger", WANT, ip="10.0.0.66")
    forge(fleet, "a-forger", rows)
    lose_redis(fleet)
    assert fleet.state("a-forger") == "NoPortAvailable"
    assert registered(fleet, arn) == {}
    fleet.pod("owner", WANT, ip="10.0.0.2", ports_retain="10m")
    fleet.settle()
    assert registered(fleet, arn) == {30000: ["10.0.0.2:7777"]}
    check_all(fleet, aws)


@pytest.mark.row("HO-06")
@pytest.mark.parametrize("precreated", [False, True], ids=["listener a pod", "precreated"])
@pytest.mark.parametrize("limit", ["namespaces", "share"])
def test_a_namespace_gets_no_more_than_an_allocation_would_give_it(
    fleet: Fleet, aws: Aws, limit: str, precreated: bool
) -> None:
    most = {"maxPortsPerNamespace": 1}
    nobody = {"allowedNamespaces": {"matchLabels": {"tenant": "somebody-else"}}}
    limits: dict[str, Any] = nobody if limit == "namespaces" else most
    if precreated:
        stocked(fleet, aws, tcp=0, udp=3, **limits)
    else:
        fleet.pool("arena", **limits)
        fleet.settle()
    lb = f"mine0-{fleet.cluster}" if precreated else "bm-arena"
    for n, name in enumerate(("one", "two")):
        fleet.pod(name, WANT, ip=f"10.0.0.{n + 1}")
    fleet.settle()
    given = [name for name in ("one", "two") if fleet.state(name) == "Bound"]
    assert len(given) == (limit == "share")
    lb = next((row["loadBalancer"] for name in given for row in fleet.shown(name)[1]), lb)
    for n, name in enumerate(("one", "two")):
        if name not in given:
            row = {"pool": "arena", "loadBalancer": lb, "port": 30001 + n, "containerPort": 7777, "protocol": "UDP"}
            forge(fleet, name, [row | {"target": f"10.0.0.{n + 1}:7777"}])
    lose_redis(fleet)
    assert [name for name in ("one", "two") if fleet.state(name) == "Bound"] == given
    assert sorted(name for name in fleet.owners("arena")) == sorted(f"{fleet.namespace}/{name}" for name in given)
    check_all(fleet, aws)


@pytest.mark.row("HO-06", "AL-19")
def test_a_pod_that_was_bound_before_its_namespaces_share_was_lowered_keeps_its_precreated_port(
    fleet: Fleet, aws: Aws
) -> None:
    arn = stocked(fleet, aws, tcp=0, udp=2)
    for n, name in enumerate(("one", "two")):
        fleet.pod(name, WANT, ip=f"10.0.0.{n + 1}")
    fleet.settle()
    fleet.api.patch("/apis/berthmaster.dev/v1alpha1/portpools/arena", {"spec": {"maxPortsPerNamespace": 1}})
    fleet.settle()
    before = registered(fleet, arn)
    lose_redis(fleet)
    assert [fleet.state(name) for name in ("one", "two")] == ["Bound", "Bound"]
    assert registered(fleet, arn) == before
    check_all(fleet, aws)
