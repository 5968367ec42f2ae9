"""What the publisher sends: the snapshots that runs decide from, and the events that other services read.

A snapshot keeps only the fields that a run uses: 50,000 pods must fit in Redis, and a change of an unused field must
not look like a change. Events follow CloudEvents 1.0 in its JSON form, one an entry of the stream, in the field
`event`. An event that is sent twice has the same `id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict

from domain.kubernetes.names import PORTS_BOUND
from domain.kubernetes.objects import READY, KubeObject
from domain.ports.pod import Annotations

STREAM_FIELD: Final = "event"
SOURCE: Final = "/berthmaster/publisher"
ALLOCATION_FAILED: Final = "dev.berthmaster.allocation.failed"

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
    """Return the snapshot of a PortPool, without its status: runs write the status and must not react to it."""
    pool = KubeObject(obj)
    meta = pool.metadata
    return {
        "name": meta.get("name", ""),
        "uid": meta.get("uid", ""),
        "generation": meta.get("generation", 0),
        "created": meta.get("creationTimestamp") or "",
        "deleting": pool.deleting,
        "finalizers": pool.finalizers,
        "spec": pool.spec,
    }


class Contract(BaseModel):
    """A message whose readers ignore unknown fields: later versions add fields."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Changed(Contract):
    """Data of `dev.berthmaster.<kind>.changed` and `….deleted`: the object's newest state.

    `version` grows within one `history`. `history` grows when the cluster was restored from a backup. A snapshot that
    is too large for the stream is None, and `omitted` its size in bytes.
    """

    key: str
    history: int = 0
    version: int
    uid: str
    snapshot: Json | None
    omitted: int = 0


class AllocationFailed(Contract):
    """Data of `dev.berthmaster.allocation.failed`: a request could not be granted."""

    key: str
    uid: str = ""
    reporter: str
    message: str = ""
    pool: str = ""


class CloudEvent(Contract):
    """One entry of the stream `berthmaster:events`."""

    specversion: Literal["1.0"]
    id: str
    source: str
    type: str
    subject: str
    time: datetime
    datacontenttype: Literal["application/json"]
    data: Json


def cloud_event(kind: str, identity: str, subject: str, time: str, data: Json) -> bytes:
    """Return the JSON of a CloudEvent. Built without the model, because this runs once a watch line."""
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": identity,
            "source": SOURCE,
            "type": kind,
            "subject": subject,
            "time": time,
            "datacontenttype": "application/json",
            "data": data,
        }
    )
