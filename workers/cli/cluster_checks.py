"""What `doctor` asks the Kubernetes API: does it answer, are our kinds up to date, do we have our permissions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from berthmaster.kinds import OUR_KINDS, POD_POOL, VERSION, ResourceKind
from domain.kubernetes.objects import KubeObject
from events.kube.api import KubeApi, KubeError, NotFound
from events.settings import ProcessSettings
from workers.cli.check import Check
from workers.cli.clocks import judge_clock
from workers.cli.configured import or_exit
from workers.cli.fields import difference
from workers.cli.permissions import Account, Permission, of_pod_pools, of_publisher, of_worker
from workers.cli.troubles import in_words
from workers.kube.our_kinds import ROOT

Json = dict[str, Any]
SCHEMAS: Final = f"/openapi/v3{ROOT}"
REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def cluster_checks(kube: KubeApi, process: Account) -> Iterator[Check]:
    """Run all checks; stop at the first call that fails, because the others would fail in the same way."""
    name = "Kubernetes answers"
    try:
        yield Check(name, ok=True, finding=str(kube.get("/version").get("gitVersion", "yes")))
        yield judge_clock("the Kubernetes API", kube.clock.ahead().total_seconds())
        name = "Custom resources"
        yield from definition_checks(kube)
        name = "Permissions"
        yield from permission_checks(kube, process)
    except KubeError as error:
        yield Check(name, ok=False, finding=in_words(error))


def definition_checks(kube: KubeApi) -> Iterator[Check]:
    """Check that each of our kinds is installed in this version."""
    served = schemas(kube)
    for kind in OUR_KINDS:
        schema = served.get(kind.name)
        wrong = difference(kind, schema) if schema else "not installed: kubectl apply -f deploy/crds"
        yield Check(f"{kind.name} is installed", wrong is None, wrong or "as in this version")


def schemas(kube: KubeApi) -> dict[str, Json]:
    """Return the schemas of our kinds that the cluster serves, by kind. Every account may read them."""
    try:
        served = kube.get(SCHEMAS)["components"]["schemas"]
    except NotFound:
        return {}
    prefix = f"dev.berthmaster.{VERSION}."
    return {name.removeprefix(prefix): schema for name, schema in served.items() if name.startswith(prefix)}


def permission_checks(kube: KubeApi, process: Account) -> Iterator[Check]:
    """Yield a line for each missing permission, and one line for each role that is complete."""
    if process is Account.PUBLISHER:
        yield from granted(kube, "berthmaster-publisher", of_publisher(or_exit(ProcessSettings).publisher))
        return
    yield from granted(kube, "berthmaster-worker", of_worker())
    for namespace in with_pod_pools(kube):
        yield from granted(kube, f"berthmaster-pod-pools in {namespace}", of_pod_pools(namespace))


def with_pod_pools(kube: KubeApi) -> list[str]:
    """Return the namespaces that have pod pools, sorted."""
    return sorted({KubeObject(pool).namespace for pool in listed(kube, POD_POOL)})


def listed(kube: KubeApi, kind: ResourceKind) -> list[Json]:
    """Return the objects of a kind. Empty where the kind is missing or forbidden: another check reports that."""
    try:
        return list(kube.list(kind.collection())["items"])
    except KubeError:
        return []


def granted(kube: KubeApi, role: str, permissions: Iterable[Permission]) -> Iterator[Check]:
    """Check the permissions of one role."""
    wanted = list(permissions)
    missing = [permission for permission in wanted if not allowed(kube, permission)]
    for permission in missing:
        yield Check(f"May {permission}", ok=False, finding=permission.way_out)
    if not missing:
        yield Check(f"Permissions of {role}", ok=True, finding=f"all {len(wanted)}")


def allowed(kube: KubeApi, permission: Permission) -> bool:
    """Ask the API server whether this account has a permission."""
    resource, _, subresource = permission.resource.partition("/")
    about = {"verb": permission.verb, "group": permission.group, "resource": resource, "subresource": subresource}
    place = {"namespace": permission.namespace, "name": permission.name}
    spec = {"resourceAttributes": {key: value for key, value in (about | place).items() if value}}
    return bool(kube.create(REVIEWS, {"spec": spec})["status"]["allowed"])
