"""Kubernetes Events, for people who run `kubectl describe`: one a transition, never one a retry.

The name is made from the object, its version after the transition and the reason: said again, the API server answers
that it exists.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import structlog

from events.kube_api import AlreadyExists, KubeApi, KubeError, path_of
from workers.kube.our_kinds import API_VERSION

log = structlog.get_logger()
WARNING_STATES = frozenset({"Failed", "NoPortAvailable", "PoolNotFound", "PoolNotAllocatable"})


class KubeEvents:
    def __init__(self, kube: KubeApi, namespace: str = "default") -> None:
        """`namespace` is where events of cluster-scoped objects go."""
        self._kube, self._namespace = kube, namespace

    def pod_state(self, namespace: str, name: str, uid: str, version: int, state: str, message: str) -> None:
        involved = {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": name, "uid": uid}
        kind = "Warning" if state in WARNING_STATES else "Normal"
        self._emit(involved, namespace, f"Ports{state}", message, kind, f"{version}")

    def pool(self, name: str, uid: str, reason: str, message: str, once: str, warning: bool = False) -> None:
        """`once` names the transition: the same words are one Event."""
        involved = {"kind": "PortPool", "apiVersion": API_VERSION, "name": name, "uid": uid}
        self._emit(involved, self._namespace, reason, message, "Warning" if warning else "Normal", once)

    def pod_pool(
        self, namespace: str, name: str, uid: str, reason: str, message: str, once: str, warning: bool = False
    ) -> None:
        kind = "Warning" if warning else "Normal"
        self._emit(_ours("PodPool", namespace, name, uid), namespace, reason, message, kind, once)

    def pod_claim(self, namespace: str, name: str, uid: str, reason: str, message: str, once: str) -> None:
        self._emit(_ours("PodClaim", namespace, name, uid), namespace, reason, message, "Normal", once)

    def pod_claim_set(self, namespace: str, name: str, uid: str, reason: str, message: str, once: str) -> None:
        self._emit(_ours("PodClaimSet", namespace, name, uid), namespace, reason, message, "Normal", once)

    def _emit(self, involved: dict[str, Any], namespace: str, reason: str, message: str, kind: str, once: str) -> None:
        digest = hashlib.sha256(f"{involved.get('uid')}|{reason}|{once}".encode()).hexdigest()[:16]
        name = f"{involved['name'][:200]}.{digest}"
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message[:1024] or reason,
            "type": kind,
            "source": {"component": "berthmaster"},
            "count": 1,
        } | _now()
        try:
            self._kube.create(path_of("/api/v1", "namespaces", namespace, "events"), body)
        except AlreadyExists:
            pass
        except KubeError as error:  # an Event is for people: work never stops for it
            log.warning("event_dropped", object=involved["name"], reason=reason, error=str(error))


def _ours(kind: str, namespace: str, name: str, uid: str) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": API_VERSION, "namespace": namespace, "name": name, "uid": uid}


def _now() -> dict[str, str]:
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"firstTimestamp": stamp, "lastTimestamp": stamp}
