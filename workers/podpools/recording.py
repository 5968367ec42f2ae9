"""Every decision about the size of a pool, kept with what it was made from, for who asks why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import orjson
from prometheus_client import Counter

from domain.scaling.decision import Decision
from domain.scaling.sensed import Sensed
from workers.stores.slots.ledger import SlotLedger

DECISIONS = Counter("berthmaster_scaling_decisions_total", "Decisions about the size of a pod pool.", ["pool", "move"])


@dataclass(frozen=True)
class Recorded:
    """The latest decision: `seen` are its inputs by name, `size` the pods with slots that there shall be."""

    change: int
    reason: str
    size: int
    seen: dict[str, Any]


def record(ledger: SlotLedger, decision: Decision, size: int, seen: Sensed) -> None:
    DECISIONS.labels(ledger.pool, decision.move.value).inc()
    told = Recorded(decision.change, decision.reason, size, _inputs(seen))
    ledger.redis.set(_key(ledger), orjson.dumps(told))


def recorded(ledger: SlotLedger) -> Recorded | None:
    """None before the first."""
    stored: Any = ledger.redis.get(_key(ledger))
    return Recorded(**orjson.loads(stored)) if stored else None


def _key(ledger: SlotLedger) -> str:
    return f"{ledger.prefix}decision"


def _inputs(seen: Sensed) -> dict[str, Any]:
    """With what slots accept in words."""
    idle = {",".join(sorted(accepts)) if accepts else "any": count for accepts, count in (seen.idle or {}).items()}
    return {**asdict(seen), "idle": idle}
