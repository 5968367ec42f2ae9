"""Who may make claims and pod pools: Kubernetes' own roles, with what deploy/ adds to them, on the real API server."""

from __future__ import annotations

from contextlib import closing
from itertools import product
from typing import Any, Final

import pytest

from compose.sandbox.kube.real import RealKube
from events.kube.api import Denied, KubeApi
from tests.integration.deploy.conftest import Kubectl
from tests.support.deployed import DEPLOY
from tests.support.waiting import eventually

Json = dict[str, Any]
Allowed = dict[str, set[str]]
ROOT: Final = "/apis/berthmaster.dev/v1alpha1"
TENANT, OTHER = "tenant", "other-tenant"
READS: Final = {"get", "list", "watch"}
CHANGES: Final = {"create", "update", "patch", "delete"}
VERBS: Final = READS | CHANGES | {"deletecollection"}
SEES, SCALES_IT = {"get"}, {"get", "update", "patch"}
KINDS: Final = ("podpools", "podclaims", "podclaimsets")
SCALES: Final = ("podpools/scale", "podclaimsets/scale")
RESOURCES: Final = ("portpools", *KINDS, *SCALES, *(f"{kind}/status" for kind in ("portpools", *KINDS)))
VIEW: Final[Allowed] = {"portpools": READS, **dict.fromkeys(KINDS, READS), **dict.fromkeys(SCALES, SEES)}
EDIT: Final[Allowed] = VIEW | dict.fromkeys(KINDS, VERBS) | dict.fromkeys(SCALES, SCALES_IT)
ROLES: Final[dict[str, Allowed]] = {
    "view": VIEW,
    "edit": EDIT,
    "admin": EDIT,
    "berthmaster-claims": {
        **dict.fromkeys(("podclaims", "podclaimsets"), READS | CHANGES),
        "podclaimsets/scale": SCALES_IT,
    },
}
CLAIM_SET: Final = {
    "apiVersion": "berthmaster.dev/v1alpha1",
    "kind": "PodClaimSet",
    "metadata": {"name": "matches"},
    "spec": {
        "selector": {"app": "a"},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"poolName": "arena"}},
    },
}
PORT_POOL: Final = {"kind": "PortPool", "metadata": {"name": "costly"}, "spec": {}}


@pytest.fixture(scope="module")
def tenants(admin: KubeApi, kubectl_admin: Kubectl) -> None:
    """An account for each role, which it has in one namespace."""
    kubectl_admin("apply", "-k", str(DEPLOY / "overlays" / "sandbox"))
    for namespace in (TENANT, OTHER):
        kubectl_admin("create", "namespace", namespace)
    for role in ROLES:
        kubectl_admin("create", "serviceaccount", role, "-n", TENANT)
        whom = f"--serviceaccount={TENANT}:{role}"
        kubectl_admin("create", "rolebinding", role, "-n", TENANT, f"--clusterrole={role}", whom)
    eventually(lambda: may(admin, "admin", "create", "podclaims"))  # aggregation is a controller's


def may(admin: KubeApi, role: str, verb: str, resource: str, namespace: str = TENANT) -> bool:
    plural, _, subresource = resource.partition("/")
    about = {"namespace": namespace, "verb": verb, "group": "berthmaster.dev", "resource": plural}
    spec = {
        "user": f"system:serviceaccount:{TENANT}:{role}",
        "resourceAttributes": about | {"subresource": subresource},
    }
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    said = admin.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {**kind, "spec": spec})
    return bool(said["status"]["allowed"])


@pytest.mark.row("EV-18")
@pytest.mark.usefixtures("tenants")
@pytest.mark.parametrize("role", ROLES)
def test_a_tenant_s_role_allows_what_it_says_in_its_namespace_and_nothing_elsewhere(admin: KubeApi, role: str) -> None:
    found: Allowed = {}
    for resource, verb in product(RESOURCES, sorted(VERBS)):
        if may(admin, role, verb, resource):
            found.setdefault(resource, set()).add(verb)
        assert not may(admin, role, verb, resource, OTHER), (verb, resource)
    assert found == ROLES[role]


@pytest.mark.row("EV-18")
@pytest.mark.usefixtures("tenants")
@pytest.mark.parametrize("role", ["edit", "berthmaster-claims"])
def test_a_tenant_makes_scales_and_removes_sets_of_claims_but_no_port_pool(
    cluster: RealKube, kubectl_admin: Kubectl, role: str
) -> None:
    sets = f"{ROOT}/namespaces/{TENANT}/podclaimsets"
    with closing(cluster.api(token=kubectl_admin("create", "token", role, "-n", TENANT).strip())) as tenant:
        tenant.create(sets, CLAIM_SET)
        tenant.patch(f"{sets}/matches/scale", {"spec": {"replicas": 3}})
        assert tenant.get(f"{sets}/matches")["spec"]["replicas"] == 3
        tenant.delete(f"{sets}/matches")
        with pytest.raises(Denied):
            tenant.create(f"{ROOT}/portpools", PORT_POOL)
        with pytest.raises(Denied):
            tenant.create(sets.replace(TENANT, OTHER), CLAIM_SET)
