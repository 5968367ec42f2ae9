"""The example of a PodPool on API servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compose.sandbox.kube.apply import apply, manifests
from domain.pod_pools.pod_pool import PodPoolSpec
from events.kube.api import Invalid
from tests.fixtures.kube import Kube

EXAMPLE = Path(__file__).parents[2] / "deploy" / "examples" / "podpool.yaml"
pytestmark = pytest.mark.usefixtures("crds")


def test_the_example_is_taken_as_it_is(kube: Kube) -> None:
    (body,) = manifests(EXAMPLE)
    body["metadata"]["namespace"] = kube.namespace
    apply(kube.api, [body])
    stored = kube.api.get(kube.path("podpools", "runners", group="berthmaster.dev/v1alpha1"))["spec"]
    spec = PodPoolSpec.model_validate(stored)
    assert spec == PodPoolSpec.model_validate(body["spec"])
    assert [slot.accepts for slot in spec.slots] == [(), ("plan",), ("plan",)]
    assert stored["template"] == body["spec"]["template"]  # nothing of a pod is pruned


def test_a_pod_of_the_examples_template_is_taken(kube: Kube) -> None:
    (body,) = manifests(EXAMPLE)
    meta = {"name": "a", "namespace": kube.namespace}
    pod = kube.api.create(kube.path("pods"), {"metadata": meta, "spec": body["spec"]["template"]["spec"]})
    assert pod["spec"]["volumes"][0]["name"] == "spool"


def create(kube: Kube, schedule: dict[str, Any]) -> dict[str, Any]:
    (body,) = manifests(EXAMPLE)
    body["metadata"] = {"name": "scheduled"}
    body["spec"]["schedules"] = [{"name": "a", "cron": "0 8 * * 1-5", "duration": "10h", "minReplicas": 2} | schedule]
    return kube.api.create(kube.path("podpools", group="berthmaster.dev/v1alpha1"), body)


@pytest.mark.row("SD-36")
def test_a_schedule_may_leave_out_its_time_zone(kube: Kube) -> None:
    (stored,) = create(kube, {"cron": "*/5 0-7,12 1,15 JAN-MAR 5#2"})["spec"]["schedules"]
    assert (stored["timeZone"], stored["freeze"]) == ("UTC", False)


@pytest.mark.row("SD-36")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cron": "@daily"}, "cron"),
        ({"cron": "0 0 * * * *"}, "cron"),
        ({"timeZone": "../UTC"}, "timeZone"),
        ({"duration": "30s"}, "a duration must be at least 1m and at most 744h"),
        ({"duration": "745h"}, "a duration must be at least 1m and at most 744h"),
        ({"minReplicas": 0}, "minReplicas"),
        ({"minReplicas": None}, "each needs minReplicas, maxIdle or freeze"),
    ],
)
def test_a_faulty_schedule_is_refused_by_the_api_server(kube: Kube, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        create(kube, changes)


def test_kubectl_shows_why_a_pool_has_no_pods(kube: Kube) -> None:
    definition = kube.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podpools.berthmaster.dev")
    columns = {c["name"]: c["jsonPath"] for c in definition["spec"]["versions"][0]["additionalPrinterColumns"]}
    assert columns["Reason"] == '.status.conditions[?(@.type=="Ready")].reason'
    assert columns["Draining"] == ".status.pods.draining"
