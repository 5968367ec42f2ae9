"""What the objects of all our own kinds share: their paths, and what a run keeps of one."""

from __future__ import annotations

from typing import Final

from berthmaster.kinds import GROUP, VERSION
from domain.kubernetes.objects import KubeObject
from events.kube.api import path_of
from events.protocol.schemas import spec_snapshot
from events.workqueue import Snapshot

API_VERSION: Final = f"{GROUP}/{VERSION}"
ROOT: Final = f"/apis/{API_VERSION}"


def path(namespace: str, plural: str, name: str = "") -> str:
    """Return the path of an object, or of the collection."""
    return path_of(ROOT, "namespaces", namespace, plural, *filter(None, (name,)))


def as_snapshot(obj: KubeObject) -> Snapshot:
    """Return the snapshot that the publisher would write for an object of ours."""
    return Snapshot(obj.version, obj.uid, gone=False, body=spec_snapshot(obj.raw))
