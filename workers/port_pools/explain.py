"""Explains a port pool: what is free, and what a request would get. Changes nothing."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Final

from domain.port_pools.placement import ordering
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.scale_up import scale_up_obstacle
from domain.ports.fitting import fit_to_pools
from domain.ports.pod import PodView
from domain.ports.precreate import ledger_requests
from domain.ports.request import RequestError, parse_ports
from domain.ports.want import Want
from workers.port_services import PortServices
from workers.ports.explain import LoadBalancerCandidate, auto_creation, candidates
from workers.ports.tenancy import namespace_refusal
from workers.scale_up.limits import limits
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import PortPoolLedger
from workers.stores.ports.pool_notes import PoolNotes
from workers.stores.ports.trial import try_out
from workers.stores.ports.view import LedgerView, view

TRIED: Final = "tried"
"""Name of the pod that a trial makes up."""


@dataclass(frozen=True)
class RequestTrial:
    """What a pod with the request would get now.

    `places`: load balancer, first port and ports in a row, where the pool would give them. Otherwise `why_not`.
    `grows_by`: load balancers that the pool would create for it and for those who wait already.
    """

    request: str
    ports: int
    places: tuple[tuple[str, int, int], ...] = ()
    why_not: str | None = None
    grows_by: int = 0


@dataclass(frozen=True)
class PortPoolState:
    """A port pool. `waiting` is pods, `demand` their ports; `conflict`: why the pool gives no new ports."""

    name: str
    state: str
    epoch: str
    capacity: int
    used: int
    free: int
    demand: int
    waiting: int
    load_balancers: tuple[LoadBalancerCandidate, ...]
    auto_create: str
    conflict: str | None
    trouble: str | None
    trial: RequestTrial | None = None


def explain_port_pool(
    services: PortServices, name: str, request: str | None = None, namespace: str | None = None
) -> PortPoolState | None:
    """Explain a pool, and what a new pod of `namespace` that asks for `request` would get of it. None: no such pool.

    `request` is written as in the annotation, where the pool may be left out. Without a namespace no share counts.
    Raises KubeError, NotReady and redis-py's errors.
    """
    ledger = services.ledger(name)
    pool, config = port_pool_state(ledger), decode_config(PortPoolLedger(ledger).config())
    if not (pool and config and request):
        return pool
    return replace(pool, trial=_trial(services, ledger, config, view(ledger), request, namespace))


def port_pool_state(ledger: Ledger) -> PortPoolState | None:
    """Return what the ledger of a pool says, None if it has no configuration. Raises redis-py's errors."""
    pool_ledger, notes, state = PortPoolLedger(ledger), PoolNotes(ledger.redis, ledger.prefix), view(ledger)
    config = decode_config(pool_ledger.config())
    if not config:
        return None
    trouble = notes.trouble()
    return PortPoolState(
        ledger.pool,
        state.state or "is being rebuilt",
        state.epoch,
        state.capacity,
        state.allocated,
        state.free,
        state.demand,
        state.waiting,
        candidates(state.load_balancers, notes.unusable(), ordering(config.spec.lb_policy), 1),
        auto_creation(config.spec, state.load_balancers, bool(state.intent), bool(trouble)),
        config.conflict,
        trouble,
    )


def wants_of(request: str, pool: str) -> list[Want]:
    """What a request, as in the annotation, asks of the pool. Raises RequestError if nobody can read it."""
    entries = (entry if "@" in entry else f"{entry}@{pool}" for entry in re.split(r"[,\n]", request) if entry.strip())
    wants = [want for want in parse_ports(",".join(entries)) if want.pool == pool]
    if not wants:
        raise RequestError(f"no entry asks for ports of pool {pool}")
    return wants


def _trial(
    services: PortServices, ledger: Ledger, config: PoolConfig, state: LedgerView, request: str, namespace: str | None
) -> RequestTrial:
    pool, spec = ledger.pool, config.spec
    try:
        fitted = fit_to_pools(wants_of(request, pool), {pool: spec}, PodView(namespace or "", TRIED, "", 0))
    except RequestError as error:
        return RequestTrial(request, 0, why_not=str(error))
    ports = sum(want.ports for want in fitted)
    selector = spec.allowed_namespaces
    if selector and namespace and (why_not := namespace_refusal(services, selector, namespace)):
        return RequestTrial(request, ports, why_not=f"pool {pool} is not for namespace {namespace}, {why_not}")
    return _answer(services, ledger, config, state, RequestTrial(request, ports), fitted, namespace)


def _answer(
    services: PortServices,
    ledger: Ledger,
    config: PoolConfig,
    state: LedgerView,
    trial: RequestTrial,
    wants: tuple[Want, ...],
    namespace: str | None,
) -> RequestTrial:
    spec = config.spec
    asks, order = ledger_requests(spec, wants), ordering(spec.lb_policy)
    answer = try_out(ledger, namespace or "", asks, order, spec.segment_length)
    match answer.status:
        case "FITS":
            return replace(trial, places=answer.places)
        case "QUOTA":
            most = spec.max_ports_per_namespace
            return replace(trial, why_not=f"namespace {namespace} has used up its {most} ports: it waits")
        case "CLOSED":
            return replace(trial, why_not=config.conflict or f"the pool is {state.state}")
        case _:
            grows_by = _load_balancers_to_create(services, ledger.pool, spec, state, trial.ports)
            return replace(trial, why_not=_wait_in_words(spec, state, grows_by), grows_by=grows_by)


def _load_balancers_to_create(
    services: PortServices, pool: str, spec: PortPoolSpec, state: LedgerView, ports: int
) -> int:
    """How many load balancers a scale-up of now would create; one at least, where the free ports do not fit."""
    bounds, created = limits(services, pool, spec), {lb.slot for lb in state.load_balancers if lb.slot >= 0}
    room = min(bounds.most - len(created), len(set(bounds.slots) - created))
    needed = max(1, math.ceil((state.demand + ports - state.free) / bounds.capacity))
    return max(0, min(needed, bounds.per_round, room))


def _wait_in_words(spec: PortPoolSpec, state: LedgerView, grows_by: int) -> str:
    if state.intent:
        return "no free port fits: it waits for the load balancers that are being created"
    if grows_by:
        more = "one load balancer" if grows_by == 1 else f"{grows_by} load balancers"
        return f"no free port fits: it waits, and the pool creates {more}"
    created = sum(lb.slot >= 0 for lb in state.load_balancers)
    limit = scale_up_obstacle(spec, created) or "has all the load balancers that its account permits"
    return f"no free port fits: it waits for a release, because the pool {limit}"
