"""Keeps every decision about the size of a pool with its inputs, to explain the size later."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Final

import orjson
from prometheus_client import Counter

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import readable, typed
from domain.pod_pools.decision import Decision
from domain.pod_pools.pod_steps import PodCategory
from domain.pod_pools.signals import Accepts, PoolSignals

DECISIONS = Counter("berthmaster_scaling_decisions_total", "Decisions about the size of a pod pool.", ["pool", "move"])
ANY: Final = "any"
PER_POD: Final = "slots_per_pod"
DAY: Final = timedelta(days=1)
PERIOD: Final = timedelta(minutes=2)
"""Of the points of the history while the size stays."""
MOST_POINTS: Final = 1000
LONGEST_REASON: Final = 200
SCHEDULES: Final = "schedules"


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


@dataclass(frozen=True)
class SizePoint:
    """A point of a pool's history. `at` is in seconds of Redis's clock; `used` and `reserved` are slots.

    `size`: pods that were wanted; `present`: pods that there were. A `change` other than 0 is a decision to resize.
    """

    at: int
    size: int
    present: int
    used: int
    reserved: int
    change: int
    reason: str


def record(
    ledger: SlotLedger,
    decision: Decision,
    size: int,
    signals: PoolSignals,
    slots: Iterable[Accepts],
    schedules: Sequence[str] = (),
) -> None:
    """Keep this decision. `slots` are those of a pod that is created now. `schedules`: the pool's, in words."""
    DECISIONS.labels(ledger.pool, decision.move.value).inc()
    inputs = {**_inputs(signals, slots), **({SCHEDULES: list(schedules)} if schedules else {})}
    _store(ledger, DecisionRecord(decision.change, decision.reason, size, inputs))


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
    pods, numbers = latest.inputs["pods"], latest.inputs
    present = sum(pods.get(category.value, 0) for category in PodCategory)
    point = [latest.size, present, numbers["used"], numbers["reserved"], latest.change, latest.reason[:LONGEST_REASON]]
    limits = int(bool(latest.change)), PERIOD // timedelta(milliseconds=1), MOST_POINTS
    ledger.call("keep_decision", orjson.dumps(latest.document), orjson.dumps(point), *limits)


def size_history(ledger: SlotLedger, length: timedelta = DAY) -> tuple[SizePoint, ...]:
    """Return the points of the last `length`, the oldest first."""
    with readable():
        since: Any = ledger.redis.time()[0] - int(length.total_seconds())
        stored: Any = ledger.redis.xrange(f"{ledger.prefix}sizes", min=since * 1000)
        return tuple(_point(at, orjson.loads(fields[b"point"])) for at, fields in stored)


def _point(at: bytes, stored: list[Any]) -> SizePoint:
    *numbers, reason = stored
    size, present, used, reserved, change = (typed(number, int) for number in numbers)
    return SizePoint(int(at.partition(b"-")[0]) // 1000, size, present, used, reserved, change, typed(reason, str))


def _key(ledger: SlotLedger) -> str:
    return f"{ledger.prefix}decision"


def slots_of_new_pods(latest: DecisionRecord) -> tuple[Accepts, ...] | None:
    """Which kinds the slots of a new pod accept; None where an older version decided."""
    slots = latest.inputs.get(PER_POD)
    return None if slots is None else tuple(None if kinds == ANY else frozenset(kinds.split(",")) for kinds in slots)


def _inputs(signals: PoolSignals, slots: Iterable[Accepts]) -> dict[str, Any]:
    """The signals by name, with the kinds of each slot as text."""
    return {**asdict(signals), "idle": _by_kinds(signals.idle), PER_POD: _by_kinds(Tally(slots))}


def _by_kinds(slots: Mapping[Accepts, int]) -> dict[str, int]:
    return {",".join(sorted(accepts)) if accepts else ANY: count for accepts, count in slots.items()}
