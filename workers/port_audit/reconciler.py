"""Audits each pool once a period, and repairs what is ours.

Leftovers are removed after a grace; lost listeners, targets, tags and entries are restored. A resource that neither
carries our tags nor is in the ledger is never touched.
"""

from __future__ import annotations

from functools import lru_cache

import structlog

from berthmaster.errors import TerminalError, TransientError
from domain.port_audit.difference import Difference
from domain.port_audit.plan import RepairPlan, plan
from workers.cloud.call_budget import OverBudget
from workers.port_audit.observe import AuditObservation, live_pods, observe
from workers.port_audit.repair import Repair
from workers.port_services import PortServices
from workers.stores.ports.audit_memory import Noted
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import PortPoolLedger
from workers.stores.ticks import STEP, Keep, unkept

log = structlog.get_logger()


def audit(services: PortServices, keep: Keep = unkept) -> None:
    """Audit one pool after the other. A failure at one does not stop the rest.

    `keep` is called before each pool and each call of AWS. Raises StaleToken when it does.
    """
    pods = lru_cache(maxsize=1)(lambda: live_pods(services.queue))
    for pool in services.pool_names.all():
        keep(STEP)
        try:
            # 1. read the ledger and the cloud
            if observed := observe(services, pool, pods, services.audit_targets, keep):
                repair_plan = plan(observed.comparison)  # 2. decide: domain, pure
                repair(services, pool, observed, repair_plan)  # 3. act, within the call budget
            PortPoolLedger(services.ledger(pool)).prune_fences(services.queue.newest_token())
        except NotReady:
            log.info("ledger_not_ready", pool=pool)
        except (TransientError, TerminalError) as error:
            log.warning("audit_failed", pool=pool, error=str(error))


def repair(
    services: PortServices, pool: str, observed: AuditObservation, repair_plan: RepairPlan
) -> dict[Difference, str]:
    """Carry out one pass of the plan. Returns what was not repaired, and why; the rest is done or on its way."""
    prefix, memory = services.ledger(pool).prefix, services.audit_memory
    noted = memory.note(prefix, [difference.id for difference in repair_plan], services.orphan_grace)
    memory.record_last_checked(prefix, observed.last)
    repairer, unrepaired = Repair(services, pool, observed), {}
    for difference in repair_plan:
        if difference.id in noted.fresh:
            _log_drift(difference)
        if why := _too_early(difference, noted) or _apply(repairer, difference):
            unrepaired[difference] = why
    return unrepaired


def dry_run(services: PortServices, pool: str, repair_plan: RepairPlan) -> dict[Difference, str]:
    """What `repair` would do now. Changes and stores nothing."""
    ids = [difference.id for difference in repair_plan]
    noted = services.audit_memory.noted(services.ledger(pool).prefix, ids, services.orphan_grace)
    return {difference: _too_early(difference, noted) or str(difference.remedy) for difference in repair_plan}


def _too_early(difference: Difference, noted: Noted) -> str | None:
    """Why the repair has to wait, None if it need not."""
    waits = difference.remedy.patient and difference.id not in noted.ripe
    return "wait: it has not been there long enough" if waits else None


def _apply(repairer: Repair, difference: Difference) -> str | None:
    """Without call budget the pass goes on, because some repairs cost no call."""
    try:
        return repairer.apply(difference)
    except OverBudget as wait:
        return str(wait)


def _log_drift(difference: Difference) -> None:
    log.warning(
        "drift_found",
        pool=difference.pool,
        kind=difference.kind,
        lb=difference.lb,
        port=difference.port,
        owner=difference.owner,
        detail=difference.detail,
        remedy=difference.remedy,
    )
