"""Explains why a pod has its ports, or waits for them: what a run would observe. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from berthmaster.routing import pod_key
from domain.kubernetes.names import PORTS
from domain.port_pools.placement import Ordering, ordering
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.entry import Entry
from domain.ports.pod import PodView
from domain.ports.request import RequestError, parse_ports
from domain.ports.want import Want
from events.workqueue import KeyState, Workqueue
from workers.scale_up.pool_config import decode_config
from workers.stores.ports.last_errors import Trouble, Troubles
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import PoolLoadBalancer, PortPoolLedger
from workers.stores.ports.pool_notes import PoolNotes
from workers.stores.ports.view import PlaceInLine, entries_of_owner, place_in_line, share_of, view


class PodReader(Protocol):
    """Reads pods: PodClient from the API server, the pages of Flower from snapshots."""

    def read(self, namespace: str, name: str) -> PodView | None:
        """Return a pod, None if there is no such pod."""


class ExplainServices(Protocol):
    """What an explanation reads; PortServices has it."""

    @property
    def queue(self) -> Workqueue:
        """The workqueue."""

    @property
    def ledger(self) -> Callable[[str], Ledger]:
        """Return the ledger of a pool."""

    @property
    def pods(self) -> PodReader:
        """The reader of pods."""

    @property
    def troubles(self) -> Troubles:
        """The last errors of AWS."""

    @property
    def default_spec(self) -> str:
        """What an empty annotation asks for."""


@dataclass(frozen=True)
class LoadBalancerCandidate:
    """A load balancer that a run would try. `why_not` is None where it can give a port."""

    name: str
    used: int
    capacity: int
    foreign: int
    why_not: str | None


@dataclass(frozen=True)
class PortPoolExplanation:
    """One pool that a pod uses. `ranges`: the sizes of the ranges that the pod asks for, 1 for a single port."""

    name: str
    state: str
    epoch: str = ""
    ranges: tuple[int, ...] = ()
    entries: tuple[Entry, ...] = ()
    free: int = 0
    demand: int = 0
    waiting: int = 0
    place: PlaceInLine | None = None
    candidates: tuple[LoadBalancerCandidate, ...] = ()
    quota: str = ""
    auto_create: str = ""
    trouble: str | None = None  # of the last scale-up


@dataclass(frozen=True)
class PodExplanation:
    """`pod` None: Kubernetes has no such pod, though the ledger may still hold ports of that name."""

    name: str
    pod: PodView | None
    problem: str
    run: KeyState
    trouble: Trouble | None
    pools: tuple[PortPoolExplanation, ...] = field(default=())


def explain_pod(services: ExplainServices, namespace: str, name: str) -> PodExplanation:
    """Explain one pod from Redis and what `services.pods` reads, whose errors it raises."""
    pod, key = services.pods.read(namespace, name), pod_key(namespace, name)
    run = services.queue.key_state(key)
    wants, problem = _wants(pod, services.default_spec)
    asked = {pool: tuple(w.ports for w in group) for pool, group in groupby(sorted(wants), key=lambda w: w.pool)}
    names = sorted(asked.keys() | set(run.pools))
    pools = tuple(_pool(services, pool, f"{namespace}/{name}", asked.get(pool, ())) for pool in names)
    return PodExplanation(f"{namespace}/{name}", pod, problem, run, services.troubles.last(key), pools)


def _wants(pod: PodView | None, default: str) -> tuple[tuple[Want, ...], str]:
    if not pod or not pod.wants_ports:
        return (), ""
    try:
        return parse_ports(pod.annotations[PORTS], default), ""
    except RequestError as error:
        return (), str(error)


def _pool(services: ExplainServices, pool: str, owner: str, ranges: tuple[int, ...]) -> PortPoolExplanation:
    ledger = services.ledger(pool)
    pool_ledger, notes, state = PortPoolLedger(ledger), PoolNotes(ledger.redis, ledger.prefix), view(ledger)
    config = decode_config(pool_ledger.config())
    if not config:
        return PortPoolExplanation(
            pool, "has no ledger: there is no such PortPool, or its spec was never accepted", ranges=ranges
        )
    order, trouble = ordering(config.spec.lb_policy), notes.trouble()
    tried = candidates(state.load_balancers, notes.unusable(), order, max(ranges, default=1))
    return PortPoolExplanation(
        pool,
        state.state or "is being rebuilt",
        state.epoch,
        ranges,
        entries_of_owner(ledger, owner),
        state.free,
        state.demand,
        state.waiting,
        place_in_line(ledger, owner),
        tried,
        _quota(config.spec, *share_of(ledger, owner)),
        auto_creation(config.spec, state.load_balancers, bool(state.intent), bool(trouble)),
        trouble,
    )


def candidates(
    lbs: tuple[PoolLoadBalancer, ...], unusable: dict[str, str], order: Ordering, longest: int
) -> tuple[LoadBalancerCandidate, ...]:
    """The load balancers in the order in which a run tries them; `longest` is the longest range that it asks for."""
    return tuple(
        LoadBalancerCandidate(
            lb.name, lb.used, lb.capacity, len(lb.foreign), _why_not(lb, unusable.get(lb.arn), longest)
        )
        for lb in order.ranked(lbs)
    )


def _why_not(lb: PoolLoadBalancer, fault: str | None, longest: int) -> str | None:
    if fault:
        return fault
    if not lb.capacity:
        return "gives no new ports"
    free = lb.capacity - lb.used
    if free <= 0:
        return "full"
    return f"{free} ports are free, {longest} in a row are asked for" if free < longest else None


def _quota(spec: PortPoolSpec, used: int, capped: bool) -> str:
    here, most = spec.listeners_of_one, spec.max_ports_per_namespace
    share = f", {used} of the {most} ports of its namespace are taken" if most else ""
    return f"{here} listeners a load balancer{share}" + (", so that the pod waits" if capped else "")


def auto_creation(spec: PortPoolSpec, lbs: tuple[PoolLoadBalancer, ...], wanted: bool, failed: bool) -> str:
    """Say how far automatic creation has come. `wanted`: an intent is open; `failed`: the last scale-up failed."""
    create, created = spec.auto_create, sum(lb.slot >= 0 for lb in lbs)
    if not create.enabled:
        return "off"
    more = "; more are needed and cannot be created" if failed else "; more are being created"
    return f"{created} of {create.max_load_balancers} created" + (more if wanted else "")
