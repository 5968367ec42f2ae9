"""The kubelet that plays pods, against both servers."""

from __future__ import annotations

import time

import pytest

from compose.sandbox.kube.kubelet.player import Player
from compose.sandbox.kube.kubelet.steps import PREFIX
from domain.kubernetes.names import DRAIN, SESSIONS
from events.kube.api import NotFound
from tests.contract.kube.objects import Json, pod
from tests.fixtures.kube import Kube
from tests.support.waiting import eventually


def create(kube: Kube, name: str = "a", **annotations: str) -> None:
    options = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    kube.api.create(kube.path("pods"), pod(name, annotations=options))


def ready(found: Json) -> str:
    conditions = found["status"].get("conditions") or ()
    return next((condition["status"] for condition in conditions if condition["type"] == "Ready"), "")


def running(kube: Kube, name: str = "a", ready_is: str = "True") -> Json:
    def check() -> Json | None:
        found = kube.api.get(kube.path("pods", name))
        return found if found["status"]["phase"] == "Running" and ready(found) == ready_is else None

    found = eventually(check, 20)
    assert found is not None
    return found


def gone(kube: Kube, name: str = "a") -> bool:
    try:
        kube.api.get(kube.path("pods", name))
    except NotFound:
        return True
    return False


@pytest.mark.usefixtures("kubelet")
def test_pods_are_scheduled_and_run_ready_with_addresses_of_their_own(kube: Kube) -> None:
    for index in range(10):
        create(kube, f"p{index}")
    pods = [running(kube, f"p{index}") for index in range(10)]
    assert len({found["status"]["podIP"] for found in pods}) == 10
    assert all(found["status"]["podIPs"] == [{"ip": found["status"]["podIP"]}] for found in pods)
    assert {found["spec"]["nodeName"] for found in pods} == {"sandbox"}


@pytest.mark.usefixtures("kubelet")
def test_a_deleted_pod_ends_soon_although_its_grace_is_long(kube: Kube) -> None:
    create(kube)
    running(kube)
    began = time.monotonic()
    kube.api.delete(kube.path("pods", "a"))
    assert "deletionTimestamp" in kube.api.get(kube.path("pods", "a"))["metadata"]
    eventually(lambda: gone(kube), 20)
    assert time.monotonic() - began > 0.9


@pytest.mark.usefixtures("kubelet")
def test_a_pod_of_the_same_name_runs_again_with_another_address(kube: Kube) -> None:
    create(kube)
    first = running(kube)["status"]["podIP"]
    kube.api.delete(kube.path("pods", "a"), {"gracePeriodSeconds": 0})
    create(kube)
    assert running(kube)["status"]["podIP"] != first


@pytest.mark.usefixtures("kubelet")
def test_a_pod_may_start_late(kube: Kube) -> None:
    create(kube, "slow", start_delay="3")
    create(kube, "quick")
    running(kube, "quick")
    assert kube.api.get(kube.path("pods", "slow"))["status"]["phase"] == "Pending"
    running(kube, "slow")


@pytest.mark.usefixtures("kubelet")
def test_addresses_can_be_named_and_changed_and_of_both_families(kube: Kube) -> None:
    create(kube, ip="10.9.9.9,fd00::9")
    assert running(kube)["status"]["podIPs"] == [{"ip": "10.9.9.9"}, {"ip": "fd00::9"}]
    change = {"metadata": {"annotations": {PREFIX + "ip": "10.9.9.10"}}}
    kube.api.patch(kube.path("pods", "a"), change)
    eventually(lambda: running(kube)["status"]["podIPs"] == [{"ip": "10.9.9.10"}], 20)
    create(kube, "six", ip_families="IPv6")
    assert ":" in running(kube, "six")["status"]["podIP"]


@pytest.mark.usefixtures("kubelet")
def test_a_pod_is_ready_when_its_gates_are_and_no_longer_when_told_not_to(kube: Kube) -> None:
    body = pod("a")
    body["spec"]["readinessGates"] = [{"conditionType": "berthmaster.dev/ports-bound"}]
    kube.api.create(kube.path("pods"), body)
    found = running(kube, ready_is="False")
    gate = {"type": "berthmaster.dev/ports-bound", "status": "True"}
    conditions = [*found["status"]["conditions"], gate]
    kube.api.patch(kube.path("pods", "a") + "/status", {"status": {"conditions": conditions}})
    assert gate["type"] in {condition["type"] for condition in running(kube)["status"]["conditions"]}
    kube.api.patch(kube.path("pods", "a"), {"metadata": {"annotations": {PREFIX + "ready": "false"}}})
    running(kube, ready_is="False")


def test_a_player_that_starts_later_takes_up_what_it_finds(kube: Kube) -> None:
    create(kube)
    first = Player(kube.server.api("sandbox-kubelet"), namespace=kube.namespace)
    first.start()
    address = running(kube)["status"]["podIP"]
    first.stop()
    create(kube, "b")
    kube.api.delete(kube.path("pods", "a"))
    second = Player(kube.server.api("sandbox-kubelet"), namespace=kube.namespace)
    second.start()
    try:
        assert running(kube, "b")["status"]["podIP"] != address
        eventually(lambda: gone(kube), 20)
    finally:
        second.stop()


def test_the_kubelet_as_a_process_plays_the_pods_of_all_namespaces(kube: Kube) -> None:
    create(kube)
    process = kube.server.kubelet()
    try:
        running(kube)
        kube.api.delete(kube.path("pods", "a"))
        eventually(lambda: gone(kube), 20)
    finally:
        process.stop()
    node = kube.api.get("/api/v1/nodes/sandbox")
    assert {"type": "Ready", "status": "True"}.items() <= node["status"]["conditions"][0].items()


@pytest.mark.usefixtures("kubelet")
def test_a_pod_that_says_its_sessions_answers_each_drain_by_its_id(kube: Kube) -> None:
    create(kube, sessions="0")
    create(kube, "silent")
    for name in ("a", "silent"):
        running(kube, name)
        kube.api.patch(kube.path("pods", name), {"metadata": {"annotations": {DRAIN: "d1"}}})

    def said() -> str:
        notes = kube.api.get(kube.path("pods", "a"))["metadata"]["annotations"]
        return str(notes.get(SESSIONS, ""))

    eventually(lambda: said() == "0 d1", 20)
    kube.api.patch(kube.path("pods", "a"), {"metadata": {"annotations": {DRAIN: "d2"}}})
    eventually(lambda: said() == "0 d2", 20)
    assert SESSIONS not in kube.api.get(kube.path("pods", "silent"))["metadata"]["annotations"]
