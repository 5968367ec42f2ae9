"""The Kubernetes permissions of our processes, and the role of deploy/base that grants each of them.

`doctor` asks the API server for them, and a test compares them with the manifests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from berthmaster.kinds import CORE, KINDS, OUR_KINDS, POD, ResourceKind
from events.kube.system import NAMESPACE
from events.settings import PublisherSettings

LEASES: Final = "coordination.k8s.io"
Rules = Mapping[tuple[str, str], tuple[str, ...]]
"""(API group, resource with its subresource) -> verbs."""


def _worker_rules(kinds: Iterable[ResourceKind]) -> Rules:
    rules = dict[tuple[str, str], tuple[str, ...]]()
    for kind in kinds:
        rules |= {(kind.group, kind.plural): kind.worker_verbs, (kind.group, f"{kind.plural}/status"): ("patch",)}
    return rules


WORKER: Final[Rules] = {
    **_worker_rules([POD]),
    (CORE, "namespaces"): ("get",),
    (CORE, "events"): ("create",),
    **_worker_rules(OUR_KINDS),
}
PUBLISHER: Final[Rules] = {
    (POD.group, POD.plural): POD.publisher_verbs,
    (CORE, "events"): ("list", "watch"),
    **{(kind.group, kind.plural): kind.publisher_verbs for kind in OUR_KINDS},
}
POD_POOLS: Final[Rules] = {
    (CORE, "pods"): ("create", "delete"),
    (CORE, "secrets"): ("get", "create", "patch"),
    ("policy", "poddisruptionbudgets"): ("get", "create", "delete"),
}
"""Needed in each namespace that has pod pools."""
WHOLE_CLUSTER: Final = frozenset(kind.plural for kind in KINDS if not kind.namespaced)
"""Resources whose objects have no namespace."""
LEASE: Final = ("create", "get", "update")
"""Needed in the Lease's namespace. All but `create` are limited to its name."""


class Account(StrEnum):
    """A process with a service account of its own."""

    WORKER = "worker"
    PUBLISHER = "publisher"


@dataclass(frozen=True)
class Permission:
    """One permission. `role`: the role of deploy/base that grants it. `way_out`: what to do when it is missing."""

    role: str
    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    way_out: str = ""

    def __str__(self) -> str:
        """Return the permission as people say it: `patch portpools.berthmaster.dev/status`."""
        plural, slash, subresource = self.resource.partition("/")
        kind = (f"{plural}.{self.group}" if self.group else plural) + slash + subresource
        where = f"in namespace {self.namespace}" if self.namespace else ""
        return " ".join(filter(None, (self.verb, kind, self.name, where)))


def of_worker() -> Iterator[Permission]:
    """Yield the permissions of a worker in the whole cluster."""
    yield from _all("berthmaster-worker", WORKER, "")


def of_publisher(settings: PublisherSettings) -> Iterator[Permission]:
    """Yield the permissions of the publisher, which may be limited to one namespace."""
    for permission in _all("berthmaster-publisher", PUBLISHER, settings.namespace):
        if settings.failures or permission.resource != "events":
            yield permission
    out = _bound("berthmaster-publisher", "publisher", "cluster role")
    yield Permission("berthmaster-publisher", "get", CORE, "namespaces", name=NAMESPACE, way_out=out)
    lease = settings.lease
    out = _bound("berthmaster-publisher", "publisher", f"role in namespace {lease.namespace}")
    for verb in LEASE:
        name = "" if verb == "create" else lease.name
        yield Permission("berthmaster-publisher", verb, LEASES, "leases", lease.namespace, name, out)
    yield Permission("berthmaster-publisher", "create", CORE, "events", lease.namespace, way_out=out)


def of_pod_pools(namespace: str) -> Iterator[Permission]:
    """Yield the permissions of a worker in a namespace with pod pools."""
    out = (
        f"kubectl create rolebinding berthmaster-pod-pools -n {namespace} "
        "--clusterrole=berthmaster-pod-pools --serviceaccount=berthmaster:worker"
    )
    for (group, resource), verbs in POD_POOLS.items():
        for verb in verbs:
            yield Permission("berthmaster-pod-pools", verb, group, resource, namespace, way_out=out)


def _all(role: str, rules: Rules, namespace: str) -> Iterator[Permission]:
    out = _bound(role, role.removeprefix("berthmaster-"), "cluster role")
    for (group, resource), verbs in rules.items():
        place = "" if resource.partition("/")[0] in WHOLE_CLUSTER else namespace
        yield from (Permission(role, verb, group, resource, place, way_out=out) for verb in verbs)


def _bound(role: str, process: str, kind: str) -> str:
    return f"bind this account to the {kind} {role} (deploy/base/{process}-access.yaml)"
