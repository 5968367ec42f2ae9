"""PodClaims and PodClaimSets on API servers: what is refused, by which field, and what is filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compose.sandbox.kube.apply import apply, manifests
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claims.additions import AllowedKeys, Metadata, additions
from domain.claims.pod_claim import PodClaimSpec
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.spec_errors import spec_problem
from events.kube.api import Invalid
from tests.fixtures.kube import Kube

Json = dict[str, Any]
GROUP = "berthmaster.dev/v1alpha1"
EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
pytestmark = pytest.mark.usefixtures("crds")


@pytest.mark.parametrize(("file", "plural"), [("podclaim", "podclaims"), ("podclaimset", "podclaimsets")])
def test_the_examples_are_taken_as_they_are(kube: Kube, file: str, plural: str) -> None:
    (body,) = manifests(EXAMPLES / f"{file}.yaml")
    body["metadata"]["namespace"] = kube.namespace
    apply(kube.api, [body])
    stored = kube.api.get(kube.path(plural, body["metadata"]["name"], group=GROUP))["spec"]
    model = PodClaimSpec if file == "podclaim" else PodClaimSetSpec
    assert model.model_validate(stored) == model.model_validate(body["spec"])


def test_the_example_claims_find_pods_of_the_example_pool(kube: Kube) -> None:
    pool, claim, claim_set = (
        manifests(EXAMPLES / f"{name}.yaml")[0] for name in ("warmpool", "podclaim", "podclaimset")
    )
    pool["metadata"]["namespace"] = kube.namespace
    apply(kube.api, [pool])
    labels = PodPoolSpec.model_validate(pool["spec"]).template["metadata"]["labels"]
    for spec in (claim["spec"], claim_set["spec"]["template"]["spec"]):
        assert spec["poolName"] == pool["metadata"]["name"]
        assert spec.get("selector", {}).items() <= labels.items()


def claim(kube: Kube, **spec: Any) -> Json:
    body = {"apiVersion": GROUP, "kind": "PodClaim", "metadata": {"name": "db"}, "spec": spec}
    return kube.api.create(kube.path("podclaims", group=GROUP), body)


def claim_set(kube: Kube, **spec: Any) -> Json:
    body = {"apiVersion": GROUP, "kind": "PodClaimSet", "metadata": {"name": "dbs"}, "spec": spec}
    return kube.api.create(kube.path("podclaimsets", group=GROUP), body)


def template(labels: Json, **spec: Any) -> Json:
    return {"metadata": {"labels": labels}, "spec": {"poolName": "warm"} | spec}


def test_a_claim_that_names_a_pool_is_taken_with_its_defaults(kube: Kube) -> None:
    stored = claim(kube, poolName="warm")["spec"]
    assert stored["whenLost"] == "Rebind"
    assert PodClaimSpec.model_validate(stored) == PodClaimSpec(pool_name="warm")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "poolName and selector are both empty"),
        ({"poolName": "warm", "sourcePod": {"podName": "a"}}, "sourcePod is given without podName"),
        ({"poolName": "warm", "podName": "a", "sourcePod": {"podName": "a"}}, "sourcePod.podName must not be podName"),
        ({"selector": {"a b": "c"}}, "selector has a key that no label can have"),
        ({"selector": {"a..b/x": "c"}}, "selector has a key that no label can have"),
        ({"selector": {f"{'a' * 254}/x": "c"}}, "selector has a key that no label can have"),
        ({"poolName": "w", "additionalPodLabels": {"a.-b/x": "c"}}, "additionalPodLabels has a key that no label"),
        ({"poolName": "../podpools"}, "poolName"),
        ({"poolName": "warm?x=1"}, "poolName"),
        ({"poolName": "a..b"}, "poolName"),
        ({"poolName": "warm", "podName": "a..b"}, "podName"),
        ({"poolName": "warm", "podName": "a.-b"}, "podName"),
        ({"poolName": "warm", "podName": "a" * 254}, "podName"),
        ({"poolName": "warm", "podName": "a", "sourcePod": {"podName": "a-.b"}}, "sourcePod.podName"),
        ({"poolName": "w", "additionalPodLabels": {"berthmaster.dev/phase": "Idle"}}, "must not begin with"),
        ({"poolName": "w", "additionalPodAnnotations": {"berthmaster.dev/ports": "1"}}, "must not begin with"),
        ({"poolName": "w", "additionalPodAnnotations": {"a b": "1"}}, "has a key that no label"),
        ({"poolName": "w", "additionalPodAnnotations": {"a": "1" * 1025}}, "additionalPodAnnotations"),
        ({"poolName": "w", "ownerName": "not a label"}, "ownerName"),
        ({"poolName": "w", "whenLost": "Wait"}, "whenLost"),
        ({"poolName": "w", "ttl": "9s"}, "ttl must be from 10s to 8760h"),
        ({"poolName": "w", "ttl": "8761h"}, "ttl must be from 10s to 8760h"),
        ({"poolName": "w", "ttl": "soon"}, "ttl"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused_by_server_and_worker(kube: Kube, spec: Json, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        claim(kube, **spec)
    with pytest.raises(ValueError, match=words) as refused:
        PodClaimSpec.model_validate(spec)
    assert words in spec_problem(refused.value)  # type: ignore[arg-type]  # pydantic's


@pytest.mark.row("HO-08")
@pytest.mark.parametrize("key", ["kubernetes.io/os", "app.kubernetes.io/name", "topology.k8s.io/zone", "k8s.io/x"])
def test_labels_that_kubernetes_reserves_are_refused_by_the_server_and_left_out_by_the_worker(
    kube: Kube, key: str
) -> None:
    """The worker takes a claim that was stored before there was the rule: it keeps its pod."""
    spec = {"poolName": "warm", "additionalPodLabels": {key: "x"}}
    with pytest.raises(Invalid, match=r"additionalPodLabels.*kubernetes\.io or k8s\.io"):
        claim(kube, **spec)
    with pytest.raises(Invalid, match=r"additionalPodLabels.*kubernetes\.io or k8s\.io"):
        claim_set(kube, selector={"app": "db"}, template=template({"app": "db"}, **spec))
    asked = PodClaimSpec.model_validate(spec).additions
    assert additions(asked, Metadata(), AllowedKeys("warm", {key})).left_out.keys() == {f"label {key}"}


@pytest.mark.row("HO-08")
@pytest.mark.parametrize(
    "key", ["app", "mykubernetes.io/x", "kubernetes.io.example.com/x", "example.com/kubernetes.io"]
)
def test_other_labels_are_nobodys_but_the_templates(kube: Kube, key: str) -> None:
    asked = claim(kube, poolName="warm", additionalPodLabels={key: "x"})["spec"]["additionalPodLabels"]
    wanted, allowed = Metadata(asked), AllowedKeys("warm", {key})
    assert additions(wanted, Metadata(), allowed).metadata.labels == {key: "x"}
    told = additions(wanted, Metadata({key: ""}), allowed).in_words()
    assert told == f"label {key} is left out: the pod has it from its pool's template"


@pytest.mark.row("WC-47")
@pytest.mark.parametrize("change", [{"poolName": "other"}, {"selector": {"a": "b"}}, {"ownerName": "other"}])
def test_what_a_claim_asked_for_cannot_be_changed(kube: Kube, change: Json) -> None:
    claim(kube, poolName="warm", ownerName="ann")
    with pytest.raises(Invalid, match="cannot be changed: make another claim"):
        kube.api.patch(kube.path("podclaims", "db", group=GROUP), {"spec": change})


@pytest.mark.parametrize("name", ["a", "a.b", "warm-1.x--y.9", f"{'a' * 63}.{'b' * 63}", "a" * 253])
def test_whatever_a_pod_may_be_called_can_be_named(kube: Kube, name: str) -> None:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    kube.api.create(f"/api/v1/namespaces/{kube.namespace}/pods", body)
    assert PodClaimSpec.model_validate(claim(kube, poolName="warm", podName=name)["spec"]).pod_name == name


def test_a_set_is_scaled_by_its_subresource(kube: Kube) -> None:
    claim_set(kube, replicas=2, selector={"app": "db"}, template=template({"app": "db"}))
    path = kube.path("podclaimsets", "dbs", group=GROUP)
    kube.api.patch(f"{path}/scale", {"spec": {"replicas": 5}})
    stored = kube.api.get(path)["spec"]
    assert PodClaimSetSpec.model_validate(stored).replicas == 5


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"selector": {"app": "db"}, "template": template({"app": "web"})}, "must have the labels of selector"),
        ({"selector": {"a": "b"}, "template": template({"a": "b"}, podName="p")}, "must not have podName or sourcePod"),
        ({"selector": {"a": "b"}, "template": template({"a": "b"}, poolName="")}, "poolName and selector are both"),
        ({"selector": {}, "template": template({})}, "selector"),
        ({"selector": {"a": "b"}, "template": template({"a": "b"}), "replicas": -1}, "replicas"),
    ],
)
def test_a_set_that_makes_no_sense_is_refused_by_server_and_worker(kube: Kube, spec: Json, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        claim_set(kube, **spec)
    with pytest.raises(ValueError, match=words):
        PodClaimSetSpec.model_validate(spec)
