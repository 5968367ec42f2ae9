"""The kinds of objects that are followed, and how one object becomes a key, a version and a snapshot.

Everything that differs between pods and pools stands here, so that listing, watching and comparing know no kind.
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
from events.protocol.schemas import Json, pod_snapshot, pool_snapshot
from events.publisher.predicates import always, opted_in
from events.workqueue import Mark

EVENTS_REASON: Final = "AllocationFailed"

Snapshot = Callable[[Mapping[str, Any]], Json]
Predicate = Callable[[KubeObject], bool]


class ListedObject(NamedTuple):
    """One object as listed or as an event brought it. `opted` = it concerns us even if nobody knows it yet."""

    mark: Mark
    opted: bool


@dataclass(frozen=True)
class Resource:
    """`path` is the collection; `query` are the selectors, sent with lists and watches alike."""

    name: str  # in logs and metrics
    kind: str  # first part of its keys, middle part of its events' types
    path: str
    snapshot: Snapshot
    key: Callable[[KubeObject], str]
    opted: Predicate = always
    query: Mapping[str, str] = field(default_factory=dict)

    def item(self, obj: Mapping[str, Any], gone: bool = False) -> ListedObject:
        kube_object = KubeObject(obj)
        body = bytes(memoryview(orjson.dumps(self.snapshot(obj))))  # a copy: orjson's own keeps its whole buffer alive
        mark = Mark(self.key(kube_object), version_of(obj), kube_object.metadata.get("uid", ""), gone, body)
        return ListedObject(mark, self.opted(kube_object) and routing.is_key(mark.key))

    def owns(self, key: str) -> bool:
        return key.startswith(f"{self.kind}/")


def snapshot_resources(namespace: str = "", pod_selector: str = "") -> list[Resource]:
    """All kinds, as the publisher follows them: of one namespace or ('') all."""
    kinds = sorted(KINDS, key=lambda kind: kind is POD_CLAIM)  # claims last: their list wakes the known sets
    return [resource_of(kind, namespace, pod_selector if kind is POD else "") for kind in kinds]


def pods(namespace: str = "", selector: str = "") -> Resource:
    """Of one namespace or ('') all. With a label selector, a pod that loses the label counts as gone."""
    return resource_of(POD, namespace, selector)


def resource_of(kind: ResourceKind, namespace: str = "", selector: str = "") -> Resource:
    """`namespace` has no meaning for a kind of the whole cluster."""
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
    """How a snapshot is made, and whether an object that nobody knows yet concerns us."""
    match of:
        case Projection.PORTS:
            return pod_snapshot, opted_in
        case Projection.SPEC:
            return pool_snapshot, always
        case _:
            assert_never(of)


def pool_pods(namespace: str = "") -> Resource:
    """Pods of pod pools. They are never stored: a change of one makes its pool look."""
    return Resource(
        name="poolpods",
        kind="poolpod",
        path=POD.collection(namespace),
        snapshot=lambda _: {},
        key=labelled_pool,
        query={"labelSelector": POOL},
    )


def labelled_pool(pod: KubeObject) -> str:
    """The key of the pool that a pod's label names, '' for none: whoever may write the pod may write anything there."""
    pool = pod.labels.get(POOL)
    if is_name(pool):
        return routing.pod_pool_key(pod.namespace, pool)
    refuse_name(f"label {POOL}", f"pod {pod.namespace}/{pod.name}", pool)
    return ""


def allocation_failures(namespace: str = "") -> Resource:
    """Kubernetes Events of other controllers. They are never stored: their consumer turns them into events of ours."""
    return Resource(
        name="events",
        kind="event",
        path=f"/api/v1/namespaces/{namespace}/events" if namespace else "/api/v1/events",
        snapshot=dict,
        key=lambda event: f"event/{event.namespace}/{event.name}",
        query={"fieldSelector": f"reason={EVENTS_REASON}"},
    )
