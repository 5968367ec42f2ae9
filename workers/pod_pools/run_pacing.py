"""How often the runs of a large pool list its pods."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from berthmaster.jobs.slot_ledger import SlotLedger
from workers.stores.pace import left, pause

LONGEST: Final = timedelta(minutes=1)


def too_soon(ledger: SlotLedger) -> timedelta:
    """How long the next run shall wait, 0 for not at all."""
    return left(ledger.redis, f"{ledger.prefix}pace")


def rest(ledger: SlotLedger, looked: timedelta) -> None:
    """`looked`: what the run took to see its pods. What it did for them is no reason to do the rest later."""
    pause(ledger.redis, f"{ledger.prefix}pace", looked, LONGEST)
