"""What Kubernetes would refuse of the objects that we make, it refuses of the object that asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compose.sandbox.kube.apply import manifests
from events.kube.api import Invalid
from tests.fixtures.kube import Kube

EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
GROUP = "berthmaster.dev/v1alpha1"
pytestmark = [pytest.mark.usefixtures("crds"), pytest.mark.row("KU-15")]


def example(name: str) -> dict[str, Any]:
    (body,) = manifests(EXAMPLES / f"{name}.yaml")
    del body["metadata"]
    return body


def create(kube: Kube, plural: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    return kube.api.create(kube.path(plural, group=GROUP), body | {"metadata": {"name": name}})


def test_a_pod_pool_has_a_name_that_its_pods_can_carry(kube: Kube) -> None:
    assert create(kube, "podpools", "p" * 63, example("podpool"))
    with pytest.raises(Invalid, match="more than 63 characters: its pods have it as a label"):
        create(kube, "podpools", "p" * 64, example("podpool"))


def test_a_claim_set_has_a_name_from_which_claims_can_be_named(kube: Kube) -> None:
    assert create(kube, "podclaimsets", "s" * 246, example("podclaimset"))
    with pytest.raises(Invalid, match="more than 246 characters"):
        create(kube, "podclaimsets", "s" * 247, example("podclaimset"))


def test_a_runner_token_names_a_secret_that_there_can_be(kube: Kube) -> None:
    body = example("podpool")
    body["spec"]["runnerToken"] = {"secretName": "a..b"}
    with pytest.raises(Invalid, match="secretName"):
        create(kube, "podpools", "a", body)


def test_a_template_of_claims_has_labels_that_there_can_be(kube: Kube) -> None:
    body = example("podclaimset")
    body["spec"]["template"]["metadata"]["labels"]["not a key"] = "x"
    with pytest.raises(Invalid, match="a key that no label can have"):
        create(kube, "podclaimsets", "a", body)
