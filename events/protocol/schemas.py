"""What the publisher sends: the snapshots that runs decide from, and the JSON of the events that other services read.

A snapshot keeps only the fields that a run uses: 50,000 pods must fit in Redis, and a change of an unused field must
not look like a change. berthmaster/events.py has the models of events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from berthmaster.events import PUBLISHER
from domain.kubernetes.names import PORTS_BOUND, REQUESTED
from domain.kubernetes.objects import READY, KubeObject
from domain.ports.pod import Annotations

Json = dict[str, Any]


def pod_snapshot(obj: Mapping[str, Any]) -> Json:
    """Return the snapshot of a Pod as the API sends it. A missing field is empty, never an error."""
    pod = KubeObject(obj)
    meta, status = pod.metadata, pod.status
    kept = Annotations.of(meta.get("annotations") or {})
    conditions = status.get("conditions") or ()
    return {
        "namespace": meta.get("namespace", ""),
        "name": meta.get("name", ""),
        "uid": meta.get("uid", ""),
        "annotations": dict(kept.values),
        **({"unknown": list(kept.unknown)} if kept.unknown else {}),
        **({"oversized": dict(kept.oversized)} if kept.oversized else {}),
        "ips": [entry["ip"] for entry in status.get("podIPs") or () if entry.get("ip")] or pod_ip(status),
        "phase": status.get("phase", "Pending"),
        "deleting": "deletionTimestamp" in meta,
        "gate": gate(pod.spec, conditions),
        "ready": any(c.get("type") == READY and c.get("status") == "True" for c in conditions),
    }


def gate(spec: Mapping[str, Any], conditions: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the status of our readiness condition, '' if the pod lacks it; None if the pod has no such gate."""
    gates = spec.get("readinessGates") or ()
    if not any(readiness_gate.get("conditionType") == PORTS_BOUND for readiness_gate in gates):
        return None
    return next((str(c.get("status", "")) for c in conditions if c.get("type") == PORTS_BOUND), "")


def pod_ip(status: Mapping[str, Any]) -> list[str]:
    """Return the address of a status that has `podIP` only."""
    return [status["podIP"]] if status.get("podIP") else []


def spec_snapshot(obj: Mapping[str, Any]) -> Json:
    """Return the snapshot of an object of ours, without its status: runs write it and must not react to it."""
    ours = KubeObject(obj)
    meta = ours.metadata
    return {
        "name": meta.get("name", ""),
        "uid": meta.get("uid", ""),
        "generation": meta.get("generation", 0),
        "created": meta.get("creationTimestamp") or "",
        "deleting": ours.deleting,
        "finalizers": ours.finalizers,
        **({"requested": True} if REQUESTED in ours.annotations else {}),
        "spec": ours.spec,
    }


def cloud_event(kind: str, identity: str, subject: str, time: str, data: Json, source: str = PUBLISHER) -> bytes:
    """Return the JSON of a CloudEvent. Built without the model, because this runs once a watch line."""
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": identity,
            "source": source,
            "type": kind,
            "subject": subject,
            "time": time,
            "datacontenttype": "application/json",
            "data": data,
        }
    )
