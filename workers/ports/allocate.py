"""Takes ports of one pool from its ledger, or puts the pod on the pool's waiting list."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from domain.port_pools.placement import ordering
from domain.port_pools.port_pool import PoolState
from domain.port_pools.scale_up import scale_up_obstacle
from domain.ports.entry import Entry
from domain.ports.holding import EntryId
from domain.ports.precreate import ledger_requests
from domain.ports.steps import Allocate
from workers.port_services import PortServices
from workers.ports.observe import PodObservation
from workers.ports.tenancy import admits, note_cap
from workers.scale_up.request import request_scale_up
from workers.stores.ports.ledger import Capped, Closed, Full
from workers.telemetry.port_metrics import count_allocation

log = structlog.get_logger()


def allocate(services: PortServices, observation: PodObservation, step: Allocate) -> None:
    """Take all wants of the step, or none."""
    pool, pod = step.pool, observation.pod
    assert pod
    if not admits(services, observation, pool):
        return
    if pool not in observation.run.pools:
        observation.run.hold([*observation.run.pools, pool])
    spec, ports = observation.config(pool).spec, sum(want.ports for want in step.wants)
    requests = ledger_requests(spec, step.wants)
    answer = observation.access(pool).allocate(pod.uid, requests, ordering(spec.lb_policy), spec.segment_length)
    count_allocation(pool, type(answer).__name__.lower())
    if isinstance(answer, Closed):
        observation.pools[pool].state = PoolState.PENDING
        return
    services.wake_pods(answer.woken)
    if isinstance(answer, Full):
        _request_capacity(services, observation, pool, answer, ports)
    elif isinstance(answer, Capped):
        note_cap(services, observation, pool, answer, ports)
    else:
        log_allocated(observation, observation.add_grant(pool, answer))


def _request_capacity(services: PortServices, observation: PodObservation, pool: str, full: Full, ports: int) -> None:
    """Ask for more load balancers, once an epoch. The script has put the pod on the waiting list already."""
    note_failure(services, observation, pool, full, ports, "no_free_port")
    wanted = sum(want.ports for want in observation.wants)
    limit = scale_up_obstacle(observation.config(pool).spec, full.created)
    why = f", and {limit}" if limit else ""
    observation.refusal = f"pool {pool} has no free port for {ports} of {wanted} wanted{why}"
    request_scale_up(services, pool, full.epoch)


def note_failure(
    services: PortServices, observation: PodObservation, pool: str, full: Full, ports: int, reason: str
) -> None:
    """Note that the pool has no room; a failure is logged and becomes an event once, when the pod begins to wait."""
    if full.failure:
        words = {"epoch": full.epoch, "ports": ports, "reason": reason}
        log.info("allocation_failed", pod=observation.full_name, pool=pool, **words)
        services.journal.port_failures(services.ledger(pool), full.failure)
    observation.waiting.add(pool)
    observation.full.add(pool)


def log_allocated(observation: PodObservation, ids: Iterable[EntryId]) -> None:
    """Log each port that the run has taken."""
    for pool, lb, port in sorted(ids):
        log.info("port_allocated", pod=observation.full_name, pool=pool, port=port, lb=lb)


def rollback(services: PortServices, observation: PodObservation, entry: Entry) -> None:
    """Free what this very run has allocated and for which it has made no cloud call."""
    woken = observation.access(entry.pool).free(entry)
    observation.drop(entry.id)
    services.wake_pods(woken)
