"""All rows of the board, read from Redis by the readers that status and metrics use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

import orjson

from berthmaster import routing
from berthmaster.events import STREAM_FIELD
from berthmaster.jobs.scripts import load_scripts as load_slot_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.redis.outage import OUTAGE
from domain.ports.entry import EntryState
from domain.visible import visible_line
from events.workqueue import Workqueue
from workers.fleet_pages.cells import port_cells, slot_cells
from workers.pod_pools.decision_log import latest_decision
from workers.scale_up.pool_config import decode_config
from workers.stores.claims.index import PHASES
from workers.stores.pool_names import PodPoolNames, PoolNames
from workers.stores.ports.ledger import Ledger, load_scripts
from workers.stores.ports.pool_ledger import PortPoolLedger
from workers.stores.ports.pool_notes import PoolNotes
from workers.stores.ports.view import LedgerView, decoded, owners, view
from workers.stores.slots.view import view as slots_view

Row = tuple[str, Any]
"""Id of a row, and its value."""
TAIL: Final = 12
"""How many events are shown."""
KEPT: Final = 20_000
"""Owners of ports whose decoded entries are kept from reading to reading, of about 1 kB each."""


class FleetRows:
    """Reads the rows. `read` may be called by one thread at a time."""

    def __init__(self, redis: Any) -> None:
        self._redis = redis
        self._ports, self._slots = load_scripts(redis), load_slot_scripts(redis)
        self._entries = lru_cache(maxsize=KEPT)(decoded)
        self._queue = Workqueue(redis, publish=lambda _: None)

    def read(self) -> dict[str, Any]:
        """Return all rows. Raises redis-py's errors; what alone cannot be read is a row that says so."""
        rows: dict[str, Any] = {}
        for name, part in self._parts():
            try:
                rows |= dict(part)
            except OUTAGE:
                raise
            except (
                UnreadableLedger,
                ValueError,
                KeyError,
                TypeError,
                AttributeError,
            ) as error:
                rows[f"problem/{name}"] = visible_line(f"{name} cannot be read: {error!r}")
        return rows

    def _parts(self) -> Iterator[tuple[str, Iterable[Row]]]:
        """Yield what is read by itself, with a name."""
        yield "queue", self._queue_rows()
        yield "claims", self._claim_rows()
        yield "events", self._event_rows()
        yield from ((f"portpool/{name}", self.port_pool(name)) for name in PoolNames(self._redis).all())
        yield from ((f"podpool/{name}", self.pod_pool(name)) for name in PodPoolNames(self._redis).all())

    # ---- port pools

    def port_pool(self, name: str) -> Iterator[Row]:
        """Yield the row of a port pool, and one for each of its load balancers."""
        ledger = Ledger(self._redis, self._ports, name)
        notes, state = PoolNotes(self._redis, ledger.prefix), view(ledger)
        config = decode_config(PortPoolLedger(ledger).config())
        yield f"portpool/{name}", _pool_row(state, config.conflict if config else None, notes.trouble())
        if not config:
            return
        taken: dict[str, list[tuple[int, EntryState]]] = defaultdict(list)
        for _, entries in owners(ledger, self._entries):
            for entry in entries:
                taken[entry.lb].append((entry.port, entry.state))
        for lb in state.load_balancers:
            cells = port_cells(lb, config.spec.ports, taken[lb.name])
            stage = _stage(lb.retiring, lb.name in state.filling, lb.capacity)
            yield f"lb/{name}/{lb.name}", {"cells": cells, "first": config.spec.start_port, "stage": stage}

    # ---- pod pools

    def pod_pool(self, name: str) -> Iterator[Row]:
        """Yield the row of a pod pool, and one for each of its pods that has reported."""
        ledger = SlotLedger(self._redis, self._slots, name)
        decision, slots = latest_decision(ledger), slots_view(ledger)
        yield (
            f"podpool/{name}",
            {
                "size": decision.size if decision else None,
                "change": decision.change if decision else 0,
                "reason": visible_line(decision.reason) if decision else "no worker has reconciled it yet",
                "booting": decision.inputs.get("pods", {}).get("booting", 0) if decision else 0,
                "waiting": sum(slots.waiting.values()),
            },
        )
        for pod in slots.all_pods:
            yield f"pod/{name}/{pod.uid}", [pod.name, slot_cells(pod)]

    # ---- the rest

    def _claim_rows(self) -> Iterator[Row]:
        phases: Any = self._redis.hgetall(PHASES)
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for name, phase in phases.items():
            counts[name.decode().partition("/")[0]][phase.decode()] += 1
        for namespace, numbers in counts.items():
            yield f"claims/{namespace}", numbers

    def _queue_rows(self) -> Iterator[Row]:
        depth = self._queue.depth()
        oldest = depth.pop("oldest_ready_seconds")
        yield "queue", {**depth, "oldest": round(oldest), "classes": self._queue.ready_by_class()}

    def _event_rows(self) -> Iterator[Row]:
        yield "events", list(self._tail())

    def _tail(self) -> Iterator[list[str]]:
        """Yield the latest events, newest first: time, type, subject and message."""
        entries: Any = self._redis.xrevrange(routing.EVENTS_STREAM, count=TAIL)
        for _, fields in entries:
            event = orjson.loads(fields[STREAM_FIELD.encode()])
            message = (event.get("data") or {}).get("message") or ""
            kind = str(event.get("type", "")).removeprefix("dev.berthmaster.")
            yield [visible_line(str(text)) for text in (event.get("time", ""), kind, event.get("subject", ""), message)]


def _pool_row(state: LedgerView, conflict: str | None, trouble: str | None) -> dict[str, Any]:
    return {
        "state": state.state or "is being rebuilt",
        "epoch": state.epoch,
        "capacity": state.capacity,
        "allocated": state.allocated,
        "free": state.free,
        "demand": state.demand,
        "waiting": state.waiting,
        "growing": bool(state.intent),
        "problem": visible_line(conflict or trouble or ""),
    }


def _stage(retiring: bool, filling: bool, capacity: int) -> str:
    """Return what a load balancer does, in the words of the metric of load balancers."""
    if retiring:
        return "retiring"
    if filling:
        return "filling"
    return "giving" if capacity else "closed"
