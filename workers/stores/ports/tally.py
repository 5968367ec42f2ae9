"""What a scrape counts in the ledger of a port pool."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from redis.client import Pipeline

from domain.port_audit.difference import DifferenceKind

COMMANDS: Final = 6
Numbers = dict[str, dict[str, float]]
LB_STATES: Final = ("giving", "filling", "retiring", "closed")


def ask(pipe: Pipeline, prefix: str) -> None:
    """Queue the reads of one pool in the pipeline."""
    pipe.hmget(f"{prefix}meta", "incarnation", "epoch", "free", "demand", "intent")
    pipe.hgetall(f"{prefix}lbs")
    pipe.hlen(f"{prefix}demand")
    pipe.hlen(f"{prefix}cap")
    pipe.hkeys(f"{prefix}coming")
    pipe.hkeys(f"{prefix}drift")


def count(
    server: bytes, meta: list[Any], lbs: dict[bytes, bytes], waiting: int, capped: int, coming: Any, drift: Any
) -> Numbers:
    """Count in the replies, in the order of `ask`. '' is the state of a gauge that has none."""
    inc, epoch, free, demand, intent = meta
    used = sum(int(number) for field, number in lbs.items() if field.startswith(b"used:"))
    states = Counter(_state(field[6:], lbs, coming) for field in lbs if field.startswith(b"facts:"))
    kinds = Counter(difference.partition(b"|")[0].decode() for difference in drift)
    return {
        "berthmaster_ports": {"allocated": used, "free": int(free or 0), "waiting": int(demand or 0)},
        "berthmaster_waiting_pods": {"ports": waiting, "share": capped},
        "berthmaster_load_balancers": {state: states[state] for state in LB_STATES},
        "berthmaster_epoch": {"": int(epoch or 0)},
        "berthmaster_scale_up_open": {"": float(intent is not None)},
        "berthmaster_ledger_verified": {"": float((inc or b"").startswith(server + b"/"))},
        "berthmaster_drift": {kind: kinds[kind] for kind in DifferenceKind},
    }


def _state(lb: bytes, lbs: dict[bytes, bytes], coming: list[bytes]) -> str:
    if b"retiring:" + lb in lbs:
        return "retiring"
    if lb in coming:
        return "filling"
    return "giving" if b"capacity:" + lb in lbs else "closed"
