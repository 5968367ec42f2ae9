"""For which version of a pool's spec its disruption budget was compared."""

from __future__ import annotations

from datetime import timedelta

from redis import ResponseError

from berthmaster.jobs.slot_ledger import SlotLedger


def is_compared(ledger: SlotLedger, spec: str) -> bool:
    """Tell whether the budget was compared for this version, not long ago."""
    try:
        return ledger.redis.get(f"{ledger.prefix}budget") == spec.encode()
    except ResponseError:  # somebody else's key of another type, which the next record replaces
        return False


def record_compared(ledger: SlotLedger, spec: str, lasts: timedelta) -> None:
    """Record that the budget was compared for this version."""
    ledger.redis.set(f"{ledger.prefix}budget", spec, px=lasts)
