"""The kinds that the API serves: some of Kubernetes' own, and those of CustomResourceDefinitions.

A kind is data. The real API treats some kinds specially: separate status, updates without a version, create by PUT.
Each of these is a field here, with the values of a real server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]
KindKey = tuple[str, str]
"""API group and plural. The store keeps objects under this key, whatever version a client uses."""
ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
EVERYWHERE: Final = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True)
class ServedKind:
    """One served version of a kind."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    status: bool = False
    """Whether the kind has a status subresource. Each of the two paths then ignores the other's part."""
    unversioned_update: bool = True
    """Whether a PUT may omit the resourceVersion."""
    create_by_put: bool = False
    fields: frozenset[str] = EVERYWHERE
    """Paths that field selectors may name."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    schema: Json | None = field(default=None, compare=False)
    """OpenAPI schema of a custom resource. None: the kind is Kubernetes' own."""
    columns: tuple[Json, ...] = field(default=(), compare=False)
    scale: Json | None = field(default=None, compare=False)

    @property
    def key(self) -> KindKey:
        """The key under which the store keeps the objects."""
        return (self.group, self.plural)

    @property
    def api_version(self) -> str:
        """The `apiVersion` of the objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition defines the kind."""
        return self.schema is not None

    @property
    def title(self) -> str:
        """Return the name that messages about invalid objects use."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def resource(self) -> str:
        """Return the name that other messages use."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


POD_FIELDS: Final = EVERYWHERE | {
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "status.podIP",
}
EVENT_FIELDS: Final = EVERYWHERE | {
    *(f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")),
    "reason",
    "reportingComponent",
    "type",
}
CLUSTER: Final[Json] = {"namespaced": False}
RBAC: Final = "rbac.authorization.k8s.io"
DEFINITIONS: Final[KindKey] = ("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES: Final[KindKey] = ("", "namespaces")
PODS: Final[KindKey] = ("", "pods")
WITH_STATUS: Final[Json] = {"status": True, "categories": ("all",)}
"""Kinds with a status that `kubectl get all` shows."""
BUILT_IN: Final = (
    ServedKind(
        "",
        "v1",
        "namespaces",
        "Namespace",
        **CLUSTER,
        status=True,
        fields=EVERYWHERE | {"status.phase"},
        short_names=("ns",),
    ),
    ServedKind("", "v1", "nodes", "Node", **CLUSTER, status=True, short_names=("no",)),
    ServedKind("", "v1", "pods", "Pod", **WITH_STATUS, fields=POD_FIELDS, short_names=("po",)),
    ServedKind("", "v1", "events", "Event", fields=EVENT_FIELDS, create_by_put=True, short_names=("ev",)),
    ServedKind("", "v1", "services", "Service", **WITH_STATUS, short_names=("svc",)),
    ServedKind("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
    ServedKind("", "v1", "secrets", "Secret", fields=EVERYWHERE | {"type"}),
    ServedKind("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",)),
    ServedKind("apps", "v1", "deployments", "Deployment", **WITH_STATUS, short_names=("deploy",)),
    ServedKind("apps", "v1", "statefulsets", "StatefulSet", **WITH_STATUS, short_names=("sts",)),
    ServedKind("coordination.k8s.io", "v1", "leases", "Lease", unversioned_update=False, create_by_put=True),
    ServedKind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", status=True, short_names=("pdb",)),
    ServedKind(RBAC, "v1", "roles", "Role"),
    ServedKind(RBAC, "v1", "rolebindings", "RoleBinding"),
    ServedKind(RBAC, "v1", "clusterroles", "ClusterRole", **CLUSTER),
    ServedKind(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", **CLUSTER),
    ServedKind(
        DEFINITIONS[0], "v1", DEFINITIONS[1], "CustomResourceDefinition", **CLUSTER, status=True, short_names=("crd",)
    ),
)


class Kinds:
    """The kinds that are served now."""

    def __init__(self) -> None:
        self.served: dict[tuple[str, str, str], ServedKind] = {}
        for kind in BUILT_IN:
            self.add(kind)

    def add(self, kind: ServedKind) -> None:
        """Serve a kind."""
        self.served[kind.group, kind.version, kind.plural] = kind

    def drop(self, key: KindKey) -> None:
        """Stop serving all versions of a kind."""
        self.served = {path: kind for path, kind in self.served.items() if kind.key != key}

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """Return the kind with this group, version and plural, or None."""
        return self.served.get((group, version, plural))

    def of(self, key: KindKey) -> ServedKind | None:
        """Return any served version of the kind with this key."""
        return next((kind for kind in self.served.values() if kind.key == key), None)

    def groups(self) -> Mapping[str, list[str]]:
        """Return the versions of each group, with the core group ('') first."""
        groups: dict[str, list[str]] = {}
        for group, version, _ in self.served:
            if version not in groups.setdefault(group, []):
                groups[group].append(version)
        return groups

    def in_version(self, group: str, version: str) -> Iterator[ServedKind]:
        """Return the kinds of one version of a group."""
        return (kind for kind in self.served.values() if (kind.group, kind.version) == (group, version))
