"""Reads PortPools, and writes their finalizer and status."""

from __future__ import annotations

from typing import Any

from berthmaster.kinds import PORT_POOL
from domain.kubernetes.objects import KubeObject, Precondition
from events.kube.api import KubeApi, NotFound
from events.workqueue import Snapshot
from workers.kube.conditional_writes import patch_if_unchanged
from workers.kube.our_kinds import as_snapshot

Json = dict[str, Any]
PATH = PORT_POOL.collection()


class PortPools:
    """Reads and writes PortPools."""

    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, name: str) -> Snapshot | None:
        """Read a pool. None: the API server says that there is no such pool."""
        try:
            return as_snapshot(KubeObject(self._kube.get(f"{PATH}/{name}")))
        except NotFound:
            return None

    def set_finalizers(self, pool: Snapshot, finalizers: list[str]) -> Snapshot:
        """Write the finalizers in the version that was read. Raises Conflict or NotFound."""
        return self._patched(pool, "", {"finalizers": finalizers})

    def set_status(self, pool: Snapshot, status: Json) -> Snapshot:
        """Write the status in the version that was read. Raises Conflict or NotFound.

        So the new version contains our write alone, and no change of the spec hides behind it.
        """
        return self._patched(pool, "/status", {}, status=status)

    def _patched(self, pool: Snapshot, part: str, metadata: Json, **parts: Json) -> Snapshot:
        path, read = f"{PATH}/{pool.body['name']}{part}", Precondition(pool.uid, str(pool.version))
        return as_snapshot(KubeObject(patch_if_unchanged(self._kube, path, read, metadata, **parts)))
