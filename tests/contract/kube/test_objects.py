"""Creating, reading, changing: what both servers must agree on."""

from __future__ import annotations

import pytest

from events.kube.api import AlreadyExists, Conflict, Denied, Invalid, NotFound
from tests.contract.kube.objects import pod
from tests.fixtures.kube import Kube


def test_a_created_object_gets_identity_and_version(kube: Kube) -> None:
    made = kube.api.create(kube.path("pods"), pod("a"))
    metadata = made["metadata"]
    assert metadata["uid"]
    assert metadata["creationTimestamp"]
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["namespace"] == kube.namespace
    assert made["status"]["phase"] == "Pending"
    assert kube.api.get(kube.path("pods", "a"))["metadata"]["uid"] == metadata["uid"]


def test_a_name_is_given_once(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a"))
    with pytest.raises(AlreadyExists) as raised:
        kube.api.create(kube.path("pods"), pod("a"))
    assert (raised.value.status, raised.value.reason) == (409, "AlreadyExists")


def test_a_generated_name_begins_with_its_prefix_and_differs(kube: Kube) -> None:
    names = {kube.api.create(kube.path("pods"), pod(generateName="job-"))["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


@pytest.mark.parametrize("name", ["", "Upper", "with_underscore", "-edge"])
def test_a_name_that_is_none_is_refused(kube: Kube, name: str) -> None:
    with pytest.raises(Invalid) as raised:
        kube.api.create(kube.path("pods"), pod(name))
    assert raised.value.status == 422


def test_a_pod_without_containers_is_refused(kube: Kube) -> None:
    with pytest.raises(Invalid, match=r"spec\.containers: Required value"):
        kube.api.create(kube.path("pods"), {"metadata": {"name": "a"}, "spec": {}})


def test_an_object_of_another_kind_or_namespace_is_refused(kube: Kube) -> None:
    with pytest.raises(Invalid, match="cannot be handled as a Pod"):
        kube.api.create(kube.path("pods"), {**pod("a"), "apiVersion": "v1", "kind": "Service"})
    with pytest.raises(Invalid, match="namespace"):
        kube.api.create(kube.path("pods"), pod("a", namespace="elsewhere"))


def test_what_is_not_there_is_not_found(kube: Kube) -> None:
    for path in (
        kube.path("pods", "nobody"),
        "/apis/unheard-of.dev/v1/things",
        "/api/v1/things",
        "/api/v1/namespaces/unheard-of",
    ):
        with pytest.raises(NotFound):
            kube.api.get(path)
    with pytest.raises(NotFound):
        kube.api.create("/api/v1/namespaces/unheard-of/pods", pod("a"))
    with pytest.raises(NotFound):
        kube.api.replace(kube.path("pods", "nobody"), pod("nobody"))


def test_a_replace_of_a_stale_version_conflicts(kube: Kube) -> None:
    read = kube.api.create(kube.path("pods"), pod("a"))
    kube.api.patch(kube.path("pods", "a"), {"metadata": {"labels": {"by": "another"}}})
    with pytest.raises(Conflict) as raised:
        kube.api.replace(kube.path("pods", "a"), read)
    assert raised.value.reason == "Conflict"


def test_a_replace_of_the_present_version_gives_a_later_one(kube: Kube) -> None:
    read = kube.api.create(kube.path("pods"), pod("a"))
    read["metadata"]["annotations"] = {"k": "v"}
    written = kube.api.replace(kube.path("pods", "a"), read)
    assert int(written["metadata"]["resourceVersion"]) > int(read["metadata"]["resourceVersion"])
    assert written["metadata"]["annotations"] == {"k": "v"}


def test_a_replace_that_names_another_uid_conflicts(kube: Kube) -> None:
    read = kube.api.create(kube.path("pods"), pod("a"))
    read["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(Conflict):
        kube.api.replace(kube.path("pods", "a"), read)


@pytest.mark.row("BD-31")
def test_a_merge_patch_of_a_stale_version_conflicts_and_changes_nothing(kube: Kube) -> None:
    read = kube.api.create(kube.path("pods"), pod("a"))
    version = read["metadata"]["resourceVersion"]
    kube.api.patch(kube.path("pods", "a"), {"metadata": {"resourceVersion": version, "annotations": {"first": "1"}}})
    stale = {"metadata": {"resourceVersion": version, "annotations": {"second": "2"}}}
    with pytest.raises(Conflict):
        kube.api.patch(kube.path("pods", "a"), stale)
    assert kube.api.get(kube.path("pods", "a"))["metadata"]["annotations"] == {"first": "1"}


@pytest.mark.row("BD-31")
def test_a_merge_patch_that_means_an_earlier_pod_of_the_name_conflicts(kube: Kube) -> None:
    earlier = kube.api.create(kube.path("pods"), pod("a"))["metadata"]
    kube.api.delete(kube.path("pods", "a"), {"gracePeriodSeconds": 0})
    kube.api.create(kube.path("pods"), pod("a"))
    meant = {"uid": earlier["uid"], "resourceVersion": earlier["resourceVersion"]}
    for path in (kube.path("pods", "a"), kube.path("pods", "a") + "/status"):
        with pytest.raises(Conflict):
            kube.api.patch(path, {"metadata": {**meant, "annotations": {"k": "v"}}})


def test_a_merge_patch_removes_what_it_sets_to_null(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a", annotations={"keep": "1", "drop": "2"}))
    patched = kube.api.patch(kube.path("pods", "a"), {"metadata": {"annotations": {"drop": None, "new": "3"}}})
    assert patched["metadata"]["annotations"] == {"keep": "1", "new": "3"}


def test_a_patch_that_changes_nothing_keeps_the_version(kube: Kube) -> None:
    read = kube.api.create(kube.path("pods"), pod("a", labels={"k": "v"}))
    patched = kube.api.patch(kube.path("pods", "a"), {"metadata": {"labels": {"k": "v"}}})
    assert patched["metadata"]["resourceVersion"] == read["metadata"]["resourceVersion"]


def test_a_json_patch_is_all_or_nothing(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a", labels={"k": "v"}))
    test = {"op": "test", "path": "/metadata/labels/k", "value": "v"}
    change = {"op": "replace", "path": "/metadata/labels/k", "value": "w"}
    assert kube.api.patch(kube.path("pods", "a"), [test, change])["metadata"]["labels"] == {"k": "w"}
    with pytest.raises(Invalid):
        kube.api.patch(kube.path("pods", "a"), [{"op": "add", "path": "/metadata/labels/x", "value": "y"}, test])
    assert kube.api.get(kube.path("pods", "a"))["metadata"]["labels"] == {"k": "w"}


def test_the_status_of_a_pod_is_written_apart(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a"))
    main = kube.api.patch(kube.path("pods", "a"), {"status": {"phase": "Running"}})
    assert main["status"]["phase"] == "Pending"
    patch = {"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}}
    status = kube.api.patch(kube.path("pods", "a") + "/status", patch)
    assert status["status"]["podIPs"] == [{"ip": "10.0.0.1"}]
    assert status["spec"].get("nodeName") is None


def test_the_spec_of_a_pod_stays(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a"))
    with pytest.raises(Invalid, match="pod updates may not change fields"):
        kube.api.patch(kube.path("pods", "a"), {"spec": {"nodeName": "elsewhere"}})


def test_a_pod_is_bound_to_one_node_once(kube: Kube) -> None:
    kube.api.create(kube.path("pods"), pod("a"))
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "one"}}
    kube.api.create(kube.path("pods", "a") + "/binding", binding)
    assert kube.api.get(kube.path("pods", "a"))["spec"]["nodeName"] == "one"
    with pytest.raises(Conflict):
        kube.api.create(kube.path("pods", "a") + "/binding", binding)


@pytest.mark.row("EV-18")
def test_a_user_without_permission_is_denied_and_one_without_credentials_too(kube: Kube) -> None:
    nobody = kube.server.api(token=kube.server.other_token)
    with pytest.raises(Denied) as raised:
        nobody.list(kube.path("pods"))
    assert raised.value.status == 403
    assert 'cannot list resource "pods"' in raised.value.message
    with pytest.raises(Denied) as raised:
        kube.server.api(token="wrong").get(kube.path("pods"))
    assert raised.value.status == 401
