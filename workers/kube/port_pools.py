"""Reading and writing PortPools: finalizer and status."""

from __future__ import annotations

from typing import Any

from berthmaster.kinds import PORT_POOL
from events.kube.api import KubeApi, NotFound
from events.workqueue import Snapshot
from workers.kube.our_kinds import as_snapshot

PATH = PORT_POOL.collection()
FINALIZER = "berthmaster.dev/port-pool"


class PortPools:
    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    def read(self, name: str) -> Snapshot | None:
        """None: the API server says that there is no such pool."""
        try:
            return as_snapshot(self._kube.get(f"{PATH}/{name}"))
        except NotFound:
            return None

    def set_finalizers(self, pool: Snapshot, finalizers: list[str]) -> Snapshot:
        """Conditional on the version read. Raises Conflict or NotFound."""
        meta = {"resourceVersion": str(pool.version), "finalizers": finalizers}
        return as_snapshot(self._kube.patch(f"{PATH}/{pool.body['name']}", {"metadata": meta}))

    def set_status(self, pool: Snapshot, status: dict[str, Any]) -> Snapshot:
        """Conditional, so that the version it makes is ours alone: no change of the spec hides behind it.

        Raises Conflict or NotFound.
        """
        patch = {"metadata": {"resourceVersion": str(pool.version)}, "status": status}
        return as_snapshot(self._kube.patch(f"{PATH}/{pool.body['name']}/status", patch))
