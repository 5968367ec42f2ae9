"""A claim is an address: its status has the pod's IPs, node and endpoints, and Bound waits for the pod's ports."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from domain.kubernetes.names import ENDPOINTS, PORTS, PORTS_MESSAGE, PORTS_STATE
from domain.kubernetes.objects import Pod
from domain.outcome import Settled
from events.protocol.claim_index import concerned, own_event_script
from tests.integration.claims.test_requests import AskedKube, publish
from tests.support.claims.claim_world import READY, ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube

Json = dict[str, Any]
HOST = "arena-0.elb.eu-central-1.amazonaws.com"


def endpoint(port: int = 30000, target: str = "10.0.0.7:7777") -> Json:
    """Return an endpoint as the ports' run writes it on the pod."""
    return {
        "name": "game",
        "containerPort": 7777,
        "protocol": "UDP",
        "pool": "arena",
        "loadBalancer": "arena-0",
        "host": HOST,
        "port": port,
        "endPort": port,
        "address": f"{HOST}:{port}",
        "target": target,
        "status": "Ready" if target else "NotReady",
    }


def shown(port: int = 30000, status: str = "Ready") -> Json:
    """Return the endpoint as the claim shows it."""
    return {key: value for key, value in endpoint(port).items() if key != "target"} | {"status": status}


def asking(world: ClaimWorld, name: str = "p1") -> None:
    """Create a claimable pod that asks for a port and has none yet."""
    world.pod(name, offer=False)
    world.annotate(name, PORTS, "game=7777/UDP@arena")
    world.status(name, READY | {"podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]})
    world.offer()


def ports(world: ClaimWorld, state: str, *endpoints: Json, message: str | None = None, pod: str = "p1") -> None:
    """Write what the ports' run writes on the pod."""
    notes = {PORTS_STATE: state, ENDPOINTS: json.dumps(endpoints) if endpoints else None, PORTS_MESSAGE: message}
    world.api.patch(f"{world.pods_path()}/{pod}", {"metadata": {"annotations": notes}})


def bound_with_ports(world: ClaimWorld) -> None:
    asking(world)
    ports(world, "Bound", endpoint())
    assert world.bound() == "p1"
    assert world.phase() == "Bound"


@pytest.mark.row("CL-41")
def test_a_pod_that_has_its_ports_is_bound_at_once_with_its_address(world: ClaimWorld) -> None:
    asking(world)
    ports(world, "Bound", endpoint())
    world.offer()
    world.claim()
    publish(world)
    kube = AskedKube(world.api)
    world.run(services=world.on(kube))
    status = world.read()["status"]
    assert (status["phase"], status["podName"], status["podIPs"]) == ("Bound", "p1", ["10.0.0.7"])
    assert status["endpoints"] == [shown()]
    assert world.condition("Reachable")["status"] == "True"
    assert len([request for request in kube.asked if request != "POST events"]) == 4, "no read of the pod, one status"


@pytest.mark.row("CL-41")
def test_a_claim_holds_its_pod_and_is_bound_once_the_ports_are(world: ClaimWorld) -> None:
    """Rule portsfirst."""
    asking(world)
    ports(world, "Pending")
    world.claim()
    assert world.run() == Settled()
    assert (world.holder("p1"), world.pod_of(), world.phase()) == ("Bound a", "p1", "Pending")
    bound = world.condition("Bound")
    assert (bound["status"], bound["reason"]) == ("False", "WaitingForPorts")
    before = world.read()
    for state in ("Allocated", "WaitBackend"):
        ports(world, state, endpoint(target=""))
        world.run()
    assert world.read() == before, "nobody learns of half an endpoint, and the wait is written once"
    assert "endpoints" not in before["status"]
    ports(world, "Bound", endpoint())
    world.run()
    assert (world.phase(), world.condition("Bound")["reason"]) == ("Bound", "HasPod")
    assert world.read()["status"]["endpoints"] == [shown()]


@pytest.mark.row("CL-41")
def test_ports_that_come_while_a_claim_is_bound_wake_it(world: ClaimWorld) -> None:
    """Rules portsfirst, indexed: right before the status says that the claim waits."""
    asking(world)
    world.claim()
    publish(world)
    woken = set[str]()

    def come(_: str) -> None:
        ports(world, "Bound", endpoint())
        woken.update(concerned(world.redis, [Pod(world.get("p1"))], own_event_script(world.redis)))

    world.run(services=world.on(InterposedKube(world.api, "PATCH", "/podclaims/a/status", come)))
    assert woken or world.queue.depth()["ready"] == 1, "by the event, or by the end of the run"
    world.run()
    assert world.phase() == "Bound"


@pytest.mark.row("CL-41")
def test_a_claim_need_not_wait_for_ports(world: ClaimWorld) -> None:
    asking(world)
    world.bound(waitForPorts=False)
    assert world.phase() == "Bound"
    reachable = world.condition("Reachable")
    assert (reachable["status"], reachable["reason"]) == ("False", "PortsMissing")
    assert world.read()["status"]["podIPs"] == ["10.0.0.7"]
    ports(world, "Bound", endpoint())
    world.run()
    assert world.condition("Reachable")["status"] == "True"
    assert world.read()["status"]["endpoints"] == [shown()]


@pytest.mark.row("CL-41")
def test_a_claim_that_was_bound_stays_so_and_its_endpoints_follow(world: ClaimWorld) -> None:
    """Rule staysbound."""
    bound_with_ports(world)
    ports(world, "Failed", message="the load balancer is gone")
    world.run()
    status = world.read()["status"]
    assert (status["phase"], "endpoints" in status) == ("Bound", False)
    reachable = world.condition("Reachable")
    assert (reachable["status"], reachable["reason"]) == ("False", "PortsMissing")
    assert "the load balancer is gone" in reachable["message"]
    ports(world, "Bound", endpoint(31000))
    world.run()
    assert world.read()["status"]["endpoints"] == [shown(31000)]
    assert world.condition("Reachable")["status"] == "True"
    before = world.read()
    world.run()
    assert world.read() == before


@pytest.mark.row("CL-41")
def test_a_pod_that_dies_without_its_ports_gives_way_to_another(world: ClaimWorld) -> None:
    """Rule portsfirst: that the claim was Bound to another pod does not count."""
    bound_with_ports(world)
    asking(world, "p2")
    world.end("p1")
    world.run()
    world.later(timedelta(minutes=1))
    world.run()
    assert (world.pod_of(), world.phase(), world.condition("Bound")["reason"]) == ("p2", "Pending", "WaitingForPorts")
    status = world.read()["status"]
    assert (status["podName"], "endpoints" in status) == ("p2", False)
    world.status("p2", {"phase": "Failed"})
    asking(world, "p3")
    ports(world, "Bound", endpoint(32000), pod="p3")
    world.run()
    assert (world.pod_of(), world.phase()) == ("p3", "Bound")
    assert world.read()["status"]["endpoints"] == [shown(32000)]


@pytest.mark.row("CL-41")
@pytest.mark.parametrize("ttl", [None, "1m"])
def test_a_claim_that_ends_while_it_waits_gives_its_pod_back(world: ClaimWorld, ttl: str | None) -> None:
    asking(world)
    world.claim(**({"ttl": ttl} if ttl else {}))
    world.run()
    if ttl:
        world.later(timedelta(minutes=2))
    else:
        world.delete()
    world.run()
    assert (world.gone(), world.holder("p1")) == (True, "Draining")


@pytest.mark.row("CL-41")
def test_the_reason_for_missing_ports_is_shown(world: ClaimWorld) -> None:
    asking(world)
    world.claim()
    ports(world, "PoolNotFound", message="there is no pool arena")
    world.run()
    assert "there is no pool arena" in world.condition("Bound")["message"]
    ports(world, "Disabled")
    world.run()
    assert "Disabled" in world.condition("Bound")["message"]


@pytest.mark.row("CL-41")
def test_a_claim_does_not_move_to_a_pod_without_its_ports(world: ClaimWorld) -> None:
    bound_with_ports(world)
    asking(world, "p2")
    world.move("p2")
    world.run()
    assert (world.pod_of(), world.condition("Moved")["reason"]) == ("p1", "TargetRefused")
    ports(world, "Bound", endpoint(31000), pod="p2")
    world.move("p2")
    world.run()
    assert (world.phase(), world.read()["status"]["endpoints"]) == ("Bound", [shown(31000)])


@pytest.mark.row("CL-41")
def test_a_claim_that_an_earlier_version_bound_gets_its_address_once_and_stays_bound(world: ClaimWorld) -> None:
    asking(world)
    world.bound(waitForPorts=False)
    world.spec(waitForPorts=True)
    world.run()
    old = dict.fromkeys(("podName", "nodeName", "podIPs", "endpoints"))
    world.api.patch(f"{world.claims_path()}/a/status", {"status": old})
    world.run()
    status = world.read()["status"]
    assert (status["phase"], status["podName"], status["podIPs"]) == ("Bound", "p1", ["10.0.0.7"])
    before = world.read()
    world.run()
    assert world.read() == before


@pytest.mark.row("CL-41")
@pytest.mark.parametrize("text", ["", "[", '[{"port":1}]', "[" * 100_000, '{"a":1}'])
def test_what_a_pod_s_author_writes_as_endpoints_shows_none_and_harms_nobody(world: ClaimWorld, text: str) -> None:
    asking(world)
    world.api.patch(f"{world.pods_path()}/p1", {"metadata": {"annotations": {PORTS_STATE: "Bound", ENDPOINTS: text}}})
    world.bound()
    assert (world.phase(), "endpoints" in world.read()["status"]) == ("Bound", False)


@pytest.mark.row("CL-41")
def test_a_pod_that_asks_for_no_ports_has_an_address_and_no_condition_of_ports(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    status = world.read()["status"]
    assert (status["phase"], status["podName"]) == ("Bound", "p1")
    assert "Reachable" not in {condition["type"] for condition in status["conditions"]}
