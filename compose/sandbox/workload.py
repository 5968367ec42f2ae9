"""The workload of the sandbox: a pool that may grow, and pods that ask it for one port each."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from compose.sandbox.aws.remote import Network
from compose.sandbox.environment import REGION
from compose.sandbox.kube.apply import apply
from domain.kubernetes.names import PORTS
from domain.port_pools.providers import MOST_LISTENERS
from events.kube.api import KubeApi

Json = dict[str, Any]
NAMESPACE: Final = "games"
POOL: Final = "arena"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
PORTPOOLS: Final = "/apis/berthmaster.dev/v1alpha1/portpools"
REQUESTS: Final = (f"game=7777/UDP@{POOL}", f"game=7777/UDP@{POOL}", f"lobby=8080/TCP@{POOL}")
"""Used in turn. Each asks for one port, so that endpoints can be counted."""


def balancers_for(pods: int) -> int:
    """Return the number of load balancers that `pods` pods need."""
    return -(-pods // MOST_LISTENERS)


def pool(pods: int, network: Network) -> Json:
    """Return a pool that may grow beyond what `pods` need, so that demand decides and not the limit."""
    create = {
        "enabled": True,
        "maxLoadBalancers": balancers_for(pods) + 2,
        "maxPerRound": 10,
        "parameters": {"scheme": "internet-facing", "subnets": list(network.subnets)},
    }
    spec = {
        "region": REGION,
        "vpcId": network.vpc,
        "startPort": 30000,
        "endPort": 30999,
        "lbPolicy": "InOrder",
        "autoCreate": create,
    }
    return {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "PortPool",
        "metadata": {"name": POOL},
        "spec": spec,
    }


def pod(number: int) -> Json:
    """Return a pod that asks for one port."""
    request = REQUESTS[number % len(REQUESTS)]
    return {
        "metadata": {"name": f"game-{number:04}", "namespace": NAMESPACE, "annotations": {PORTS: request}},
        "spec": {"containers": [{"name": "server", "image": "registry.example.com/game:1.0"}]},
    }


class Workload:
    """Creates and deletes pods. A pod's number is never reused."""

    def __init__(self, api: KubeApi) -> None:
        self.api, self.numbers, self.created = api, count(1), set[str]()

    def prepare(self, pods: int, network: Network) -> None:
        """Create the namespace and the pool."""
        apply(self.api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        apply(self.api, [pool(pods, network)])

    def add_pod(self) -> str:
        """Create the next pod and return its name. Raises KubeError."""
        name = str(self.api.create(PODS, pod(next(self.numbers)))["metadata"]["name"])
        self.created.add(name)
        return name

    def delete_pod(self, name: str) -> None:
        """Delete a pod. Raises KubeError."""
        self.api.delete(f"{PODS}/{name}")
