"""Every decision about the size of a pool, kept with what it was made from, for who asks why."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import orjson
from prometheus_client import Counter

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import readable, typed
from domain.pod_pools.decision import Decision
from domain.pod_pools.signals import Accepts, Sensed

DECISIONS = Counter("berthmaster_scaling_decisions_total", "Decisions about the size of a pod pool.", ["pool", "move"])
ANY: Final = "any"
PER_POD: Final = "slots_per_pod"


@dataclass(frozen=True)
class Recorded:
    """The latest decision: `seen` are its inputs by name, `size` the pods with slots that there shall be."""

    change: int
    reason: str
    size: int
    seen: dict[str, Any]


def record(ledger: SlotLedger, decision: Decision, size: int, seen: Sensed, slots: Iterable[Accepts]) -> None:
    """`slots`: those of a pod that is created now."""
    DECISIONS.labels(ledger.pool, decision.move.value).inc()
    _keep(ledger, Recorded(decision.change, decision.reason, size, _inputs(seen, slots)))


def record_problem(ledger: SlotLedger, problem: str, booting: int) -> None:
    """Why the pods of the latest decision are not made. It counted those; only so many boot."""
    if told := recorded(ledger):
        pods = told.seen["pods"] | {"booting": booting}
        _keep(ledger, replace(told, reason=problem, seen=told.seen | {"problem": problem, "pods": pods}))


def recorded(ledger: SlotLedger) -> Recorded | None:
    """None before the first."""
    with readable():
        stored: Any = ledger.redis.get(_key(ledger))
        return _recorded(orjson.loads(stored)) if stored else None


def _recorded(told: dict[str, Any]) -> Recorded:
    change, size = typed(told["change"], int), typed(told["size"], int)
    return Recorded(change, typed(told["reason"], str), size, typed(told["seen"], dict))


def _keep(ledger: SlotLedger, told: Recorded) -> None:
    ledger.redis.set(_key(ledger), orjson.dumps(told))


def _key(ledger: SlotLedger) -> str:
    return f"{ledger.prefix}decision"


def slots_of_new_pods(told: Recorded) -> tuple[Accepts, ...] | None:
    """The kinds of slots that a pod has which is created now; None where an older version decided."""
    slots = told.seen.get(PER_POD)
    return None if slots is None else tuple(None if kinds == ANY else frozenset(kinds.split(",")) for kinds in slots)


def _inputs(seen: Sensed, slots: Iterable[Accepts]) -> dict[str, Any]:
    """With what slots accept in words."""
    return {**asdict(seen), "idle": _in_words(seen.idle or {}), PER_POD: _in_words(Tally(slots))}


def _in_words(slots: Mapping[Accepts, int]) -> dict[str, int]:
    return {",".join(sorted(accepts)) if accepts else ANY: count for accepts, count in slots.items()}
