"""Typed views of Kubernetes objects: the name of each field, and the default of a missing one.

A view holds the JSON as the API server sent it, and reads a field on access. The API server gives every object a name,
a UID, a resource version and a creation time: KeyError if one is missing. Any other missing field reads as empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

Json = dict[str, Any]
READY: Final = "Ready"


@dataclass(frozen=True, slots=True)
class Precondition:
    """The version of an object that a write was decided from. The API server refuses the write to any other version."""

    uid: str
    resource_version: str


def version_of(obj: Mapping[str, Any]) -> int:
    """Return the resource version as a number, which grows with each change of an object.

    It takes JSON and no view, because each line of a watch calls it.
    """
    return int(obj["metadata"]["resourceVersion"])


@dataclass(frozen=True, slots=True, init=False)
class KubeObject:
    """One object of any kind."""

    raw: Mapping[str, Any]

    def __init__(self, raw: Mapping[str, Any]) -> None:
        """Set the field directly: a frozen dataclass takes twice as long, and each line of a watch needs a view."""
        _hold(self, raw)

    @property
    def metadata(self) -> Json:
        """The object's metadata, {} if missing."""
        metadata: Json = self.raw.get("metadata") or {}
        return metadata

    @property
    def name(self) -> str:
        """The object's name."""
        name: str = self.raw["metadata"]["name"]
        return name

    @property
    def namespace(self) -> str:
        """The object's namespace. KeyError for a cluster-scoped object."""
        namespace: str = self.raw["metadata"]["namespace"]
        return namespace

    @property
    def uid(self) -> str:
        """The UID, which no later object of the same name has."""
        uid: str = self.raw["metadata"]["uid"]
        return uid

    @property
    def resource_version(self) -> str:
        """The resourceVersion as the API server sent it."""
        version: str = self.raw["metadata"]["resourceVersion"]
        return version

    @property
    def version(self) -> int:
        """The resourceVersion as a number."""
        return version_of(self.raw)

    @property
    def precondition(self) -> Precondition:
        """The precondition of a write that was decided from this version."""
        return Precondition(self.uid, self.resource_version)

    @property
    def generation(self) -> int:
        """The generation of the spec, 0 if missing."""
        return int(self.metadata.get("generation") or 0)

    @property
    def creation_timestamp(self) -> str:
        """The creation time as text."""
        stamp: str = self.raw["metadata"]["creationTimestamp"]
        return stamp

    @property
    def created(self) -> datetime:
        """The creation time, aware."""
        return datetime.fromisoformat(self.creation_timestamp)

    @property
    def deletion(self) -> datetime | None:
        """When the grace period ends, None for an object that is not being deleted."""
        stamp = self.metadata.get("deletionTimestamp")
        return None if stamp is None else datetime.fromisoformat(stamp)

    @property
    def deleting(self) -> bool:
        """Whether the object is being deleted."""
        return "deletionTimestamp" in self.metadata

    @property
    def labels(self) -> dict[str, str]:
        """The labels, {} if missing."""
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, {} if missing."""
        return self.metadata.get("annotations") or {}

    @property
    def finalizers(self) -> list[str]:
        """The finalizers, [] if missing."""
        return self.metadata.get("finalizers") or []

    @property
    def owners(self) -> Iterable[Mapping[str, Any]]:
        """The owner references. Whoever may write the object may write any name there."""
        return self.metadata.get("ownerReferences") or ()

    def owned_by(self, uid: str, *, controller: bool = False) -> bool:
        """Tell whether an owner reference has that UID. `controller`: only the controller's reference counts."""
        return any(owner.get("uid") == uid and (owner.get("controller") or not controller) for owner in self.owners)

    def owners_of(self, kind: str) -> list[Any]:
        """Return the names of the owners of a kind; they may be any text."""
        return [owner.get("name") for owner in self.owners if owner.get("kind") == kind]

    @property
    def spec(self) -> Json:
        """The spec, {} if missing."""
        return self.raw.get("spec") or {}

    @property
    def status(self) -> Json:
        """The status, {} if missing."""
        return self.raw.get("status") or {}

    @property
    def conditions(self) -> Iterable[Json]:
        """The conditions in the status, empty if missing."""
        return self.status.get("conditions") or ()

    def condition(self, kind: str) -> str | None:
        """Return the status of a condition, None if there is no such condition."""
        return next((str(c.get("status", "")) for c in self.conditions if c.get("type") == kind), None)

    @property
    def ready(self) -> bool:
        """Whether the condition Ready is True."""
        return self.condition(READY) == "True"


_hold: Final = KubeObject.__dict__["raw"].__set__


@dataclass(frozen=True, slots=True, init=False)
class Pod(KubeObject):
    """A pod."""

    @property
    def phase(self) -> str:
        """The pod's phase, `Pending` if missing."""
        phase: str = self.status.get("phase", "Pending")
        return phase

    @property
    def node(self) -> str | None:
        """The pod's node, None while the pod is not scheduled."""
        return self.spec.get("nodeName") or None


@dataclass(frozen=True, slots=True)
class KubeList:
    """A page of a list, or a whole one."""

    raw: Json

    @property
    def version(self) -> int:
        """The resource version at which the list is consistent."""
        return int(self.raw["metadata"]["resourceVersion"])

    @property
    def items(self) -> list[Json]:
        """The objects of the page."""
        items: list[Json] = self.raw["items"]
        return items

    @property
    def next_page(self) -> str | None:
        """The token that asks for the next page, None for the last one."""
        return self.raw["metadata"].get("continue") or None

    def joined(self, rest: Iterable[Json]) -> Json:
        """Return one list, with the items of the following pages."""
        paging = ("continue", "remainingItemCount")
        metadata = {key: value for key, value in self.raw["metadata"].items() if key not in paging}
        return {**self.raw, "metadata": metadata, "items": [*self.items, *rest]}


def body_of(metadata: Json, **parts: Any) -> Json:
    """Return the JSON of a request: `parts` are spec, status and so on. In a merge patch None removes a field."""
    return {"metadata": metadata, **parts}


def new_object(api_version: str, kind: str, metadata: Json, **parts: Any) -> Json:
    """Return the body of an object to create; `parts` are its other top-level fields."""
    return {"apiVersion": api_version, "kind": kind, **body_of(metadata, **parts)}
