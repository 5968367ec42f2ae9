"""How objects end: grace, finalizers, preconditions, owners and namespaces."""

from __future__ import annotations

import pytest

from events.kube.api import Conflict, Denied, Invalid, NotFound
from tests.contract.kube.objects import pod, version_of
from tests.fixtures.kube import Kube
from tests.support.waiting import eventually


def gone(kube: Kube, path: str) -> bool:
    try:
        kube.api.get(path)
    except NotFound:
        return True
    return False


def bind(kube: Kube, name: str) -> None:
    kube.api.create(kube.path("pods", name) + "/binding", {"metadata": {"name": name}, "target": {"name": "one"}})


def test_a_pod_without_a_node_goes_at_once(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a"))
    kube.api.delete(kube.path("pods", "a"))
    assert gone(kube, kube.path("pods", "a"))


def test_a_pod_on_a_node_terminates_until_its_kubelet_ends_it(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a"))
    bind(kube, "a")
    deleted = kube.api.delete(kube.path("pods", "a"))
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 30
    version = version_of(deleted)
    assert version_of(kube.api.delete(kube.path("pods", "a"))) == version
    patched = kube.api.patch(kube.path("pods", "a"), {"metadata": {"annotations": {"k": "v"}}})
    assert patched["metadata"]["annotations"] == {"k": "v"}
    assert patched["metadata"]["deletionTimestamp"] == deleted["metadata"]["deletionTimestamp"]
    kube.api.delete(kube.path("pods", "a"), {"gracePeriodSeconds": 0})
    assert gone(kube, kube.path("pods", "a"))


@pytest.mark.row("BD-23")
def test_a_name_can_be_given_again_and_the_uid_differs(kube: Kube) -> None:
    old = kube.api.create(kube.path("pods"), pod("a"))["metadata"]["uid"]
    kube.api.delete(kube.path("pods", "a"))
    new = kube.api.create(kube.path("pods"), pod("a"))["metadata"]["uid"]
    assert old != new
    with pytest.raises(Conflict):
        kube.api.delete(kube.path("pods", "a"), {"preconditions": {"uid": old}})
    kube.api.delete(kube.path("pods", "a"), {"preconditions": {"uid": new}})


def test_a_deletion_that_names_a_stale_version_conflicts(kube: Kube) -> None:
    made = kube.api.create(kube.path("pods"), pod("a"))
    stale = {"preconditions": {"uid": made["metadata"]["uid"], "resourceVersion": version_of(made)}}
    changed = kube.api.patch(kube.path("pods", "a"), {"metadata": {"labels": {"k": "v"}}})
    with pytest.raises(Conflict):
        kube.api.delete(kube.path("pods", "a"), stale)
    kube.api.delete(kube.path("pods", "a"), {"preconditions": {"resourceVersion": version_of(changed)}})
    assert gone(kube, kube.path("pods", "a"))


def test_an_object_stays_until_its_last_finalizer_is_off(kube: Kube) -> None:
    path = kube.path("configmaps", "a")
    kube.api.create(kube.path("configmaps"), {"metadata": {"name": "a", "finalizers": ["x.dev/one", "x.dev/two"]}})
    assert "deletionTimestamp" in kube.api.delete(path)["metadata"]
    with pytest.raises((Invalid, Denied)):
        kube.api.patch(path, {"metadata": {"finalizers": ["x.dev/one", "x.dev/two", "x.dev/three"]}})
    kube.api.patch(path, {"metadata": {"finalizers": ["x.dev/two"]}})
    assert not gone(kube, path)
    kube.api.patch(path, {"metadata": {"finalizers": None}})
    assert gone(kube, path)


def test_what_is_deleted_twice_is_not_found(kube: Kube) -> None:
    kube.api.create(kube.path("configmaps"), {"metadata": {"name": "a"}})
    assert kube.api.delete(kube.path("configmaps", "a"))["status"] == "Success"
    with pytest.raises(NotFound):
        kube.api.delete(kube.path("configmaps", "a"))


def test_a_collection_is_deleted_by_selector(kube: Kube) -> None:
    for name in ("a", "b"):
        kube.api.create(kube.path("configmaps"), {"metadata": {"name": name, "labels": {"is": name}}})
    kube.api.request("DELETE", kube.path("configmaps"), {}, {"labelSelector": "is=a"})
    eventually(lambda: gone(kube, kube.path("configmaps", "a")))
    assert not gone(kube, kube.path("configmaps", "b"))


def test_what_lost_its_owner_is_collected(kube: Kube) -> None:
    owner = kube.api.create(kube.path("configmaps"), {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    kube.api.create(kube.path("configmaps"), {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    kube.api.delete(kube.path("configmaps", "owner"))
    assert eventually(lambda: gone(kube, kube.path("configmaps", "owned")), 30)


@pytest.mark.row("FZ-09")
def test_a_deleted_namespace_takes_no_more_and_ends_with_its_content(kube: Kube) -> None:
    finalizers = {"finalizers": ["x.dev/hold"]}
    kube.api.create(kube.path("configmaps"), {"metadata": {"name": "held", **finalizers}})
    kube.api.create(kube.path("pods"), pod("a"))
    deleted = kube.api.delete(f"/api/v1/namespaces/{kube.namespace}")
    assert deleted["status"]["phase"] == "Terminating"
    with pytest.raises(Denied, match="because it is being terminated"):
        kube.api.create(kube.path("pods"), pod("late"))
    eventually(lambda: gone(kube, kube.path("pods", "a")), 30)
    eventually(lambda: "deletionTimestamp" in kube.api.get(kube.path("configmaps", "held"))["metadata"], 30)
    assert not gone(kube, f"/api/v1/namespaces/{kube.namespace}")
    kube.api.patch(kube.path("configmaps", "held"), {"metadata": {"finalizers": None}})
    assert eventually(lambda: gone(kube, f"/api/v1/namespaces/{kube.namespace}"), 60)
