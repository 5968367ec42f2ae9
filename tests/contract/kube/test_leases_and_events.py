"""Leases and Events, as leader election and reporting use them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from events.kube.api import AlreadyExists, Conflict, Invalid
from tests.contract.kube.objects import Json
from tests.fixtures.kube import Kube

GROUP = "coordination.k8s.io/v1"


def lease(holder: str, name: str = "l", **metadata: str) -> Json:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    return {"metadata": {"name": name, **metadata}, "spec": {**spec, "leaseTransitions": 1}}


def test_a_lease_is_created_by_one_of_many(kube: Kube) -> None:
    def create(index: int) -> bool:
        try:
            kube.api.create(kube.path("leases", group=GROUP), lease(f"holder-{index}"))
        except AlreadyExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1


def test_a_lease_is_taken_over_by_one_of_many_that_read_the_same_version(kube: Kube) -> None:
    path = kube.path("leases", "l", group=GROUP)
    read = kube.api.create(kube.path("leases", group=GROUP), lease("old"))

    def take(index: int) -> bool:
        try:
            kube.api.replace(path, lease(f"new-{index}", resourceVersion=read["metadata"]["resourceVersion"]))
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(8))) == 1
    found = kube.api.get(path)["spec"]
    assert found["holderIdentity"].startswith("new-")
    assert found["renewTime"] == "2026-01-01T00:00:00.000000Z"


def test_a_lease_is_not_replaced_without_a_version(kube: Kube) -> None:
    kube.api.create(kube.path("leases", group=GROUP), lease("old"))
    with pytest.raises(Invalid, match="must be specified for an update"):
        kube.api.replace(kube.path("leases", "l", group=GROUP), lease("new"))


def test_a_lease_that_is_not_there_is_created_by_put(kube: Kube) -> None:
    kube.api.replace(kube.path("leases", "l", group=GROUP), lease("first"))
    assert kube.api.get(kube.path("leases", "l", group=GROUP))["spec"]["holderIdentity"] == "first"


def test_a_lease_is_given_back_by_an_empty_holder(kube: Kube) -> None:
    read = kube.api.create(kube.path("leases", group=GROUP), lease("old"))
    given = lease("", resourceVersion=read["metadata"]["resourceVersion"])
    assert kube.api.replace(kube.path("leases", "l", group=GROUP), given)["spec"]["holderIdentity"] == ""
    assert kube.api.create(kube.path("leases", group=GROUP), lease("", "unheld"))["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("field, value", [("leaseDurationSeconds", 0), ("leaseTransitions", -1)])
def test_a_lease_of_impossible_numbers_is_refused(kube: Kube, field: str, value: int) -> None:
    body = lease("a")
    body["spec"][field] = value
    with pytest.raises(Invalid):
        kube.api.create(kube.path("leases", group=GROUP), body)


def event(kube: Kube, name: str, reason: str = "PortsBound", about: str = "game-0") -> Json:
    involved = {"kind": "Pod", "namespace": kube.namespace, "name": about, "uid": "u-1"}
    return {
        "metadata": {"name": name},
        "involvedObject": involved,
        "reason": reason,
        "message": "bound",
        "type": "Normal",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "source": {"component": "berthmaster"},
    }


@pytest.mark.row("BD-28")
def test_an_event_of_a_name_is_written_once(kube: Kube) -> None:
    kube.api.create(kube.path("events"), event(kube, "game-0.a1"))
    with pytest.raises(AlreadyExists):
        kube.api.create(kube.path("events"), event(kube, "game-0.a1"))


def test_events_are_found_by_what_they_are_about(kube: Kube) -> None:
    kube.api.create(kube.path("events"), event(kube, "e1"))
    kube.api.create(kube.path("events"), event(kube, "e2", reason="AllocationFailed"))
    kube.api.create(kube.path("events"), event(kube, "e3", about="game-1"))
    for selector, names in {
        "involvedObject.name=game-0": ["e1", "e2"],
        "involvedObject.name=game-0,reason=AllocationFailed": ["e2"],
        "involvedObject.kind=Pod,involvedObject.uid=u-1,type=Normal": ["e1", "e2", "e3"],
    }.items():
        found = kube.api.list(kube.path("events"), fieldSelector=selector)
        assert [item["metadata"]["name"] for item in found["items"]] == names, selector


def test_an_event_lives_beside_what_it_is_about(kube: Kube) -> None:
    body = event(kube, "e1")
    body["involvedObject"]["namespace"] = "elsewhere"
    with pytest.raises(Invalid, match=r"does not match event\.namespace"):
        kube.api.create(kube.path("events"), body)


def test_an_event_about_a_cluster_wide_object_lives_in_default(kube: Kube) -> None:
    body = event(kube, f"pool.{kube.namespace}")
    body["involvedObject"] = {"kind": "PortPool", "name": "arena", "apiVersion": "berthmaster.dev/v1alpha1"}
    made = kube.api.create("/api/v1/namespaces/default/events", body)
    assert made["involvedObject"]["name"] == "arena"
