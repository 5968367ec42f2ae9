"""The kinds of objects that are followed, and how an object becomes a key, a version and a snapshot.

All differences between pods and pools are here, so listing, watching and comparing are the same for every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, assert_never

import orjson

from berthmaster import routing
from berthmaster.kinds import KINDS, POD, POD_CLAIM, Projection, ResourceKind
from berthmaster.names import is_name
from domain.kubernetes.names import POOL
from domain.kubernetes.objects import KubeObject, version_of
from events.protocol.refused_names import refuse_name
from events.protocol.schemas import Json, pod_snapshot, spec_snapshot
from events.publisher.predicates import always, opted_in
from events.workqueue import Mark

EVENTS_REASON: Final = "AllocationFailed"

Snapshot = Callable[[Mapping[str, Any]], Json]
Predicate = Callable[[KubeObject], bool]


class ListedObject(NamedTuple):
    """One object of a list or an event. `opted`: it concerns us even if Redis does not have it."""

    mark: Mark
    opted: bool


@dataclass(frozen=True)
class Resource:
    """A followed kind. `path` is the collection; `query` has the selectors of lists and watches."""

    name: str  # in logs and metrics
    kind: str  # first part of its keys, middle part of its events' types
    path: str
    snapshot: Snapshot
    key: Callable[[KubeObject], str]
    opted: Predicate = always
    query: Mapping[str, str] = field(default_factory=dict)

    def item(self, obj: Mapping[str, Any], gone: bool = False) -> ListedObject:
        """Return the object with its mark. `gone`: it was deleted."""
        kube_object = KubeObject(obj)
        body = bytes(memoryview(orjson.dumps(self.snapshot(obj))))  # a copy: orjson's own keeps its whole buffer alive
        mark = Mark(self.key(kube_object), version_of(obj), kube_object.metadata.get("uid", ""), gone, body)
        return ListedObject(mark, self.opted(kube_object) and routing.is_key(mark.key))

    def owns(self, key: str) -> bool:
        """Return whether the key is of this kind."""
        return key.startswith(f"{self.kind}/")


def snapshot_resources(namespace: str = "", pod_selector: str = "") -> list[Resource]:
    """Return all kinds that the publisher stores, in one namespace or ('') all."""
    kinds = sorted(KINDS, key=lambda kind: kind is POD_CLAIM)  # claims last: their list wakes the stored claim sets
    return [resource_of(kind, namespace, pod_selector if kind is POD else "") for kind in kinds]


def pods(namespace: str = "", selector: str = "") -> Resource:
    """Return the pods of one namespace or ('') all. A pod that loses the label of the selector counts as gone."""
    return resource_of(POD, namespace, selector)


def resource_of(kind: ResourceKind, namespace: str = "", selector: str = "") -> Resource:
    """Return a kind as it is followed. `namespace` has no meaning for a kind of the whole cluster."""
    snapshot, opted = projection(kind.projection)
    return Resource(
        name=kind.plural,
        kind=kind.prefix,
        path=kind.collection(namespace if kind.namespaced else ""),
        snapshot=snapshot,
        key=(lambda obj: kind.key(obj.namespace, obj.name)) if kind.namespaced else (lambda obj: kind.key(obj.name)),
        opted=opted,
        query={"labelSelector": selector} if selector else {},
    )


def projection(of: Projection) -> tuple[Snapshot, Predicate]:
    """Return how a snapshot is built, and whether an object that Redis lacks concerns us."""
    match of:
        case Projection.PORTS:
            return pod_snapshot, opted_in
        case Projection.SPEC:
            return spec_snapshot, always
        case _:
            assert_never(of)


def pool_pods(namespace: str = "") -> Resource:
    """Return the pods of pod pools. They are never stored: a change of one wakes its pool."""
    return Resource(
        name="poolpods",
        kind="poolpod",
        path=POD.collection(namespace),
        snapshot=lambda _: {},
        key=labelled_pool,
        query={"labelSelector": POOL},
    )


def labelled_pool(pod: KubeObject) -> str:
    """Return the key of the pool in a pod's label, '' if its name is invalid: a pod's writer may write anything."""
    pool = pod.labels.get(POOL)
    if is_name(pool):
        return routing.pod_pool_key(pod.namespace, pool)
    refuse_name(f"label {POOL}", f"pod {pod.namespace}/{pod.name}", pool)
    return ""


def allocation_failures(namespace: str = "") -> Resource:
    """Return Kubernetes Events of other controllers. Their feed turns them into our events and stores none."""
    return Resource(
        name="events",
        kind="event",
        path=f"/api/v1/namespaces/{namespace}/events" if namespace else "/api/v1/events",
        snapshot=dict,
        key=lambda event: f"event/{event.namespace}/{event.name}",
        query={"fieldSelector": f"reason={EVENTS_REASON}"},
    )
