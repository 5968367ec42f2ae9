"""Reads pod pools, and writes their status."""

from __future__ import annotations

from typing import Any

from berthmaster.kinds import POD_POOL
from domain.kubernetes.objects import KubeObject, Precondition
from events.kube.api import KubeApi, NotFound
from events.workqueue import Snapshot
from workers.kube.conditional_writes import patch_if_unchanged
from workers.kube.our_kinds import API_VERSION, as_snapshot, path


def owner_reference(pool: Snapshot) -> dict[str, Any]:
    """Return the owner reference for a pod of the pool."""
    name = pool.body["name"]
    return {"apiVersion": API_VERSION, "kind": POD_POOL.name, "name": name, "uid": pool.uid, "controller": True}


class PodPools:
    """Reads and writes PodPools."""

    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, namespace: str, name: str) -> Snapshot | None:
        """Read a pool. None: the API server says that there is no such pool."""
        try:
            return as_snapshot(KubeObject(self._kube.get(self._path(namespace, name))))
        except NotFound:
            return None

    def set_status(self, namespace: str, pool: Snapshot, status: dict[str, Any]) -> Snapshot:
        """Write the status in the version that was read. Raises Conflict or NotFound."""
        path, read = f"{self._path(namespace, pool.body['name'])}/status", Precondition(pool.uid, str(pool.version))
        return as_snapshot(KubeObject(patch_if_unchanged(self._kube, path, read, status=status)))

    def _path(self, namespace: str, name: str) -> str:
        return path(namespace, POD_POOL.plural, name)
