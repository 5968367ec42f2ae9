"""Compares AWS, the ledgers and the pods once a period, and repairs what is ours: leftovers are removed after a grace,
lost listeners, targets, tags and entries restored. What does not carry our tags, and is not known to the ledger, is
never touched.
"""

from __future__ import annotations

from functools import lru_cache

import structlog

from berthmaster.errors import TerminalError, TransientError
from domain.port_audit.difference import Difference
from workers.cloud.rates import OverBudget
from workers.port_audit.observe import Look, Looking, live_pods
from workers.port_audit.repair import Repair
from workers.port_services import PortServices
from workers.stores.ports.audit_memory import Noted
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import Growth

log = structlog.get_logger()


def audit(services: PortServices) -> None:
    """One pool after the other: what fails at one is no reason to leave out the rest."""
    pods = lru_cache(maxsize=1)(lambda: live_pods(services.queue))
    for pool in services.pool_names.all():
        try:
            if look := Looking(services, pool).look(pods, services.audit_targets):
                repair(services, pool, look)
            Growth(services.ledger(pool)).prune_fences()
        except NotReady:
            log.info("ledger_not_ready", pool=pool)
        except (TransientError, TerminalError) as error:
            log.warning("audit_failed", pool=pool, error=str(error))


def repair(services: PortServices, pool: str, look: Look) -> dict[Difference, str]:
    """One pass. What was not mended, and why; what is not in it is done, or on its way."""
    prefix, memory = services.ledger(pool).prefix, services.audit_memory
    noted = memory.note(prefix, [found.id for found in look.differences], services.orphan_grace)
    memory.record_last_checked(prefix, look.last)
    mender, left = Repair(services, pool, look), {}
    for found in look.differences:
        if found.id in noted.fresh:
            tell(found)
        if why := _early(found, noted) or _mended(mender, found):
            left[found] = why
    return left


def forecast(services: PortServices, pool: str, look: Look) -> dict[Difference, str]:
    """What `repair` would do now. Changes nothing, and remembers nothing."""
    ids = [found.id for found in look.differences]
    noted = services.audit_memory.noted(services.ledger(pool).prefix, ids, services.orphan_grace)
    return {found: _early(found, noted) or str(found.remedy) for found in look.differences}


def _early(found: Difference, noted: Noted) -> str:
    """Why it is left alone for now, or ''."""
    return "wait: it has not been there long enough" if found.remedy.patient and found.id not in noted.ripe else ""


def _mended(mender: Repair, found: Difference) -> str:
    """Without call budget the rest waits, but for what costs no call."""
    try:
        return mender.mend(found)
    except OverBudget as wait:
        return str(wait)


def tell(found: Difference) -> None:
    log.warning(
        "drift_found",
        pool=found.pool,
        kind=found.kind,
        lb=found.lb,
        port=found.port,
        owner=found.owner,
        detail=found.detail,
        remedy=found.remedy,
    )
