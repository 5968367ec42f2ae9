"""Which scripts the ledger of a pool has, and behind which heads each of them stands."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LUA: Final = Path(__file__).parents[1] / "lua"
_ENTRIES: Final = ("names_head", "gate_head", "entries_head", "bits_head", "stock_head")
_FINDING: Final = ("names_head", "asking_head", "asked_head", "finding_head", "placing_head", "gate_head")
HEADS: Final = {
    "ledger": _ENTRIES,
    "waiting": (*_ENTRIES, "demand_head", "waiting_head", "share_head", "short_head"),
    "allocating": (*_FINDING, "demand_head", "waiting_head", "share_head"),
}
_LEDGER: Final = """
    open record releasing confirm adopt missing distrust prune_fences candidates
    retain inherit expire
    unstock compare aim aimed acquire_key
    retire confirm_retired forget
"""
_WAITING: Final = """
    free foreign crowded give_way orphan leave wait wake intent close rebuild stamp configure drop unwin stock
"""
SCRIPTS: Final = {
    **dict.fromkeys(_LEDGER.split(), "ledger"),
    **dict.fromkeys(_WAITING.split(), "waiting"),
    "allocate": "allocating",
}
