"""Signals of a pod pool in few words, and what `decide` makes of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from domain.pod_pools.decision import decide
from domain.pod_pools.signals import Accepts, PodTotals, PoolSignals, ScalingPolicy

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PLAN: Accepts = frozenset({"plan"})
THREE: tuple[Accepts, ...] = (None, PLAN, PLAN)


def policy(**changes: Any) -> ScalingPolicy:
    return replace(ScalingPolicy(slots=THREE), **changes)


def signals(opened: int = 0, booting: int = 0, **changes: Any) -> PoolSignals:
    """As many pods are free as can be, if each slot that is not idle is of another pod."""
    names = ("away", "stalled", "missing", "excess", "lost", "free")
    totals = {name: changes.pop(name) for name in names if name in changes}
    free = max(0, opened - changes.get("used", 0) - changes.get("reserved", 0))
    return replace(
        PoolSignals(pods=PodTotals(**{"open": opened, "booting": booting, "free": free} | totals)), **changes
    )


def idle(pods: int) -> dict[Accepts, int]:
    return {None: pods, PLAN: 2 * pods}


def change(what: PoolSignals, **rules: Any) -> int:
    return decide(what, policy(**rules), NOW).change
