"""How often the runs of a large pool list its pods: a fifth of one thread is theirs at most, whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from workers.stores.slots.ledger import SlotLedger

PAUSE: Final = 4  # times as long as the run was
LONGEST: Final = timedelta(minutes=1)


def too_soon(ledger: SlotLedger) -> timedelta:
    """How long the next run shall wait, 0 for not at all."""
    return max(0, ledger.redis.pttl(_key(ledger))) * timedelta(milliseconds=1)


def rest(ledger: SlotLedger, took: timedelta) -> None:
    pause = min(PAUSE * took, LONGEST)
    ledger.redis.set(_key(ledger), b"", px=max(1, pause // timedelta(milliseconds=1)))


def _key(ledger: SlotLedger) -> str:
    """It is there for as long as runs shall wait."""
    return f"{ledger.prefix}pace"
