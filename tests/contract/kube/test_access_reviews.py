"""Whoever has credentials may ask what they permit; the question itself does nothing."""

from __future__ import annotations

from typing import Any

import pytest

from events.kube.api import Invalid, KubeApi
from tests.fixtures.kube import Kube, SandboxKube

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PODS = {"verb": "list", "group": "", "resource": "pods"}
STATUS = {"verb": "patch", "group": "berthmaster.dev", "resource": "portpools", "subresource": "status"}


def reviewed(api: KubeApi, **asked: Any) -> bool:
    answer = api.create(REVIEWS, {"spec": {"resourceAttributes": asked}})
    assert answer["kind"] == "SelfSubjectAccessReview"
    assert answer["spec"]["resourceAttributes"]["verb"] == asked["verb"]
    return bool(answer["status"]["allowed"])


@pytest.mark.parametrize("asked", [PODS, STATUS, {**PODS, "verb": "delete", "namespace": "default", "name": "a"}])
def test_the_administrator_may_and_nobody_may_not(kube: Kube, asked: dict[str, str]) -> None:
    assert reviewed(kube.api, **asked)
    assert not reviewed(kube.server.api(token=kube.server.other_token), **asked)


@pytest.mark.parametrize(
    "spec", [{}, {"resourceAttributes": PODS, "nonResourceAttributes": {"path": "/x", "verb": "get"}}]
)
def test_a_question_about_nothing_or_two_things_is_refused(kube: Kube, spec: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="exactly one of"):
        kube.api.create(REVIEWS, {"spec": spec})


def test_the_sandbox_answers_by_the_permissions_that_it_was_told(kube_sandbox: SandboxKube) -> None:
    kube_sandbox.server.fault("deny", verbs=["list"], resources=["pods"], times=1, clients=["tests"])
    assert [reviewed(kube_sandbox.api, **PODS) for _ in range(2)] == [False, False]
    assert reviewed(kube_sandbox.api, **{**PODS, "verb": "get"})
    kube_sandbox.server.heal()
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    kube_sandbox.server.fault("allow", rules=[rule], clients=["tests"])
    assert reviewed(kube_sandbox.api, **PODS)
    assert not reviewed(kube_sandbox.api, **STATUS)


def test_fields_of_our_own_kinds_can_be_looked_up(kube: Kube, crds: None) -> None:
    schemas = kube.api.get("/openapi/v3/apis/berthmaster.dev/v1alpha1")["components"]["schemas"]
    found = schemas["dev.berthmaster.v1alpha1.PortPool"]
    about = {"group": "berthmaster.dev", "version": "v1alpha1", "kind": "PortPool"}
    assert found["x-kubernetes-group-version-kind"] == [about]
    assert found["properties"]["spec"]["properties"]["region"]["type"] == "string"
