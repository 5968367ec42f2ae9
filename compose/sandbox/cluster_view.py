"""Watch pods, pools, claims and Events of the sandbox.

This module reads only what users of the cluster see, never our workers or Redis. It uses the publisher's own watch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from typing import Any, Final

import orjson

from compose.sandbox import jobs, tenants
from compose.sandbox.picture import Notice, Picture, Pool, RunnerStatus
from compose.sandbox.tenants import Tenant
from compose.sandbox.workload import NAMESPACE, POOL, PORTPOOLS
from domain.kubernetes.objects import KubeObject
from domain.ports.pod import PodView, PortsState
from events.kube.api import KubeApi
from events.publisher import resources
from events.publisher.resources import Resource
from events.publisher.watch import Batch, Change, Listing, ResourceWatch
from events.settings import WatchSettings

Json = dict[str, Any]
POOLS: Final = Resource("portpools", "portpool", PORTPOOLS, dict, lambda pool: f"portpool/{pool.name}")
POD_POOLS: Final = Resource(
    "podpools", "podpool", jobs.PODPOOLS, dict, lambda pool: f"podpool/{pool.namespace}/{pool.name}"
)
CLAIMS: Final = Resource(
    "podclaims", "podclaim", tenants.CLAIMS, dict, lambda claim: f"podclaim/{claim.namespace}/{claim.name}"
)
NOTICES: Final = Resource("events", "event", "/api/v1/events", dict, lambda event: f"event/{event.name}")


class Mirror:
    """The objects of one kind, by key. `make` builds an object once for each version."""

    def __init__(self, resource: Resource, make: Callable[[Mapping[str, Any]], Any]) -> None:
        self.resource, self.make = resource, make
        self.objects: dict[str, Any] = {}

    def take(self, change: Change) -> None:
        """Apply a change of the watch."""
        if isinstance(change, Listing):
            self.objects = {item.mark.key: self.make(orjson.loads(item.mark.body)) for item in change.items}
        elif isinstance(change, Batch):
            for event in change.events:
                self.put(event["object"], gone=event["type"] == "DELETED")

    def put(self, obj: Json, gone: bool) -> None:
        """Store one object, or remove it if it is gone."""
        key = self.resource.key(KubeObject(obj))
        if gone:
            self.objects.pop(key, None)
        else:
            self.objects[key] = self.make(self.resource.snapshot(obj))


class ClusterView:
    """What users of the cluster see. Call `start` and `stop`; `picture` may be called at any time, from any thread."""

    def __init__(self, api: KubeApi) -> None:
        self.api, self.ended, self.lock = api, Event(), Lock()
        self.first_bound: float | None = None
        """`time.monotonic()` when the first pod was bound."""
        self.pods = Mirror(resources.pods(NAMESPACE), self.pod)
        self.pools = Mirror(POOLS, Pool.from_object)
        self.runners = Mirror(POD_POOLS, RunnerStatus.from_object)
        self.claims = Mirror(CLAIMS, Tenant.from_object)
        self.notices = Mirror(NOTICES, Notice.from_object)
        mirrors = (self.pods, self.pools, self.runners, self.claims, self.notices)
        self.threads = [Thread(target=self.follow, args=[mirror], daemon=True) for mirror in mirrors]

    def pod(self, snapshot: Mapping[str, Any]) -> PodView:
        """Return the view of a pod, and note the time of the first bound one."""
        pod = PodView.from_snapshot(0, snapshot)
        if self.first_bound is None and pod.outputs.state == PortsState.BOUND:
            self.first_bound = time.monotonic()
        return pod

    def follow(self, mirror: Mirror) -> None:
        """Keep a mirror in step until `stop`."""
        for change in ResourceWatch(self.api, mirror.resource, WatchSettings(), self.ended).follow():
            with self.lock:
                mirror.take(change)

    def start(self) -> None:
        """Start a thread for each kind."""
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """End the threads, and wait up to 5 seconds for each."""
        self.ended.set()
        for thread in self.threads:
            if thread.ident:
                thread.join(5)

    def picture(self) -> Picture:
        """Return the present picture, without jobs."""
        with self.lock:
            pods = {pod.name: pod for pod in self.pods.objects.values()}
            pool = self.pools.objects.get(f"portpool/{POOL}", Pool())
            runners = self.runners.objects.get(f"podpool/{jobs.NAMESPACE}/{jobs.POOL}", RunnerStatus())
            claims = {claim.name: claim for claim in self.claims.objects.values()}
            return Picture(pods, pool, tuple(self.notices.objects.values()), runners, claims=claims)
