"""The kinds of objects that are followed, and how one object becomes a key, a version and a snapshot.

Everything that differs between pods and pools stands here, so that listing, watching and comparing know no kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from berthmaster import routing
from berthmaster.names import is_name
from events.protocol.refused_names import refuse_name
from events.protocol.schemas import PREFIX, Json, pod_snapshot, pool_snapshot
from events.publisher.predicates import always, opted_in
from events.workqueue import Mark

EVENTS_REASON: Final = "AllocationFailed"
POOL_LABEL: Final = PREFIX + "pool"


class Item(NamedTuple):
    """One object as listed or as an event brought it. `opted` = it concerns us even if nobody knows it yet."""

    mark: Mark
    opted: bool


@dataclass(frozen=True)
class Resource:
    """`path` is the collection; `query` are the selectors, sent with lists and watches alike."""

    name: str  # in logs and metrics
    kind: str  # first part of its keys, middle part of its events' types
    path: str
    snapshot: Callable[[Mapping[str, Any]], Json]
    key: Callable[[Mapping[str, Any]], str]
    opted: Callable[[Mapping[str, Any]], bool] = always
    query: Mapping[str, str] = field(default_factory=dict)

    def item(self, obj: Mapping[str, Any], gone: bool = False) -> Item:
        meta = obj["metadata"]
        body = bytes(memoryview(orjson.dumps(self.snapshot(obj))))  # a copy: orjson's own keeps its whole buffer alive
        mark = Mark(self.key(meta), int(meta["resourceVersion"]), meta.get("uid", ""), gone, body)
        return Item(mark, self.opted(obj) and routing.is_key(mark.key))

    def owns(self, key: str) -> bool:
        return key.startswith(f"{self.kind}/")


def pods(namespace: str = "", selector: str = "") -> Resource:
    """Of one namespace or ('') all. With a label selector, a pod that loses the label counts as gone."""
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
    return Resource(
        name="pods",
        kind="pod",
        path=path,
        snapshot=pod_snapshot,
        key=lambda meta: routing.pod_key(meta["namespace"], meta["name"]),
        opted=opted_in,
        query={"labelSelector": selector} if selector else {},
    )


def port_pools() -> Resource:
    return Resource(
        name="portpools",
        kind="portpool",
        path="/apis/berthmaster.dev/v1alpha1/portpools",
        snapshot=pool_snapshot,
        key=lambda meta: routing.port_pool_key(meta["name"]),
    )


def pod_pools(namespace: str = "") -> Resource:
    return _ours("podpools", namespace, routing.pod_pool_key)


def pod_claims(namespace: str = "") -> Resource:
    return _ours("podclaims", namespace, routing.pod_claim_key)


def pod_claim_sets(namespace: str = "") -> Resource:
    return _ours("podclaimsets", namespace, routing.pod_claim_set_key)


def _ours(plural: str, namespace: str, key: Callable[[str, str], str]) -> Resource:
    root = "/apis/berthmaster.dev/v1alpha1"
    return Resource(
        name=plural,
        kind=plural.removesuffix("s"),
        path=f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}",
        snapshot=pool_snapshot,
        key=lambda meta: key(meta["namespace"], meta["name"]),
    )


def pool_pods(namespace: str = "") -> Resource:
    """Pods of pod pools. They are never stored: a change of one makes its pool look."""
    return Resource(
        name="poolpods",
        kind="poolpod",
        path=f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods",
        snapshot=lambda _: {},
        key=labelled_pool,
        query={"labelSelector": POOL_LABEL},
    )


def labelled_pool(meta: Mapping[str, Any]) -> str:
    """The key of the pool that a pod's label names, '' for none: whoever may write the pod may write anything there."""
    pool = (meta.get("labels") or {}).get(POOL_LABEL)
    if is_name(pool):
        return routing.pod_pool_key(meta["namespace"], pool)
    refuse_name(f"label {POOL_LABEL}", f"pod {meta['namespace']}/{meta['name']}", pool)
    return ""


def allocation_failures(namespace: str = "") -> Resource:
    """Kubernetes Events of other controllers. They are never stored: their consumer turns them into events of ours."""
    return Resource(
        name="events",
        kind="event",
        path=f"/api/v1/namespaces/{namespace}/events" if namespace else "/api/v1/events",
        snapshot=dict,
        key=lambda meta: f"event/{meta['namespace']}/{meta['name']}",
        query={"fieldSelector": f"reason={EVENTS_REASON}"},
    )
