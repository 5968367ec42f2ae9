"""Since when protected pods of a pool have no work, by Redis's clock. `view` reads it; the pool's runs write it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from berthmaster.jobs.slot_ledger import SlotLedger


def record_resting(ledger: SlotLedger, before: Collection[str], now: Collection[str]) -> None:
    """Record which pods rest now, by their UIDs. `before` are those of the record. Nothing is sent without a change."""
    begun, over = {*now} - {*before}, {*before} - {*now}
    if not begun and not over:
        return
    seconds, micros = ledger.redis.time()
    pipe: Any = ledger.redis.pipeline(transaction=False)
    for uid in sorted(begun):
        pipe.hset(f"{ledger.prefix}resting", uid, seconds * 1000 + micros // 1000)
    if over:
        pipe.hdel(f"{ledger.prefix}resting", *sorted(over))
    pipe.execute()
