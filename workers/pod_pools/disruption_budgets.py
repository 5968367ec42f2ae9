"""Keeps the disruption budget of a pool as the pool's spec wants it: there, or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog

from berthmaster.jobs.slot_ledger import SlotLedger
from events.kube.api import AlreadyExists, Conflict, Denied, Invalid, NotFound
from events.workqueue import Snapshot
from workers.kube.disruption_budget import BudgetOfAnotherError, DisruptionBudget
from workers.kube.pod_pools import owner_reference
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.slots.compared import is_compared, record_compared

log = structlog.get_logger()
COMPARE_AGAIN: Final = timedelta(minutes=10)
"""After which a budget that somebody has deleted or changed is noticed. No watch follows budgets."""
WAY_OUT: Final = "rename it, or set protectWhileBusy to false"


def keep_budget(
    services: PodPoolServices,
    run: Run,
    ledger: SlotLedger,
    pool: Snapshot,
    protects: bool,
    event: Callable[[str, str, str], None],
) -> None:
    """Create or delete the budget. Redis remembers for which version of the spec, so that most runs ask nothing.

    A refused write is shown on the pool by its run, and tried again by the next. It stops nothing else.
    """
    namespace, name = ledger.pool.split("/")
    spec = f"{pool.uid} {pool.body['generation']}"
    if is_compared(ledger, spec):
        return
    budget = DisruptionBudget(services.kube, namespace, name, owner_reference(pool))
    run.keep(3 * services.call_time)
    try:
        (budget.ensure if protects else budget.remove)()
    except (AlreadyExists, Conflict, NotFound):
        return
    except (Denied, Invalid) as error:
        log.warning("budget_refused", pool=ledger.pool, budget=budget.name, reason=str(error))
        if protects:
            return
    except BudgetOfAnotherError:
        if protects:
            words = f"PodDisruptionBudget {budget.name} is not of this pool, and evictions are not refused: {WAY_OUT}"
            event("BudgetOfAnother", words, f"{pool.uid} {budget.name}")
    record_compared(ledger, spec, COMPARE_AGAIN)
