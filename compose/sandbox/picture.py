"""A snapshot of what users of the cluster see, and a list of what has not converged yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from compose.sandbox.tenants import Tenant
from domain.ports.endpoints import parse_endpoints
from domain.ports.pod import PodView, PortsState

Json = Mapping[str, Any]
EXAMPLES: Final = 3
"""How many pods an explanation names."""


EACH_ONCE: Final = ("open", "booting", "away", "claimed", "draining")
"""The exclusive states of a pod in a pool's status. The other counts of the status are parts of these."""
SLOTS: Final = ("used", "reserved", "idle")
"""The states of slots that are shown, in this order; an API server returns them in any order."""


@dataclass(frozen=True)
class BalancerUse:
    """Ports of a load balancer that are allocated, of its capacity."""

    name: str
    allocated: int
    capacity: int


@dataclass(frozen=True)
class Pool:
    """The status of the port pool, as far as it has been written."""

    state: str = "absent"
    allocated: int = 0
    waiting: int = 0
    balancers: tuple[BalancerUse, ...] = ()

    @classmethod
    def from_object(cls, obj: Json) -> Pool:
        """Return the pool of a PortPool object."""
        status = obj.get("status") or {}
        rows = status.get("loadBalancers") or ()
        return cls(
            state=status.get("state") or "Pending",
            allocated=status.get("allocated") or 0,
            waiting=status.get("waiting") or 0,
            balancers=tuple(BalancerUse(row["name"], row["allocated"], row["capacity"]) for row in rows),
        )


@dataclass(frozen=True)
class RunnerStatus:
    """The status of the pod pool, as far as it has been written. `pods` and `slots`: counts by state."""

    pods: Mapping[str, int] = field(default_factory=dict)
    slots: Mapping[str, int] = field(default_factory=dict)
    wanted: int = 0
    waiting: int = 0
    reason: str = ""

    @classmethod
    def from_object(cls, obj: Json) -> RunnerStatus:
        """Return the status of a PodPool object."""
        status = obj.get("status") or {}
        pods, slots = (status.get(name) or {} for name in ("pods", "slots"))
        pods = {state: number for state, number in pods.items() if state in EACH_ONCE}
        wanted, waiting = (status.get(name) or 0 for name in ("desiredReplicas", "waiting"))
        return cls(pods, slots, wanted, waiting, status.get("reason") or "")

    @property
    def present(self) -> str:
        """Describe the pods in words, '' if there is no such pool."""
        pods = ", ".join(f"{number} {state}" for state, number in self.pods.items() if number)
        return f"{pods or 'none'}, {self.wanted} wanted" if self.pods else ""

    @property
    def slots_in_words(self) -> str:
        """Describe the slots in words. The status may be older than what the service knows about its jobs."""
        use = ", ".join(f"{self.slots[state]} {state}" for state in SLOTS if state in self.slots)
        return f"slots as its status last said: {use or 'none'}"


@dataclass(frozen=True)
class Notice:
    """A Kubernetes Event that we wrote."""

    kind: str
    name: str
    reason: str
    message: str

    @classmethod
    def from_object(cls, obj: Json) -> Notice:
        """Return the notice of an Event object."""
        about = obj["involvedObject"]
        return cls(about["kind"], about["name"], obj.get("reason", ""), obj.get("message", ""))


@dataclass(frozen=True)
class Picture:
    """What users of the cluster see at one moment."""

    pods: Mapping[str, PodView] = field(default_factory=dict)
    pool: Pool = Pool()
    notices: tuple[Notice, ...] = ()
    """All Events so far, oldest first."""
    runners: RunnerStatus = RunnerStatus()
    jobs: Mapping[str, int] = field(default_factory=dict)
    """Counts by state, as seen by the service that submits the jobs."""
    claims: Mapping[str, Tenant] = field(default_factory=dict)

    @property
    def states(self) -> Counter[str]:
        """Count pods by state."""
        return Counter(pod.outputs.state or "new" for pod in self.pods.values())

    @property
    def phases(self) -> Counter[str]:
        """Count claims by phase."""
        return Counter(claim.phase for claim in self.claims.values())

    @property
    def bound(self) -> list[PodView]:
        """The bound pods."""
        return [pod for pod in self.pods.values() if pod.outputs.state == PortsState.BOUND]

    @property
    def endpoints(self) -> list[tuple[str, int]]:
        """Return (load balancer, port) of each endpoint of each bound pod."""
        return [(row.lb, row.port) for pod in self.bound for row in parse_endpoints(pod.outputs.endpoints)]

    @property
    def rounds(self) -> int:
        """Return the number of scale-ups that added load balancers."""
        return sum(notice.reason == "LoadBalancersAdded" for notice in self.notices)


def missing(picture: Picture, pods: int) -> list[str]:
    """Return what has not converged: `pods` pods must be bound, each to its own endpoint, and the pool must say so."""
    return [*_of_pods(picture, pods), *_of_endpoints(picture), *_of_pool(picture, pods)]


def _of_pods(picture: Picture, pods: int) -> Iterator[str]:
    if len(picture.pods) != pods:
        yield f"there are {len(picture.pods)} pods instead of {pods}"
    unbound = [pod for pod in picture.pods.values() if pod.outputs.state != PortsState.BOUND]
    if unbound:
        named = ", ".join(f"{pod.name} ({_why(pod)})" for pod in sorted(unbound, key=lambda pod: pod.name)[:EXAMPLES])
        yield f"{len(unbound)} pods are not bound: {named}{', ...' if len(unbound) > EXAMPLES else ''}"


def _why(pod: PodView) -> str:
    return ": ".join(filter(None, (pod.outputs.state or "no state yet", pod.outputs.message)))


def _of_endpoints(picture: Picture) -> Iterator[str]:
    places = picture.endpoints
    if len(places) != len(picture.bound):
        yield f"{len(picture.bound)} bound pods publish {len(places)} endpoints"
    if twice := sorted(place for place, number in Counter(places).items() if number > 1):
        yield f"{len(twice)} endpoints are published more than once, first {twice[0][0]}:{twice[0][1]}"


def _of_pool(picture: Picture, pods: int) -> Iterator[str]:
    pool = picture.pool
    if (pool.state, pool.allocated, pool.waiting) != ("Active", pods, 0):
        yield f"the pool says: {pool.state}, {pool.allocated} ports in use, {pool.waiting} pods waiting"
    if used := {balancer for balancer, _ in picture.endpoints} - {balancer.name for balancer in pool.balancers}:
        yield f"load balancers that the pool does not list are in use: {', '.join(sorted(used))}"
