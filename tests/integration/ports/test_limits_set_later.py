"""A limit that is set later is no fault of a pod that has all it asks for."""

from __future__ import annotations

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.pool_edits import create, edit
from tests.support.ports.world_checks import check_all
from workers.kube.port_pools import PATH


def test_share_lowered_below_what_a_bound_pod_holds(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    edit(fleet, maxPortsPerNamespace=1)
    fleet.settle()
    fleet.address("a", "10.0.0.7")
    fleet.settle()
    state, rows, message = fleet.shown("a")
    assert (state, [r["target"][:8] for r in rows], message) == ("Bound", ["10.0.0.7"] * 2, "")


def test_max_lowered_below_what_a_bound_pod_holds(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena,7779/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    edit(fleet, autoCreate=create(fleet, 1))
    fleet.settle()
    fleet.address("a", "10.0.0.7")
    fleet.settle()
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Bound", "")


@pytest.mark.parametrize("enabled", [True, False])
def test_max_lowered_and_a_pod_that_fits_what_stands(fleet: Fleet, aws: Aws, enabled: bool) -> None:
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena,7779/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    edit(
        fleet,
        autoCreate=create(fleet, 1, enabled),
        loadBalancers=[] if enabled else [fleet.driver.find_owned_load_balancers(fleet.cluster)[0].arn],
    )
    fleet.delete("a")
    fleet.pod("b", "7777/UDP@arena,7778/UDP@arena,7779/UDP@arena", ip="10.0.0.2")
    fleet.settle()
    assert (fleet.state("b"), fleet.shown("b")[2]) == ("Bound", "")


def test_max_lowered_and_a_pod_that_does_not_fit_what_stands(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena,7779/UDP@arena", ip="10.0.0.1")
    fleet.settle()
    edit(fleet, autoCreate=create(fleet, 1))
    fleet.pod("b", ",".join(f"{n}/UDP@arena" for n in range(1, 6)), ip="10.0.0.2")
    fleet.settle()
    assert fleet.state("b") == "Failed"
    assert "5 ports are asked for and the pool can never have more than 2 x 2" in fleet.shown("b")[2]


def test_max_lowered_and_the_pod_that_retained_comes_back(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", endPort=30001)
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena,7779/UDP@arena", ip="10.0.0.1", ports_retain="true")
    fleet.settle()
    edit(fleet, autoCreate=create(fleet, 1))
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena,7779/UDP@arena", ip="10.0.0.1", ports_retain="true")
    fleet.settle()
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Bound", "")


def test_same_port_set_on_a_bound_pod_of_disjoint_ranges(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pool("lobby", startPort=40000, endPort=40999)
    fleet.pod("a", "7=7/UDP@arena+lobby", ip="10.0.0.5")
    fleet.settle()
    fleet.annotate("a", same_port_across_pools="true")
    fleet.settle()
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Bound", "")


CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0be47a57"


def test_certificate_taken_from_the_pool_of_a_bound_pod(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena", certificateArn=CERTIFICATE)
    fleet.pod("a", "web=443/TLS@arena", ip="10.0.0.5")
    fleet.settle()
    fleet.api.patch(f"{PATH}/arena", {"spec": {"certificateArn": None}})
    fleet.settle()
    fleet.address("a", "10.0.0.9")
    fleet.settle()
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Bound", "")


def test_retained_ports_of_a_tenant_whose_share_was_lowered_come_back(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.1", ports_retain="true")
    fleet.settle()
    before = fleet.owners("arena")
    fleet.api.patch(f"{PATH}/arena", {"spec": {"maxPortsPerNamespace": 1}})
    fleet.settle()
    fleet.delete("a")
    fleet.pod("a", "7777/UDP@arena,7778/UDP@arena", ip="10.0.0.2", ports_retain="true")
    fleet.settle()
    assert (fleet.state("a"), fleet.owners("arena")) == ("Bound", before)
    check_all(fleet, aws)
