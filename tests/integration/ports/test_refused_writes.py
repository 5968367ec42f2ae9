"""Kubernetes refuses what a run of a pod or a port pool writes: the object says so, or an Event of it does."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import REGISTRY

from events.kube.api import Denied, Invalid
from tests.fixtures.kube import Kube
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.ports.fleet import Fleet
from workers.kube.events import KubeEvents
from workers.kube.pods import PodClient
from workers.kube.port_pools import PATH, PortPools

pytestmark = pytest.mark.row("KU-15")


def refused(resource: str, verb: str) -> float:
    return REGISTRY.get_sample_value("berthmaster_writes_refused_total", {"resource": resource, "verb": verb}) or 0.0


def told(fleet: Fleet, obj: dict[str, Any]) -> list[dict[str, Any]]:
    listed = fleet.api.list("/api/v1/events", fieldSelector=f"involvedObject.uid={obj['metadata']['uid']}")["items"]
    return [event for event in listed if event["reason"] == "WriteRefused"]


def conditions(fleet: Fleet, pool: str) -> dict[str, dict[str, Any]]:
    return {each["type"]: each for each in fleet.api.get(f"{PATH}/{pool}")["status"]["conditions"]}


def test_a_pod_that_may_not_be_written_has_one_event_however_often_it_is_tried(fleet: Fleet, kube: Kube) -> None:
    """By rights, on each server: this account has none."""
    fleet.pool("arena")
    fleet.settle()
    pod = fleet.pod("a", "7777/UDP@arena")
    powerless = kube.server.api(token=kube.server.other_token)
    services, before = fleet.other(pods=PodClient(powerless)), refused("pods", "patch")
    fleet.sync()
    for _ in range(3):
        fleet.due()
        fleet.run(f"pod/{fleet.namespace}/a", services)
    (event,) = told(fleet, pod)
    assert event["type"] == "Warning"
    assert event["message"].startswith("Kubernetes refuses to patch pods a: 403 Forbidden")
    assert refused("pods", "patch") == before + 3
    fleet.annotate("a", ports="7778/UDP@arena")
    fleet.sync()
    fleet.run(f"pod/{fleet.namespace}/a", services)
    assert len(told(fleet, pod)) == 2, "what is refused now is another wish"
    powerless.close()


@pytest.mark.parametrize("refusal", [Invalid(422, "Invalid", "a webhook"), Denied(403, "Forbidden", "a webhook")])
def test_a_port_pool_that_may_not_have_its_finalizer_says_so_until_it_may(
    fleet: Fleet, refusal: Invalid | Denied
) -> None:
    pool = fleet.pool("arena")
    fleet.sync()

    def refuse(path: str) -> None:
        if not path.endswith("/status"):
            raise refusal

    kube = InterposedKube(fleet.api, "PATCH", "/portpools/", refuse, times=100)
    fleet.run("portpool/arena", fleet.other(pools=PortPools(kube)))
    condition = conditions(fleet, "arena")["WritesAccepted"]
    assert (condition["status"], condition["reason"]) == ("False", "WriteRefused")
    assert condition["message"] == f"Kubernetes refuses to patch portpools arena: {refusal}"
    assert len(told(fleet, pool)) == 1
    fleet.queue.touch(["portpool/arena"])
    fleet.settle()
    assert "WritesAccepted" not in conditions(fleet, "arena")


def test_a_port_pool_whose_status_is_refused_has_an_event(fleet: Fleet) -> None:
    pool = fleet.pool("arena")
    fleet.sync()

    def refuse(path: str) -> None:
        if path.endswith("/status"):
            raise Invalid(413, "RequestEntityTooLarge", "limit is 3145728")

    kube = InterposedKube(fleet.api, "PATCH", "/portpools/", refuse, times=100)
    for _ in range(2):
        fleet.queue.touch(["portpool/arena"])
        fleet.run("portpool/arena", fleet.other(pools=PortPools(kube)))
    assert [event["message"] for event in told(fleet, pool)] == [
        "Kubernetes refuses to patch portpools/status arena: 413 RequestEntityTooLarge: limit is 3145728"
    ]


def test_an_event_that_is_refused_itself_is_counted_and_stops_nothing(fleet: Fleet, kube: Kube) -> None:
    fleet.pool("arena")
    fleet.settle()
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    powerless, before = kube.server.api(token=kube.server.other_token), refused("events", "create")
    fleet.services = fleet.other(events=KubeEvents(powerless))
    fleet.settle()
    assert fleet.state("a") == "Bound"
    assert refused("events", "create") > before
    powerless.close()
