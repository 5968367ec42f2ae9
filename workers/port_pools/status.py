"""The status of a PortPool: its load balancers, and what people must know, derived from the ledger."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

import orjson

from domain.port_pools.port_pool import PoolState, PortPoolSpec
from domain.port_pools.status import Findings, LoadBalancerLine, pool_status
from events.kube.api import KubeError, refused_so_far
from workers.cloud.providers import load_balancer_name_in
from workers.port_audit.inventory import NOT_FOUND
from workers.port_pools.pool_run import PortPoolRun
from workers.scale_up.pool_config import PoolConfig
from workers.stores.ports.pool_ledger import PoolLoadBalancer
from workers.stores.ports.pool_notes import PoolNotes
from workers.stores.ports.view import LedgerView, view


def publish_status(
    pool_run: PortPoolRun,
    config: PoolConfig | None,
    invalid: str | None = None,
    trouble: str | None = None,
    left: str | None = None,
    refused: str | None = None,
) -> None:
    """Write the status, once for each change.

    `invalid` is what is wrong with the spec, `trouble` with the cloud, `left` what keeps the pool from being deleted,
    `refused` a write that Kubernetes refused.
    """
    notes = PoolNotes(pool_run.pool_ledger.redis, pool_run.pool_ledger.prefix)
    observed = view(pool_run.ledger)
    findings = Findings(
        invalid=invalid,
        conflict=config.conflict if config else None,
        unusable=notes.unusable(),
        trouble=trouble or notes.trouble(),
        left=left,
        refused=refused,
        growable=config is not None and _growable(observed, config.spec),
    )
    state, generation = observed.state or PoolState.PENDING, pool_run.pool.body["generation"]
    lines = _lines(observed, findings, config.spec if config else None)
    _write(pool_run, pool_status(state, observed.epoch, observed.waiting, lines, generation, findings))


def publish_refused_write(pool_run: PortPoolRun, config: PoolConfig | None) -> None:
    """Show the last write that Kubernetes refused. It may have been that of the status; an Event reports it anyway."""
    for write in refused_so_far()[-1:]:
        with suppress(KubeError):
            publish_status(pool_run, config, refused=str(write))


def _write(pool_run: PortPoolRun, status: dict[str, object]) -> None:
    shown, prefix = pool_run.services.shown, pool_run.ledger.prefix
    text = orjson.dumps([pool_run.run.history, pool_run.pool.uid, status])
    if shown.get(prefix) == text:
        return
    pool_run.run.keep(pool_run.services.call_time)
    pool_run.record_write(pool_run.services.pools.set_status(pool_run.pool, status))
    shown.put(prefix, text)


def _growable(observed: LedgerView, spec: PortPoolSpec) -> bool:
    create = spec.auto_create
    return create.enabled and sum(lb.slot >= 0 for lb in observed.load_balancers) < create.max_load_balancers


def _lines(observed: LedgerView, findings: Findings, spec: PortPoolSpec | None) -> list[LoadBalancerLine]:
    lbs = [lb for lb in observed.load_balancers if not _taken_out(lb, spec)]
    lines = [_line(lb, spec, observed.filling) for lb in lbs]
    arns = {line.arn for line in lines}
    lines += [_unknown(arn) for arn in findings.unusable if arn not in arns]
    return [replace(line, special=_special(findings.unusable.get(line.arn)) or line.special) for line in lines]


def _taken_out(lb: PoolLoadBalancer, spec: PortPoolSpec | None) -> bool:
    """Whether it has left the pool. Pods may still have ports on it."""
    return bool(spec and lb.slot < 0 and lb.arn not in spec.load_balancers)


def _line(lb: PoolLoadBalancer, spec: PortPoolSpec | None, filling: Collection[str]) -> LoadBalancerLine:
    blocked = bool(spec and spec.blocks(lb.name, lb.arn))
    states = {"Retiring": lb.retiring, "Blocked": blocked, "Filling": lb.name in filling}
    special = next((state for state, holds in states.items() if holds), None)
    return LoadBalancerLine(lb.name, lb.arn, lb.dns, lb.used, lb.capacity, lb.slot >= 0, len(lb.foreign), special)


def _unknown(arn: str) -> LoadBalancerLine:
    return LoadBalancerLine(load_balancer_name_in(arn), arn, "", 0, 0, auto_created=False, foreign=0)


def _special(fault: str | None) -> str | None:
    return ("NotFound" if fault == NOT_FOUND else "Unusable") if fault else None
