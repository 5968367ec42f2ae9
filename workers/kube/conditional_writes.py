"""Writes that are decided from one version of an object, and refused for any other.

So that a run that is late writes nothing, and what others decided from an older version conflicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.kubernetes.objects import Precondition, body_of
from events.kube.api import KubeApi

Json = dict[str, Any]


def patch_if_unchanged(
    kube: KubeApi, path: str, read: Precondition, metadata: Json | None = None, **parts: Json
) -> Json:
    """A merge patch of `metadata` and of `parts` (`spec`, `status`, `data`): None takes a field off.

    Raises Conflict or NotFound when the object is not as it was read.
    """
    return kube.patch(path, _conditional(read, metadata, parts))


def join_if_unchanged(kube: KubeApi, path: str, read: Precondition, metadata: Json, **parts: Json) -> Json:
    """As `patch_if_unchanged`, but elements of lists such as conditions are joined by their keys, not replaced."""
    return kube.join(path, _conditional(read, metadata, parts))


def delete_if_unchanged(kube: KubeApi, path: str, read: Precondition) -> None:
    """Raises Conflict or NotFound when the object is not as it was read."""
    kube.delete(path, {"preconditions": {"uid": read.uid, "resourceVersion": read.resource_version}})


def _conditional(read: Precondition, metadata: Json | None, parts: Mapping[str, Json]) -> Json:
    return body_of({**(metadata or {}), "uid": read.uid, "resourceVersion": read.resource_version}, **parts)
