"""The Helm charts on the real API server: installed, upgraded, removed, and one release a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
import yaml

from compose.sandbox.kube.apply import collection
from events.kube.api import Denied, Invalid, KubeApi, NotFound
from tests.fixtures.helm import CHARTS, Helm
from tests.fixtures.kube import Kube, Kubectl
from tests.support.chart_values import full_values
from tests.support.waiting import eventually

Json = dict[str, Any]
CHART, CRDS = CHARTS / "berthmaster", CHARTS / "berthmaster-crds"
GROUP = "berthmaster.dev/v1alpha1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NOT_SERVED = ("keda", "podMonitor", "prometheusRule")
"""Values for kinds that this server does not have."""


@pytest.fixture
def helm_real(helm: Helm, kube_real: Kube, crds_real: None) -> Iterator[Helm]:
    """On the real server. A test that failed leaves no release, because its objects have fixed names."""
    on_cluster = Helm(helm.home, kube_real.server.kubeconfig)
    yield on_cluster
    on_cluster("uninstall", "berthmaster", "--namespace", kube_real.namespace, "--ignore-not-found")


@pytest.fixture
def kubectl_real(kube_real: Kube, tmp_path: Path) -> Kubectl:
    return Kubectl(kube_real, tmp_path)


def paths(api: KubeApi, objects: list[Json]) -> set[str]:
    return {f"{collection(api, body)}/{body['metadata']['name']}" for body in objects}


def present(api: KubeApi, places: set[str]) -> set[str]:
    """Those that the server has, without those that it is removing."""
    found = set()
    for place in places:
        with suppress(NotFound):
            if "deletionTimestamp" not in api.get(place)["metadata"]:
                found.add(place)
    return found


def settled_values() -> Json:
    return {name: value for name, value in full_values().items() if name not in NOT_SERVED}


@pytest.mark.row("ST-17")
def test_a_release_is_installed_upgraded_and_removed(helm_real: Helm, kube_real: Kube) -> None:
    api, place = kube_real.api, ("--namespace", kube_real.namespace)
    values = settled_values() | {"podPools": {"namespaces": [kube_real.namespace]}}
    said = helm_real("install", "berthmaster", str(CHART), *place, values=values)
    assert "berthmaster doctor" in said
    assert "kinds are missing" not in said
    installed = paths(api, helm_real.template(CHART, values, kube_real.namespace))
    assert present(api, installed) == installed
    deployments = kube_real.path("deployments", "worker", group="apps/v1")
    assert api.get(deployments)["spec"]["replicas"] == 5
    sum_before = pod_notes(api, deployments)["checksum/settings"]

    values["worker"]["replicas"], values["flower"]["enabled"] = 4, False
    values["settings"]["AWS_REGION"] = "eu-north-1"
    helm_real("upgrade", "berthmaster", str(CHART), *place, values=values)
    assert api.get(kube_real.path("configmaps", "berthmaster"))["data"]["AWS_REGION"] == "eu-north-1"
    assert api.get(deployments)["spec"]["replicas"] == 4
    assert pod_notes(api, deployments)["checksum/settings"] != sum_before
    gone = {one for one in installed if one.endswith("/flower")}
    assert (present(api, installed), len(gone)) == (installed - gone, 2)

    helm_real("uninstall", "berthmaster", *place)
    eventually(lambda: not present(api, installed))


def pod_notes(api: KubeApi, deployment: str) -> Json:
    notes: Json = api.get(deployment)["spec"]["template"]["metadata"]["annotations"]
    return notes


@pytest.mark.row("ST-14", "ST-18")
def test_a_release_limits_its_account_in_any_namespace_and_is_the_only_one(
    helm_real: Helm, kube_real: Kube, kubectl_real: Kubectl
) -> None:
    own = {"cluster": "production", "worker": {"serviceAccount": {"name": "berth-worker"}}}
    helm_real("install", "berthmaster", str(CHART), "--namespace", kube_real.namespace, values=own)
    container = {"name": "busy", "image": "busy"}
    kube_real.api.create(kube_real.path("pods"), {"metadata": {"name": "theirs"}, "spec": {"containers": [container]}})
    token = kubectl_real("create", "token", "berth-worker").strip()
    with closing(kube_real.server.api(token=token)) as worker:

        def is_refused() -> bool:
            try:
                worker.patch(kube_real.path("pods", "theirs"), {"metadata": {"labels": {"try": token_hex(4)}}})
            except (Denied, Invalid) as refused:
                return "changes labels of pods of its pod pools only" in str(refused)
            return False

        eventually(is_refused)  # a server knows a new policy after a moment
    second = helm_real.run("install", "second", str(CHART), "--namespace", kube_real.namespace, values=own)
    assert second.returncode != 0
    assert "cannot be imported into the current release" in second.stderr


@pytest.mark.row("ST-11")
def test_the_definitions_are_upgraded_and_outlive_their_chart(helm_real: Helm, kube_real: Kube, tmp_path: Path) -> None:
    """Also those that `kubectl apply` brought, which Helm takes over if it is told to."""
    api, place = kube_real.api, ("--namespace", kube_real.namespace)
    older = tmp_path / "older"
    shutil.copytree(CRDS, older)
    changed = older / "files" / "crds" / "podpools.berthmaster.dev.yaml"
    body = yaml.safe_load(changed.read_text())
    body["spec"]["names"]["shortNames"] = ["older"]
    changed.write_text(yaml.safe_dump(body))
    over = ("--install", "--take-ownership", "--force-conflicts")
    helm_real("upgrade", "berthmaster-crds", str(older), *place, *over)
    assert api.get(f"{DEFINITIONS}/podpools.berthmaster.dev")["spec"]["names"]["shortNames"] == ["older"]
    helm_real("upgrade", "berthmaster-crds", str(CRDS), *place)
    assert "shortNames" not in api.get(f"{DEFINITIONS}/podpools.berthmaster.dev")["spec"]["names"]
    claim = {"apiVersion": GROUP, "kind": "PodClaim", "metadata": {"name": "lives-on"}, "spec": {"poolName": "warm"}}
    claims = kube_real.path("podclaims", group=GROUP)
    api.create(claims, claim)
    helm_real("uninstall", "berthmaster-crds", *place)
    definitions = paths(api, helm_real.template(CRDS))
    assert present(api, definitions) == definitions
    assert api.get(f"{claims}/lives-on")["spec"]["poolName"] == "warm"
