"""Random pods that come, go, return under their names and change their requests; and what each must show at last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from compose.sandbox.workload import PODS
from domain.kubernetes.names import CERTIFICATE, PORTS, PORTS_ENABLED, PORTS_RETAIN, SAME_PORT
from domain.ports.pod import PodView, PortsState
from events.kube.api import KubeApi
from events.protocol.schemas import pod_snapshot

BIG: Final = "arena"
"""A pool that can serve everybody."""
SMALL: Final = "annex"
"""A pool on a load balancer of the user's; pods may ask for more ports than it has."""
STOCK: Final = "stock"
"""A pool of precreated UDP listeners."""
ARN: Final = "arn:aws:acm:us-east-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"
NAMES: Final = tuple(f"crowd-{n}" for n in range(24))


@dataclass(frozen=True)
class Request:
    """A request, with its expected state and the ports that it wants of each pool."""

    ports: str | None
    state: PortsState | None
    wanted: tuple[tuple[str, int], ...] = ()
    enabled: str | None = None
    certificate: str | None = None
    retain: str | None = None
    same: str | None = None

    @property
    def annotations(self) -> dict[str, str | None]:
        """The annotations as a patch that removes any other request."""
        return {
            PORTS: self.ports,
            PORTS_ENABLED: self.enabled,
            CERTIFICATE: self.certificate,
            PORTS_RETAIN: self.retain,
            SAME_PORT: self.same,
        }


REQUESTS: Final = (
    Request(f"game=7777/UDP@{BIG}", PortsState.BOUND, ((BIG, 1),)),
    Request(f"game=7777/UDP@{BIG}, lobby=8080/TCP@{BIG}", PortsState.BOUND, ((BIG, 2),)),
    Request(f"game=7777/TCPUDP@{BIG}\nadmin=9000/TCP@{BIG}", PortsState.BOUND, ((BIG, 2),)),
    Request(f"game=7777/UDP@{BIG}, query=27015/TCP@{SMALL}", PortsState.BOUND, ((BIG, 1), (SMALL, 1))),
    Request(f"query=27015/TCP@{SMALL}", PortsState.BOUND, ((SMALL, 1),)),
    Request(f"rtp=10000-10002/UDP@{BIG}", PortsState.BOUND, ((BIG, 3),)),
    Request(f"game=7777/UDP@{BIG}+{SMALL}", PortsState.BOUND, ((BIG, 1), (SMALL, 1))),
    Request(f"game=7777/UDP@{STOCK}", PortsState.BOUND, ((STOCK, 1),)),
    Request(f"game=7777/UDP@{STOCK}, query=27015/TCP@{BIG}", PortsState.BOUND, ((STOCK, 1), (BIG, 1))),
    Request(f"game=7777/UDP@{BIG}", PortsState.BOUND, ((BIG, 1),), retain="5s"),
    Request(f"rtp=10000-10002/UDP@{BIG}", PortsState.BOUND, ((BIG, 3),), retain="true"),
    Request(f"game=7777/UDP@{BIG}+{STOCK}", PortsState.BOUND, ((BIG, 1), (STOCK, 1)), same="true"),
    Request(f"web=443/TLS@{BIG}", PortsState.BOUND, ((BIG, 1),), certificate=ARN),
    Request(f"game=7777/UDP@{BIG}", PortsState.DISABLED, ((BIG, 1),), "false"),
    Request(None, None),
)
MISTAKES: Final = (
    Request(f"game=7777@{BIG}", PortsState.FAILED),
    Request(f"game=99999/UDP@{BIG}", PortsState.FAILED),
    Request(f"web=443/TLS@{BIG}", PortsState.FAILED),
    Request("game=7777/UDP@nowhere", PortsState.POOL_NOT_FOUND),
)
"""Requests that cannot be served. After the first two kinds of mistake a pod keeps the ports that it held."""
WEIGHTS: Final = (4, 3, 2, 3, 2, 2, 1, 4, 2, 3, 2, 2, 2, 1, 1, 0.5, 0.5, 0.5, 0.5)


def request_of(pod: PodView) -> Request:
    get = pod.annotations.get
    return next(
        known for known in REQUESTS + MISTAKES if known.annotations == {key: get(key) for key in known.annotations}
    )


class Crowd:
    """Each method is one change of the cluster. Raises KubeError when the pod exists already, or does not."""

    def __init__(self, api: KubeApi, chance: Random) -> None:
        self.api, self.chance = api, chance

    def create(self) -> None:
        self.make(self.chance.choice(NAMES), self.some_request())

    def make(self, name: str, request: Request) -> dict[str, Any]:
        notes = {key: value for key, value in request.annotations.items() if value is not None}
        spec = {"containers": [{"name": "server", "image": "registry.example.com/game:1.0"}]}
        return self.api.create(PODS, {"metadata": {"name": name, "annotations": notes}, "spec": spec})

    def delete(self) -> None:
        """Delete with the pod's own grace period."""
        self.api.delete(f"{PODS}/{self.chance.choice(NAMES)}")

    def remove(self) -> None:
        """Delete as `kubectl delete --force` does."""
        self.api.delete(f"{PODS}/{self.chance.choice(NAMES)}", {"gracePeriodSeconds": 0})

    def replace(self) -> None:
        """Delete the pod, and create its successor of the same name at once."""
        name = self.chance.choice(NAMES)
        self.api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
        self.make(name, self.some_request())

    def change(self) -> None:
        patch = {"metadata": {"annotations": self.some_request().annotations}}
        self.api.patch(f"{PODS}/{self.chance.choice(NAMES)}", patch)

    def some_request(self) -> Request:
        return self.chance.choices(REQUESTS + MISTAKES, WEIGHTS)[0]

    def pods(self) -> Iterator[PodView]:
        for item in self.api.list(PODS)["items"]:
            yield PodView.from_snapshot(int(item["metadata"]["resourceVersion"]), pod_snapshot(item))
