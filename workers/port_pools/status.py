"""What the status of a PortPool says: its load balancers, and what people must know, put together from the ledger."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from domain.port_pools.port_pool import PoolState, PortPoolSpec
from domain.port_pools.status import Findings, LoadBalancerLine, pool_status
from events.workqueue import Snapshot
from workers.port_audit.inventory import NOT_FOUND
from workers.scale_up.pool_config import PoolConfig
from workers.stores.ports.pool_ledger import Growth, PoolLoadBalancer
from workers.stores.ports.pool_notes import PoolNotes
from workers.stores.ports.view import LedgerView, view


def status_of(
    growth: Growth,
    pool: Snapshot,
    config: PoolConfig | None,
    invalid: str = "",
    trouble: str = "",
    left: str = "",
    refused: str = "",
) -> dict[str, object]:
    """`invalid` is what is wrong with the spec, `trouble` with AWS, `left` what keeps the pool from being deleted.

    `refused` is a write that Kubernetes refused.
    """
    seen, notes = view(growth.ledger), PoolNotes(growth.redis, growth.prefix)
    findings = Findings(
        invalid=invalid,
        conflict=config.conflict if config else None,
        unusable=notes.unusable(),
        trouble=trouble or notes.trouble(),
        left=left,
        refused=refused,
        growable=config is not None and _growable(seen, config.spec),
    )
    state = seen.state or PoolState.PENDING
    lines = _lines(seen, findings, config.spec if config else None)
    return pool_status(state, seen.epoch, seen.waiting, lines, pool.body["generation"], findings)


def _growable(seen: LedgerView, spec: PortPoolSpec) -> bool:
    create = spec.auto_create
    return create.enabled and sum(lb.slot >= 0 for lb in seen.load_balancers) < create.max_load_balancers


def _lines(seen: LedgerView, findings: Findings, spec: PortPoolSpec | None) -> list[LoadBalancerLine]:
    lines = [_line(lb, spec, seen.filling) for lb in seen.load_balancers if not _taken_out(lb, spec)]
    known = {line.arn for line in lines}
    lines += [_unknown(arn) for arn in findings.unusable if arn not in known]
    return [replace(line, special=_special(findings.unusable.get(line.arn, "")) or line.special) for line in lines]


def _taken_out(lb: PoolLoadBalancer, spec: PortPoolSpec | None) -> bool:
    """It is not in the pool any more, although pods may still have ports on it."""
    return bool(spec and lb.slot < 0 and lb.arn not in spec.load_balancers)


def _line(lb: PoolLoadBalancer, spec: PortPoolSpec | None, filling: Collection[str]) -> LoadBalancerLine:
    blocked = bool(spec and spec.blocks(lb.name, lb.arn))
    states = {"Retiring": lb.retiring, "Blocked": blocked, "Filling": lb.name in filling}
    special = next((state for state, holds in states.items() if holds), "")
    return LoadBalancerLine(lb.name, lb.arn, lb.dns, lb.used, lb.capacity, lb.slot >= 0, len(lb.foreign), special)


def _unknown(arn: str) -> LoadBalancerLine:
    return LoadBalancerLine(name_in(arn), arn, "", 0, 0, auto_created=False, foreign=0)


def _special(fault: str) -> str:
    return ("NotFound" if fault == NOT_FOUND else "Unusable") if fault else ""


def name_in(arn: str) -> str:
    """The load balancer's name in its ARN; the text itself when it is none."""
    parts = arn.split("/")
    return parts[-2] if len(parts) >= 3 else arn
