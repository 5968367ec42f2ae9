"""What a scrape counts in the ledger of a pod pool."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from redis.client import Pipeline

from berthmaster.jobs.records import pod_fields
from domain.pod_pools.pod_steps import LedgerState

COMMANDS: Final = 4
Numbers = dict[str, dict[str, float]]
VIEWS: Final = ("new", "open", "fenced", "claimed")
SLOT_STATES: Final = ("running", "reserved", "free", "closed")


def ask(pipe: Pipeline, prefix: str) -> None:
    """Queue the reads of one pool in the pipeline."""
    pipe.hvals(f"{prefix}pods")
    pipe.hlen(f"{prefix}jobs")
    pipe.zcard(f"{prefix}ended")
    pipe.hget(f"{prefix}meta", "size")


def count(_server: bytes, stored: list[bytes], jobs: int, ended: int, size: Any) -> Numbers:
    """Count in the replies, in the order of `ask`; '' is the state of a gauge that has none.

    A job without a slot that has not ended counts as waiting.
    """
    pods = [pod_fields(record) for record in stored]
    views = Counter(LedgerState(pod["view"]) for pod in pods)
    slots = Counter(_state(pod, slot) for pod in pods for slot in pod["slots"])
    held = {state: slots[state] for state in ("running", "reserved")}
    return {
        "berthmaster_pool_pods": {view: views[LedgerState(view)] for view in VIEWS},
        "berthmaster_slots": {state: slots[state] for state in SLOT_STATES},
        "berthmaster_jobs": {"waiting": max(0, jobs - ended - sum(held.values())), **held, "ended": ended},
        "berthmaster_pool_size": {} if size is None else {"": int(size)},
    }


def _state(pod: dict[str, Any], slot: dict[str, Any] | None) -> str:
    if slot:
        return str(slot["state"])
    return "free" if pod["view"] == "open" else "closed"
