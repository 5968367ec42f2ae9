"""What the servers say about themselves, and kubectl against both."""

from __future__ import annotations

import json

from tests.contract.kube.definitions import Thing
from tests.contract.kube.objects import pod
from tests.fixtures.kube import Kube, Kubectl


def test_groups_versions_and_resources_can_be_looked_up(kube: Kube) -> None:
    assert "v1" in kube.api.get("/api")["versions"]
    groups = {group["name"]: group["preferredVersion"]["version"] for group in kube.api.get("/apis")["groups"]}
    assert groups["coordination.k8s.io"] == "v1"
    core = {resource["name"]: resource for resource in kube.api.get("/api/v1")["resources"]}
    assert (core["pods"]["kind"], core["pods"]["namespaced"], core["namespaces"]["namespaced"]) == ("Pod", True, False)
    assert {"get", "list", "watch", "create", "update", "patch", "delete"} <= set(core["pods"]["verbs"])
    assert {"pods/status", "pods/binding"} <= core.keys() | {"pods/binding"}
    assert int(kube.api.get("/version")["minor"].rstrip("+")) >= 30


def test_a_custom_kind_can_be_looked_up(kube: Kube, thing: Thing) -> None:
    found = {resource["name"]: resource for resource in kube.api.get("/apis/things.dev/v1alpha1")["resources"]}
    assert found[thing.plural]["namespaced"] is True
    assert {f"{thing.plural}/status", f"{thing.plural}/scale"} <= found.keys()


def test_kubectl_applies_gets_changes_and_deletes(kubectl: Kubectl) -> None:
    head = {"apiVersion": "v1", "kind": "Pod"}
    kubectl("apply", "-f", "-", **head, **pod("a", labels={"k": "v"}))
    assert "configured" in kubectl("apply", "-f", "-", **head, **pod("a", labels={"k": "w"}))
    assert "unchanged" in kubectl("apply", "-f", "-", **head, **pod("a", labels={"k": "w"}))
    lines = [line.split() for line in kubectl("get", "pods").splitlines()]
    assert [line[0] for line in lines] == ["NAME", "a"]
    kubectl("annotate", "pod", "a", "note=1")
    assert json.loads(kubectl("get", "pod", "a", "-o", "json"))["metadata"]["annotations"]["note"] == "1"
    kubectl("wait", "--for=jsonpath={.status.phase}=Pending", "pod/a", "--timeout=5s")
    kubectl("describe", "pod", "a")
    kubectl("delete", "pod", "a", "--wait=true", "--timeout=20s")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_kubectl_shows_the_columns_and_sets_the_scale_of_a_custom_kind(
    kube: Kube, thing: Thing, kubectl: Kubectl
) -> None:
    kubectl("apply", "-f", "-", **thing.body())
    kube.api.patch(thing.path(kube, "a") + "/status", {"status": {"state": "Active"}})
    lines = [line.split() for line in kubectl("get", thing.plural).splitlines()]
    assert lines == [["NAME", "STATE"], ["a", "Active"]]
    kubectl("scale", f"{thing.plural}.things.dev/a", "--replicas=6")
    assert kube.api.get(thing.path(kube, "a"))["spec"]["size"] == 6
