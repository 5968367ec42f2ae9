"""What a pod may ask for: ports in a row, one entry in several pools, a request that changes while the pod lives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.support.faults.interruption import Fuse, Killed
from tests.support.ports.fleet import Fleet
from tests.support.ports.world_checks import check_all
from workers.kube.port_pools import PATH

CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0be47a57"
WRITES = ("Create", "Delete", "Modify", "Register", "Deregister", "AddTags")


def writes(aws: Aws) -> dict[str, int]:
    return {action: count for action, count in aws.counts().items() if action.startswith(WRITES)}


def rows(fleet: Fleet, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """(name, pool) -> published endpoint."""
    return {(row["name"], row["pool"]): row for row in fleet.shown(name)[1]}


def ports(fleet: Fleet, name: str) -> dict[tuple[str, str], int]:
    return {key: row["port"] for key, row in rows(fleet, name).items()}


@pytest.mark.row("PP-08", "BD-09")
def test_a_range_is_ports_in_a_row_of_one_load_balancer_shown_as_one_endpoint(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("first", "7777/UDP@arena", ip="10.0.0.4")
    fleet.settle()
    fleet.pod("a", "rtp=10000-10009/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    (row,) = fleet.shown("a")[1]
    assert (row["port"], row["endPort"], row["containerPort"]) == (30001, 30010, 10000)
    assert (row["target"], row["status"]) == ("10.0.0.5:10000", "Ready")
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    listeners = {listener.port: listener for listener in fleet.driver.listeners(lb.arn)}
    for n in range(10):
        targets = fleet.driver.targets(listeners[30001 + n].target_group_arn)
        assert [(t.ip, t.port) for t in targets] == [("10.0.0.5", 10000 + n)]
    check_all(fleet, aws)


@pytest.mark.row("AL-09")
def test_an_entry_of_several_pools_gets_a_port_in_each(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pool("lobby", startPort=40000, endPort=40999)
    fleet.pod("a", "game=7777/UDP@arena+lobby", ip="10.0.0.5")
    fleet.settle()
    assert ports(fleet, "a") == {("game", "arena"): 30000, ("game", "lobby"): 40000}
    check_all(fleet, aws)


@pytest.mark.row("SU-01", "SU-12")
def test_free_ports_that_are_not_in_a_row_keep_no_pool_from_growing(fleet: Fleet) -> None:
    """In number they would serve the range, so that the demand alone asks for nothing."""
    fleet.pool("arena", endPort=30005)
    for n in range(6):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.1.{n + 1}")
    fleet.settle()
    holes = [n for n in range(6) if ports(fleet, f"p{n}")["7777-udp", "arena"] % 2]
    for n in holes:
        fleet.delete(f"p{n}")
    fleet.settle()
    fleet.pod("a", "rtp=10-12/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    row = rows(fleet, "a")["rtp", "arena"]
    assert (row["port"], row["endPort"]) == (30000, 30002)
    assert len(fleet.ledger("arena").load_balancers) == 2


@pytest.mark.row("SU-12")
def test_a_range_beyond_a_load_balancer_is_refused_and_creates_none(fleet: Fleet) -> None:
    fleet.pool("arena", endPort=30009)
    fleet.pod("a", "rtp=100-110/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    assert fleet.shown("a") == (
        "Failed",
        [],
        "pool arena: 11 ports in a row are asked for and a load balancer of the pool has 10",
    )
    assert fleet.ledger("arena").load_balancers == ()


@pytest.mark.row("PP-08")
def test_a_pool_of_segments_gives_whole_ones_up_to_its_last_port(fleet: Fleet, aws: Aws) -> None:
    """Ports 30000 to 30010 are two segments of four and three ports that belong to none."""
    create = {"enabled": True, "maxLoadBalancers": 1, "parameters": {"subnets": list(fleet.network.subnets)}}
    fleet.pool("arena", endPort=30010, segmentLength=4, autoCreate=create)
    for name in ("a", "b", "c"):
        fleet.pod(name, "game=7777/UDP@arena", ip="10.0.0.5")
        fleet.settle()
    found = [rows(fleet, name).get(("game", "arena")) for name in ("a", "b", "c")]
    assert [row and (row["port"], row["endPort"], row["containerPort"]) for row in found] == [
        (30000, 30003, 7777),
        (30004, 30007, 7777),
        None,
    ]
    seen = fleet.ledger("arena")
    assert (fleet.state("c"), seen.capacity, seen.allocated) == ("NoPortAvailable", 8, 8)
    check_all(fleet, aws)
    fleet.delete("a")
    fleet.settle()
    assert ports(fleet, "c") == {("game", "arena"): 30000}


@pytest.mark.row("PP-08", "AL-19")
def test_ranges_and_segments_are_found_again_after_a_loss_of_redis(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pool("lobby", startPort=40000, endPort=40999, segmentLength=5)
    fleet.pod("a", "rtp=10000-10003/UDP@arena+lobby", ip="10.0.0.5")
    fleet.settle()
    before = fleet.shown("a"), fleet.owners("arena"), fleet.owners("lobby")
    written = writes(aws)
    fleet.redis.flushall()
    fleet.settle()
    assert (fleet.shown("a"), fleet.owners("arena"), fleet.owners("lobby")) == before
    assert writes(aws) == written
    fleet.pod("b", "rtp=10000-10003/UDP@arena", ip="10.0.0.6")
    fleet.settle()
    assert ports(fleet, "b") == {("rtp", "arena"): 30004}


@pytest.mark.row("PP-08", "AL-19", "AL-01")
def test_a_run_that_died_half_made_and_unseen_is_given_back_after_a_loss_of_redis(fleet: Fleet, aws: Aws) -> None:
    """Nobody knows its other ports any more: they may be given to others."""
    fleet.pool("arena", endPort=30005)
    fleet.pod("first", "1/UDP@arena", ip="10.0.0.4")
    fleet.settle()
    fleet.pod("a", "rtp=10000-10003/UDP@arena", ip="10.0.0.5")
    fleet.sync()
    with pytest.raises(Killed):
        fleet.run_pod_with("a", Fuse(at=8).guard(fleet.driver))
    assert len(fleet.owners("arena")[f"{fleet.namespace}/a"]) == 4
    fleet.redis.flushall()
    fleet.pod("b", "rtp=10000-10001/UDP@arena", ip="10.0.0.6")
    fleet.settle()
    assert [fleet.state(name) for name in ("a", "b")] == ["Bound", "Bound"]
    check_all(fleet, aws)


@pytest.mark.row("BD-25", "AL-05")
def test_tls_ends_at_the_load_balancer_with_the_certificate_of_pod_or_pool(fleet: Fleet) -> None:
    fleet.pool("arena", certificateArn=CERTIFICATE, allowedCertificates=[CERTIFICATE + "1"])
    fleet.pod("a", "web=443/TLS@arena", ip="10.0.0.5")
    fleet.pod("b", "web=443/TLS@arena", ip="10.0.0.6", certificate_arn=CERTIFICATE + "1")
    fleet.settle()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    listeners = {listener.port: listener for listener in fleet.driver.listeners(lb.arn)}
    for name, certificate in (("a", CERTIFICATE), ("b", CERTIFICATE + "1")):
        row = rows(fleet, name)["web", "arena"]
        listener = listeners[row["port"]]
        assert (row["protocol"], listener.protocol, listener.certificate) == ("TLS", "TLS", certificate)
    assert {group.protocol for group in fleet.driver.target_groups_owned(fleet.cluster)} == {"TCP"}


@pytest.mark.row("BD-25")
def test_tls_without_a_certificate_is_said_and_takes_no_port(fleet: Fleet, aws: Aws) -> None:
    fleet.pool("arena")
    fleet.pod("a", "web=443/TLS@arena,game=7777/UDP@arena", ip="10.0.0.5")
    fleet.settle()
    state, shown, message = fleet.shown("a")
    assert (state, shown, fleet.owners("arena")) == ("Failed", [], {})
    assert "web asks for TLS and there is no certificate" in message
    assert "PortsFailed" in fleet.events("a")
    assert not writes(aws)
    fleet.annotate("a", certificate_arn=CERTIFICATE)
    fleet.api.patch(f"{PATH}/arena", {"spec": {"allowedCertificates": [CERTIFICATE]}})
    fleet.settle()
    assert fleet.state("a") == "Bound"


@pytest.mark.row("HO-11")
def test_a_certificate_that_the_pool_does_not_list_takes_no_port(fleet: Fleet, aws: Aws) -> None:
    """Any certificate of the account, and with it the name of somebody else, could be served otherwise."""
    fleet.pool("arena", certificateArn=CERTIFICATE)
    fleet.pod("a", "web=443/TLS@arena,game=7777/UDP@arena", ip="10.0.0.5", certificate_arn=CERTIFICATE + "1")
    fleet.settle()
    state, shown, message = fleet.shown("a")
    assert (state, shown, fleet.owners("arena")) == ("Failed", [], {})
    assert f"pool arena does not permit {CERTIFICATE}1" in message
    assert "PortsFailed" in fleet.events("a")
    assert not writes(aws)
    fleet.api.patch(f"{PATH}/arena", {"spec": {"allowedCertificates": [CERTIFICATE + "1"]}})
    fleet.settle()
    fleet.due()
    fleet.settle()
    assert fleet.state("a") == "Bound"


@pytest.mark.row("HO-11")
def test_a_listener_that_is_made_again_does_not_get_a_certificate_that_is_not_listed(fleet: Fleet) -> None:
    fleet.pool("arena", certificateArn=CERTIFICATE)
    fleet.pod("a", "web=443/TLS@arena", ip="10.0.0.5")
    fleet.settle()
    fleet.annotate("a", certificate_arn=CERTIFICATE + "1")
    fleet.settle()
    assert fleet.state("a") == "Bound"
    fleet.redis.flushall()
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    for listener in fleet.driver.listeners(lb.arn):
        fleet.driver.delete_listener(listener.arn)
    fleet.pod("b", "web=443/TLS@arena", ip="10.0.0.6")
    fleet.settle()
    assert {each.certificate for each in fleet.driver.listeners(lb.arn)} == {CERTIFICATE}
    assert (fleet.state("a"), fleet.state("b")) == ("Failed", "Bound")
    assert "does not permit" in fleet.shown("a")[2]


@pytest.mark.row("AL-05", "AL-19", "BD-43")
def test_tls_and_quic_take_their_number_also_after_a_loss_of_redis(fleet: Fleet) -> None:
    fleet.pool("arena", endPort=30001, certificateArn=CERTIFICATE)
    fleet.pod("a", "web=443/TLS@arena,fast=443/QUIC@arena", ip="10.0.0.5")
    fleet.settle()
    before = fleet.shown("a")
    assert [(row["protocol"], row["port"]) for row in before[1]] == [("TLS", 30000), ("QUIC", 30001)]
    fleet.redis.flushall()
    fleet.pod("b", "game=7777/TCP@arena,voice=7777/UDP@arena", ip="10.0.0.6")
    fleet.settle()
    assert fleet.shown("a") == before
    assert {row["loadBalancer"] for row in fleet.shown("b")[1]}.isdisjoint(row["loadBalancer"] for row in before[1])


@pytest.mark.row("HO-03")
def test_a_request_that_is_too_long_is_said_on_the_pod_and_costs_no_port(fleet: Fleet) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.5", x="x" * 100_000)
    fleet.pod("b", "7777/UDP@arena" + "," * 200_000, ip="10.0.0.6")
    fleet.settle()
    held = fleet.owners("arena")
    assert (fleet.state("a"), fleet.shown("a")[2]) == ("Bound", "ignored, unknown: berthmaster.dev/x")
    words = "berthmaster.dev/ports has 200014 characters, at most 16384 are read: shorten it"
    assert (fleet.state("b"), fleet.shown("b")[2]) == ("Failed", words)
    assert "PortsFailed" in fleet.events("b")
    fleet.annotate("a", ports_retain="24h" + " " * 1000)
    fleet.settle()
    assert (fleet.state("a"), fleet.owners("arena")) == ("Failed", held)
    assert "berthmaster.dev/ports-retain has 1003 characters" in fleet.shown("a")[2]
    assert sum(len(body) for body in fleet.redis.hvals("{queue}snap")) < 20_000
    fleet.annotate("a", ports_retain=None)
    fleet.annotate("b", ports="7777/UDP@arena")
    fleet.settle()
    assert (fleet.state("a"), fleet.state("b")) == ("Bound", "Bound")
