"""The number of pods of a pool as Redis knows it. That is exact enough to choose a pool."""

from __future__ import annotations

from typing import Any

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import readable


@readable()
def population(ledger: SlotLedger) -> int:
    """Return how many pods the ledger has, plus those that are still to be created."""
    pipe = ledger.redis.pipeline(transaction=True)
    pipe.hlen(f"{ledger.prefix}pods")
    pipe.scard(f"{ledger.prefix}names")
    counts: list[Any] = pipe.execute()
    return sum(int(count) for count in counts)
