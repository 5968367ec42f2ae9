"""Kubernetes Events, for people who run `kubectl describe`: one a transition, never one a retry.

The name of an Event is derived from the object, its version after the transition and the reason. So the API server
answers a repeated Event with "exists already". A run does not wait for an Event (see event_outbox.py).
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import structlog

from berthmaster.kinds import BY_PREFIX, POD, POD_CLAIM, POD_CLAIM_SET, POD_POOL, PORT_POOL, ResourceKind
from berthmaster.routing import split_key
from domain.kubernetes.objects import body_of
from events.kube.api import AlreadyExists, Denied, Invalid, KubeApi, KubeError, RefusedWrite, path_of
from events.workqueue import Snapshot
from workers.kube.event_outbox import EventOutbox
from workers.telemetry import metrics

log = structlog.get_logger()
WARNING_STATES = frozenset({"Failed", "NoPortAvailable", "PoolNotFound", "PoolNotAllocatable"})


class KubeEvents:
    """Writes Kubernetes Events about pods and pools."""

    def __init__(self, kube: KubeApi, outbox: EventOutbox | None = None, namespace: str = "default") -> None:
        """`outbox` None writes each Event at once. `namespace` is where events of cluster-scoped objects go."""
        self._kube, self._outbox, self._namespace = kube, outbox, namespace

    def pod_state(self, namespace: str, name: str, uid: str, version: int, state: str, message: str) -> None:
        """Write an Event about the state of a pod's ports; `version` is the pod's, after the transition."""
        involved = _involved(POD, namespace, name, uid)
        kind = "Warning" if state in WARNING_STATES else "Normal"
        self._emit(involved, namespace, f"Ports{state}", message, kind, f"{version}")

    def pool(self, name: str, uid: str, reason: str, message: str, once: str, warning: bool = False) -> None:
        """Write an Event about a port pool. `once` names the transition: the same `once` gives one Event."""
        involved = _involved(PORT_POOL, "", name, uid)
        self._emit(involved, self._namespace, reason, message, "Warning" if warning else "Normal", once)

    def pod_pool(
        self, namespace: str, name: str, uid: str, reason: str, message: str, once: str, warning: bool = False
    ) -> None:
        """Write an Event about a pod pool; `once` names the transition."""
        kind = "Warning" if warning else "Normal"
        self._emit(_involved(POD_POOL, namespace, name, uid), namespace, reason, message, kind, once)

    def pod_claim(self, namespace: str, name: str, uid: str, reason: str, message: str, once: str) -> None:
        """Write an Event about a claim; `once` names the transition."""
        self._emit(_involved(POD_CLAIM, namespace, name, uid), namespace, reason, message, "Normal", once)

    def pod_claim_set(self, namespace: str, name: str, uid: str, reason: str, message: str, once: str) -> None:
        """Write an Event about a claim set; `once` names the transition."""
        self._emit(_involved(POD_CLAIM_SET, namespace, name, uid), namespace, reason, message, "Normal", once)

    def write_refused(self, key: str, snapshot: Snapshot | None, write: RefusedWrite) -> None:
        """Write an Event about a refused write of the key's object, once for the same spec, write and status code."""
        kind, *place = split_key(key)
        namespace, name = place if len(place) > 1 else ("", place[0])
        body = snapshot.body if snapshot else {}
        asked = [body.get("spec") or body.get("annotations"), body.get("deleting")]
        once = (
            f"{orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)!r} {write.verb} {write.resource} {write.error.status}"
        )
        involved = _involved(BY_PREFIX[kind], namespace, name, snapshot.uid if snapshot else "")
        self._emit(involved, namespace or self._namespace, "WriteRefused", str(write), "Warning", once)

    def _emit(self, involved: dict[str, Any], namespace: str, reason: str, message: str, kind: str, once: str) -> None:
        digest = hashlib.sha256(f"{involved.get('uid')}|{reason}|{once}".encode()).hexdigest()[:16]
        name = f"{involved['name'][:200]}.{digest}"
        now = self._kube.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        body = body_of(
            {"name": name, "namespace": namespace},
            involvedObject=involved,
            reason=reason,
            message=message[:1024] or reason,
            type=kind,
            source={"component": "berthmaster"},
            count=1,
            firstTimestamp=now,
            lastTimestamp=now,
        )
        if self._outbox is None:
            self._write(namespace, body)
        elif not self._outbox.put(lambda: self._write(namespace, body)):
            log.warning("event_dropped", object=involved["name"], reason=reason, error="too many Events wait")

    def _write(self, namespace: str, body: dict[str, Any]) -> None:
        try:
            self._kube.create(path_of("/api/v1", "namespaces", namespace, "events"), body)
        except AlreadyExists:
            pass
        except KubeError as error:  # an Event is for people: work never stops for it
            if isinstance(error, Denied | Invalid):
                metrics.count_refused_write(metrics.EVENTS, "create")
            log.warning("event_dropped", object=body["involvedObject"]["name"], reason=body["reason"], error=str(error))


def _involved(kind: ResourceKind, namespace: str, name: str, uid: str) -> dict[str, Any]:
    """Return an Event's reference to its object, without empty fields."""
    reference = {"kind": kind.name, "apiVersion": kind.api_version, "namespace": namespace, "name": name, "uid": uid}
    return {field: value for field, value in reference.items() if value}
