"""The only node, and its Lease. A control plane evicts the pods of a node whose Lease is not renewed for a minute."""

from __future__ import annotations

from typing import Any, Final

from berthmaster.clock import wall_clock
from events.kube.api import AlreadyExists, KubeApi, NotFound

Json = dict[str, Any]
NODES: Final = "/api/v1/nodes"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class Node:
    """The node of the simulated kubelet."""

    EVERY: Final = 10.0
    """Seconds between two renewals; a real control plane waits 40."""

    def __init__(self, api: KubeApi, name: str) -> None:
        self.api, self.name = api, name
        self.registered = False

    def beat(self) -> None:
        """Renew the Lease. Raises KubeError."""
        if not self.registered:
            self.register()
        renewed = {"spec": {"renewTime": wall_clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
        self.api.patch(f"{LEASES}/{self.name}", renewed)

    def register(self) -> None:
        """Create the node and its Lease, and report the node as Ready. Raises KubeError."""
        self.create(NODES, {"metadata": {"name": self.name, "labels": {"kubernetes.io/hostname": self.name}}})
        lease = {"holderIdentity": self.name, "leaseDurationSeconds": 40}
        self.create(LEASES, {"metadata": {"name": self.name}, "spec": lease})
        now = wall_clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "reason": "SandboxReady", "message": "played by the sandbox"}
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        room = {"cpu": "1000", "memory": "1000Gi", "pods": "100000"}
        status = {"conditions": [ready | times], "capacity": room, "allocatable": room}
        self.api.patch(f"{NODES}/{self.name}/status", {"status": status})
        self.registered = True

    def create(self, path: str, body: Json) -> None:
        """Create an object unless it exists. Raises KubeError."""
        try:
            self.api.create(path, body)
        except AlreadyExists:
            return

    def leave(self) -> None:
        """Delete the node. Raises KubeError."""
        try:
            self.api.delete(f"{NODES}/{self.name}")
        except NotFound:
            return
