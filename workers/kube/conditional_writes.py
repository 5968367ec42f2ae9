"""Writes that are decided from one version of an object, and that the API server refuses for any other version.

So a late run writes nothing, and what others decided from an older version conflicts.
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
    """Send a merge patch of `metadata` and of `parts` (`spec`, `status`, `data`); None removes a field.

    Raises Conflict or NotFound when the object has changed since it was read.
    """
    return kube.patch(path, _conditional(read, metadata, parts))


def join_if_unchanged(kube: KubeApi, path: str, read: Precondition, metadata: Json, **parts: Json) -> Json:
    """As `patch_if_unchanged`, but lists such as conditions are merged by their keys and not replaced."""
    return kube.join(path, _conditional(read, metadata, parts))


def delete_if_unchanged(kube: KubeApi, path: str, read: Precondition) -> Json:
    """Delete the object, and return the answer. Raises Conflict or NotFound when it has changed since it was read."""
    return kube.delete(path, {"preconditions": {"uid": read.uid, "resourceVersion": read.resource_version}})


def _conditional(read: Precondition, metadata: Json | None, parts: Mapping[str, Json]) -> Json:
    return body_of({**(metadata or {}), "uid": read.uid, "resourceVersion": read.resource_version}, **parts)
