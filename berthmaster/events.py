"""The events that other services may follow: the entries of the Redis Stream `berthmaster:events`.

An entry has one field, `event`: a CloudEvent 1.0 in its JSON form. `make reference` writes the tables of docs/events.md
from these models. Readers ignore unknown fields, because later versions add some.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from berthmaster.kinds import KINDS, Projection

__all__ = [
    "ALLOCATION_FAILED",
    "JOB_DECIDED",
    "AllocationFailed",
    "Changed",
    "CloudEvent",
    "JobDecided",
    "ObjectSnapshot",
    "PodSnapshot",
    "changed",
    "deleted",
]
STREAM_FIELD: Final = "event"
PUBLISHER: Final = "/berthmaster/publisher"
WORKER: Final = "/berthmaster/worker"
ALLOCATION_FAILED: Final = "dev.berthmaster.allocation.failed"
JOB_DECIDED: Final = "dev.berthmaster.job.decided"


class Contract(BaseModel):
    """A message whose readers ignore unknown fields."""

    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class CloudEvent(Contract):
    """An entry of the stream."""

    specversion: Literal["1.0"]
    """Of CloudEvents."""

    id: str
    """The same for an event that is written twice, and for no other event of its source."""

    source: str
    """`/berthmaster/publisher` or `/berthmaster/worker`: who wrote it."""

    type: str
    """What happened, as in the table of types."""

    subject: str
    """Whom it happened to: the `key` of the data."""

    time: datetime
    """When the writer saw it, a wait for ports or a slot began, or somebody decided; by the clock of the API server or
    of Redis.
    """

    datacontenttype: Literal["application/json"]
    """Of the data."""

    data: dict[str, Any]
    """As the type says."""


class Changed(Contract):
    """An object as it is now. Versions in between may have no event."""

    key: str
    """`pod/NAMESPACE/NAME`, `portpool/NAME`, and so on: the kind first."""

    history: int = 0
    """It grows when the cluster was restored from a backup."""

    version: int
    """It grows within one history. An event with a lower history or version than the last one of its key is old."""

    uid: str
    """Of the object."""

    snapshot: dict[str, Any] | None
    """What Berthmaster keeps of the object. Null: it is too large for the stream."""

    omitted: int = 0
    """The size in bytes of a snapshot that is too large."""


class PodSnapshot(Contract):
    """Of a pod."""

    namespace: str
    name: str
    uid: str
    annotations: dict[str, str]
    """Those of `berthmaster.dev` that Berthmaster reads or writes: what the pod asks for, its state, its endpoints."""

    unknown: list[str] = []
    """Names of other annotations of `berthmaster.dev`, mostly mistyped ones."""

    oversized: dict[str, int] = {}
    """Annotations that are too long to be read, with their lengths."""

    ips: list[str]
    """Addresses of the pod."""

    phase: str
    """`Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`, as Kubernetes has it."""

    deleting: bool
    """Whether somebody has asked for its deletion."""

    gate: str | None
    """Status of the readiness condition `ports-bound`, '' if it has none yet. Null: the pod has no such gate."""

    ready: bool
    """Whether it is ready."""


class ObjectSnapshot(Contract):
    """Of a pool, claim or claim set."""

    name: str
    uid: str
    generation: int
    """Kubernetes counts the changes of the spec."""

    created: str
    """Time of its creation."""

    deleting: bool
    """Whether somebody has asked for its deletion."""

    finalizers: list[str]
    """What must happen before it goes."""

    requested: bool = False
    """Whether it is a claim that a task has asked for: `claims.release` gives back no other."""

    spec: dict[str, Any]
    """The whole spec ([resources](reference/resources.md))."""


class AllocationFailed(Contract):
    """Somebody began to wait, because what it asks for could not be allocated at once."""

    key: str
    """Who waits: `pod/NAMESPACE/NAME`, `podclaim/NAMESPACE/NAME`, or `job/NAMESPACE/POOL/ID`."""

    uid: str | None = None
    """Of the pod or claim; null for a job."""

    resource: Literal["ports", "pod", "slot"] | None = None
    """What it waits for: a pod for ports, a claim for a pod, a job for a slot. Null: see `reporter`."""

    pool: str | None = None
    """A pod: NAME of the port pool. A job: `NAMESPACE/NAME` of its pod pool. A claim: the NAME of the pod pool in its
    namespace that shall create a pod for it, null if there is none.
    """

    reason: str | None = None
    """A pod: `NoFreePort`, `NoCommonPort` (`same-port-across-pools`) or `NamespaceShare`. A claim: the reason of its
    condition `Bound`. A job: `NoFreeSlot`.
    """

    message: str = ""
    """For people."""

    reporter: str
    """`berthmaster-worker`, or the other controller whose Kubernetes Event `AllocationFailed` the publisher passes on.
    Its `key` is then the kind, namespace and name of any object.
    """


class JobDecided(Contract):
    """Somebody let the next phase of a job run, or cancelled the job."""

    key: str
    """`job/NAMESPACE/POOL/ID`."""

    pool: str
    """`NAMESPACE/NAME` of the pod pool."""

    decision: Literal["confirmed", "cancelled"]
    """What was decided. A job whose time is over is no decision."""

    plan: str | None = None
    """The attempt whose result was confirmed; null for a cancellation."""

    by: str | None = None
    """Who has decided. Whoever sent the decision has said so, and nobody verified it; null: nobody was named."""

    message: str = ""
    """For people."""


@dataclass(frozen=True)
class EventType:
    """A type of event, who writes it, and the models of its data and of the snapshot in it."""

    name: str
    source: str
    text: str
    data: type[Contract]
    snapshot: type[Contract] | None = None


def changed(prefix: str) -> str:
    """Return the type of the events of a kind's objects that are new or have changed."""
    return f"dev.berthmaster.{prefix}.changed"


def deleted(prefix: str) -> str:
    """Return the type of the events of a kind's objects that are gone, or lack the label that the publisher selects."""
    return f"dev.berthmaster.{prefix}.deleted"


def event_types() -> tuple[EventType, ...]:
    """Return every type, in the order in which documents list them."""
    types: list[EventType] = []
    for kind in KINDS:
        snapshot = PodSnapshot if kind.projection is Projection.PORTS else ObjectSnapshot
        whom = f"A {kind.name}{' that asks for ports' if kind.projection is Projection.PORTS else ''}"
        types.append(EventType(changed(kind.prefix), PUBLISHER, f"{whom} is new or has changed", Changed, snapshot))
        types.append(EventType(deleted(kind.prefix), PUBLISHER, f"{whom} is gone", Changed, snapshot))
    waits = "A pod began to wait for ports, a claim for a pod, or a job for a slot"
    types.append(EventType(ALLOCATION_FAILED, WORKER, waits, AllocationFailed))
    types.append(EventType(JOB_DECIDED, WORKER, "A job was confirmed or cancelled", JobDecided))
    others = "Another controller reports that it could not allocate something"
    types.append(EventType(ALLOCATION_FAILED, PUBLISHER, others, AllocationFailed))
    return tuple(types)
