"""Keeps every decision about the size of a pool with its inputs, to explain the size later."""

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
from domain.pod_pools.signals import Accepts, PoolSignals

DECISIONS = Counter("berthmaster_scaling_decisions_total", "Decisions about the size of a pod pool.", ["pool", "move"])
ANY: Final = "any"
PER_POD: Final = "slots_per_pod"


@dataclass(frozen=True)
class DecisionRecord:
    """The latest decision with its inputs by name. `size` is how many pods with slots there shall be."""

    change: int
    reason: str
    size: int
    inputs: dict[str, Any]

    @property
    def document(self) -> dict[str, Any]:
        """The record as Redis and `--json` have it."""
        return {"change": self.change, "reason": self.reason, "size": self.size, "seen": self.inputs}


def record(ledger: SlotLedger, decision: Decision, size: int, signals: PoolSignals, slots: Iterable[Accepts]) -> None:
    """Keep this decision. `slots` are those of a pod that is created now."""
    DECISIONS.labels(ledger.pool, decision.move.value).inc()
    _store(ledger, DecisionRecord(decision.change, decision.reason, size, _inputs(signals, slots)))


def record_problem(ledger: SlotLedger, problem: str, booting: int) -> None:
    """Keep why the pods of the latest decision are not created, and how many boot in fact."""
    if latest := latest_decision(ledger):
        pods = latest.inputs["pods"] | {"booting": booting}
        _store(ledger, replace(latest, reason=problem, inputs=latest.inputs | {"problem": problem, "pods": pods}))


def latest_decision(ledger: SlotLedger) -> DecisionRecord | None:
    """The latest decision about the pool, None before the first."""
    with readable():
        stored: Any = ledger.redis.get(_key(ledger))
        return _decoded(orjson.loads(stored)) if stored else None


def _decoded(document: dict[str, Any]) -> DecisionRecord:
    change, size = typed(document["change"], int), typed(document["size"], int)
    return DecisionRecord(change, typed(document["reason"], str), size, typed(document["seen"], dict))


def _store(ledger: SlotLedger, latest: DecisionRecord) -> None:
    ledger.redis.set(_key(ledger), orjson.dumps(latest.document))


def _key(ledger: SlotLedger) -> str:
    return f"{ledger.prefix}decision"


def slots_of_new_pods(latest: DecisionRecord) -> tuple[Accepts, ...] | None:
    """Which kinds the slots of a new pod accept; None where an older version decided."""
    slots = latest.inputs.get(PER_POD)
    return None if slots is None else tuple(None if kinds == ANY else frozenset(kinds.split(",")) for kinds in slots)


def _inputs(signals: PoolSignals, slots: Iterable[Accepts]) -> dict[str, Any]:
    """The signals by name, with the kinds of each slot as text."""
    return {**asdict(signals), "idle": _by_kinds(signals.idle or {}), PER_POD: _by_kinds(Tally(slots))}


def _by_kinds(slots: Mapping[Accepts, int]) -> dict[str, int]:
    return {",".join(sorted(accepts)) if accepts else ANY: count for accepts, count in slots.items()}
