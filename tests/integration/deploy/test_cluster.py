"""The manifests on a real API server: accepted, admitted, and no account may do more than it should."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from compose.sandbox.accounts import NAMESPACE, token
from compose.sandbox.kube.real import RealKube
from events.kube.api import Denied, KubeApi
from tests.fixtures.kube import Kustomize
from tests.integration.deploy.conftest import Kubectl
from tests.support.deployed import DEPLOY

Json = dict[str, Any]
SANDBOX = DEPLOY / "overlays" / "sandbox"
MAKERS = ("Deployment", "StatefulSet")


@pytest.fixture(scope="module")
def applied(kubectl_admin: Kubectl) -> str:
    return kubectl_admin("apply", "-k", str(SANDBOX))


def account(kube: RealKube, admin: KubeApi, name: str) -> KubeApi:
    return kube.api(token=token(admin, name))


@pytest.mark.row("EV-18")
def test_the_api_server_takes_every_manifest_and_keeps_it_as_it_is_written(
    applied: str, kubectl_admin: Kubectl, kustomize: Kustomize
) -> None:
    assert len(applied.splitlines()) == len(kustomize(SANDBOX))
    assert kubectl_admin("diff", "-k", str(SANDBOX)) == ""


def test_every_pod_is_admitted_where_only_restricted_ones_are(
    applied: str, kubectl_admin: Kubectl, kustomize: Kustomize
) -> None:
    """By the server itself, which says what is wrong with a pod of the namespace."""
    makers = [body for body in kustomize(SANDBOX) if body["kind"] in MAKERS]
    for maker in makers:
        meta = {"name": f"try-{maker['metadata']['name']}", "namespace": NAMESPACE}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": without_claims(maker)}
        said = kubectl_admin("create", "--dry-run=server", "-f", "-", told=json.dumps(pod))
        assert said == f"pod/{meta['name']} created (server dry run)\n"
    assert len(makers) == 6


def without_claims(maker: Json) -> Json:
    spec: Json = dict(maker["spec"]["template"]["spec"])
    claimed = [each["metadata"]["name"] for each in maker["spec"].get("volumeClaimTemplates", ())]
    spec["volumes"] = [*spec.get("volumes", ()), *({"name": name, "emptyDir": {}} for name in claimed)]
    return spec


def test_every_root_is_read_only_and_nothing_runs_as_root(kustomize: Kustomize) -> None:
    for maker in (body for body in kustomize(SANDBOX) if body["kind"] in MAKERS):
        spec = maker["spec"]["template"]["spec"]
        assert spec["securityContext"]["runAsUser"] > 0
        assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in spec["containers"])
        assert all({"requests", "limits"} <= each["resources"].keys() for each in spec["containers"])


POD = {"metadata": {"name": "made"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
SECRETS = "/api/v1/namespaces/{}/secrets"
FORBIDDEN: dict[str, list[Callable[[KubeApi], object]]] = {
    "publisher": [
        lambda api: api.patch("/api/v1/namespaces/games/pods/a", {"metadata": {"annotations": {"a": "b"}}}),
        lambda api: api.create("/api/v1/namespaces/games/pods", POD),
        lambda api: api.patch("/apis/berthmaster.dev/v1alpha1/portpools/a/status", {"status": {}}),
        lambda api: api.get(SECRETS.format("games")),
        lambda api: api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"),
        lambda api: api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/of-another"),
    ],
    "worker": [
        lambda api: api.get(SECRETS.format("games")),  # one whose name it knows, not all
        lambda api: api.get(SECRETS.format("kube-system") + "/a"),
        lambda api: api.get(SECRETS.format(NAMESPACE) + "/berthmaster"),
        lambda api: api.delete(SECRETS.format("games") + "/a"),
        lambda api: api.create("/api/v1/namespaces/kube-public/pods", POD),
        lambda api: api.delete("/api/v1/namespaces/kube-public/pods/a"),
        lambda api: api.delete("/api/v1/namespaces/games/pods"),
        lambda api: api.delete("/apis/berthmaster.dev/v1alpha1/portpools/a"),
        lambda api: api.get("/api/v1/nodes"),
        lambda api: api.get("/api/v1/namespaces"),
    ],
}


@pytest.mark.row("EV-18")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_an_account_is_refused_what_is_not_its_business(
    applied: str, cluster: RealKube, admin: KubeApi, name: str
) -> None:
    with closing(account(cluster, admin, name)) as api:
        for call in FORBIDDEN[name]:
            with pytest.raises(Denied):
                call(api)


@pytest.mark.row("EV-18")
def test_beat_and_flower_could_do_nothing_even_with_a_token(applied: str, cluster: RealKube, admin: KubeApi) -> None:
    with closing(account(cluster, admin, "default")) as api, pytest.raises(Denied):
        api.list("/apis/berthmaster.dev/v1alpha1/portpools")
